"""The folder of a tour.

::

    demo.json               whose folder it is
    labels/                 exact edit distances
    model/, paper-model/    trained models
    report.html             how good the model is
    matrix.csv              distances of the paper's model, and
    matrix-repaired.csv     the nearest metric
    index/                  for searching
    nearest.svg, nearest-proven.svg, edits.svg
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from graphmetric.atomic import atomic_write, make_folder
from graphmetric.errors import FileError
from graphmetric.plain_options import to_plain
from graphmetric.tour.options import TourOptions

_CLAIM = "demo.json"


@dataclass(frozen=True, slots=True)
class TourFolder:
    """Names of what a tour writes."""

    path: Path

    @classmethod
    def claim(cls, path: Path, options: TourOptions) -> TourFolder:
        """A new or empty folder, or one in which a tour with the same options was stopped or has finished.

        Raises FileError for any other, so that nothing of the user's is mixed up with the tour.
        """
        description = {"what": "graphmetric demo", "options": to_plain(options)}
        if path.exists() and not path.is_dir():
            raise FileError("is a file; the demo writes a folder", path)
        if (path / _CLAIM).exists():
            _check_same(path / _CLAIM, description)
        elif path.exists() and any(path.iterdir()):
            raise FileError("holds other things than a demo; choose another folder with --out", path)
        make_folder(path)
        with atomic_write(path / _CLAIM) as file:
            file.write(json.dumps(description, indent=2).encode())
        return cls(path)

    @property
    def labels(self) -> Path:
        return self.path / "labels"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def paper_model(self) -> Path:
        return self.path / "paper-model"

    @property
    def matrix(self) -> Path:
        return self.path / "matrix.csv"

    @property
    def repaired(self) -> Path:
        return self.path / "matrix-repaired.csv"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def index(self) -> Path:
        return self.path / "index"

    def write_picture(self, name: str, svg: str) -> None:
        """An SVG file."""
        with atomic_write(self.path / name) as file:
            file.write(svg.encode())


def _check_same(path: Path, description: dict[str, object]) -> None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"cannot be read: {error}; remove the folder or choose another with --out", path) from None
    if found != description:
        raise FileError("holds a demo with other options; remove it or choose another folder with --out", path.parent)

"""All formats, and how a name or a suffix chooses one."""

from __future__ import annotations

from pathlib import Path

from graphmetric.errors import UnknownFormat
from graphmetric.formats.binary import BINARY
from graphmetric.formats.dot import DOT
from graphmetric.formats.file_format import FileFormat
from graphmetric.formats.gexf import GEXF
from graphmetric.formats.gml import GML
from graphmetric.formats.graphml import GRAPHML
from graphmetric.formats.gxl import CXL, GXL
from graphmetric.formats.json_graphs import JSON_DOCUMENT, JSON_LINES
from graphmetric.formats.line_graphs import LINE_GRAPHS
from graphmetric.formats.molecules import SDF, SMILES
from graphmetric.formats.tudataset import TUDATASET

_FORMATS = (BINARY, JSON_LINES, JSON_DOCUMENT, GEXF, GRAPHML, GXL, CXL, GML, DOT, TUDATASET, LINE_GRAPHS, SMILES, SDF)


def formats() -> tuple[FileFormat, ...]:
    """Every format that can be read or written."""
    return _FORMATS


def format_by_name(name: str) -> FileFormat:
    """The format called ``name``; a suffix such as ``.gmg`` or ``gmg`` will do."""
    wanted = name.lower()
    for known in _FORMATS:
        if wanted == known.name or wanted in known.suffixes or f".{wanted}" in known.suffixes:
            return known
    raise UnknownFormat(f"unknown format {name!r}; known are {', '.join(known.name for known in _FORMATS)}")


def format_by_suffix(path: Path) -> FileFormat | None:
    """The format that a file name's ending (before ``.gz``) chooses, or None."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return next((known for known in _FORMATS if suffix in known.suffixes), None)


def unknown_suffix(path: Path) -> UnknownFormat:
    """The error for a file whose name chooses no format."""
    known = ", ".join(suffix for known in _FORMATS for suffix in known.suffixes)
    found = f"the suffix {path.suffix!r} names no format" if path.suffix else "the name has no suffix"
    return UnknownFormat(f"{found}; known are {known} (each also with .gz), or pass format=...", path)

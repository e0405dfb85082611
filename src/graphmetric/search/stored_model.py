"""The model that lies in the folder of an index."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from graphmetric.edit_distance import EditCosts
from graphmetric.features import GraphFeaturizer
from graphmetric.model import GraphDistanceModel
from graphmetric.saving import SavedModel, read_model, write_model
from graphmetric.shipped_models import find_model


@dataclass(frozen=True, slots=True, eq=False)
class StoredModel:
    """A saved model with the names that an index looks for."""

    saved: SavedModel
    n_jobs: int | None

    @classmethod
    def read(cls, folder: Path, n_jobs: int | None) -> StoredModel:
        """Raises FileNotFoundError where the folder is gone, FileError where it is damaged."""
        if not folder.exists():
            raise FileNotFoundError(2, "no such folder", str(folder))
        return cls(read_model(folder), n_jobs)

    @classmethod
    def load(cls, model: str | os.PathLike[str], n_jobs: int | None) -> StoredModel:
        """A model that was saved anywhere, or that comes with the package, by its name."""
        return cls(read_model(find_model(model)), n_jobs)

    @property
    def strict(self) -> bool:
        return bool(self.saved.parameters.get("strict"))

    @property
    def costs(self) -> EditCosts | None:
        plain = self.saved.parameters.get("costs")
        return None if plain is None else EditCosts.from_dict(plain)

    @property
    def model_(self) -> GraphDistanceModel:
        return self.saved.model

    @property
    def featurizer_(self) -> GraphFeaturizer:
        return self.saved.featurizer

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write it again, elsewhere."""
        write_model(folder, self.saved)

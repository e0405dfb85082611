"""The model that lies in the folder of an index.

What an index asks of a model, and how it tells one model from another.
"""

from __future__ import annotations

import copy
import json
import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import torch

from graphmetric._foundation.limits import effective_n_jobs
from graphmetric.distance import Matching, PairDistance
from graphmetric.edit_distance import EditCosts
from graphmetric.features import GraphFeaturizer
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.learned.saving import SavedModel, read_model, write_model
from graphmetric.learned.shipped_models import find_model
from graphmetric.model import GraphDistanceModel


class IndexableModel(Protocol):
    """A fitted :class:`graphmetric.GraphDistance`, or anything that has the same parts."""

    @property
    def strict(self) -> bool: ...

    @property
    def costs(self) -> EditCosts | None: ...

    @property
    def n_jobs(self) -> int | None: ...

    @property
    def model_(self) -> GraphDistanceModel: ...

    @property
    def featurizer_(self) -> GraphFeaturizer: ...

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model into a folder."""


def learned_distance_of(model: IndexableModel) -> LearnedDistance:
    """The distance that the model answers with."""
    threads, costs = effective_n_jobs(model.n_jobs), model.costs or EditCosts()
    return LearnedDistance(model.model_, model.featurizer_, model.strict, threads, costs)


def head_on_cpu(learned: LearnedDistance) -> PairDistance:
    """The distance of the model where the index keeps its arrays."""
    head = learned.model.head
    return head if learned.model.device.type == "cpu" else copy.deepcopy(head).cpu()


def matching_of(head: PairDistance) -> Matching | None:
    """The part of the head that matches nodes, if it has one."""
    return next((part for part in head.modules() if isinstance(part, Matching)), None)


def digest_of_model(learned: LearnedDistance) -> str:
    """Of everything that the answers depend on: weights, options, features, strictness, costs."""
    about = [learned.model.options.to_dict(), learned.featurizer.to_state(), learned.strict]
    if learned.costs != EditCosts():
        about.append(learned.costs.to_dict())
    digest = blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name, tensor in sorted(learned.model.state_dict().items()):
        numbers = tensor.detach().to("cpu", torch.float64).contiguous().numpy()
        digest.update(f"{name}{tensor.dtype}{numbers.shape}".encode())
        digest.update(numbers.tobytes())
    return digest.hexdigest()


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

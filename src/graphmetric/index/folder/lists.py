"""Lists of near vectors around centres, so that a search of a large segment need not read every vector.

Reading every vector takes two milliseconds per 100,000 vectors of 32 numbers. Beyond :data:`LISTS_FROM` vectors, lists
are kept beside the segment if faiss (the extra [search]) is installed when it is built; where faiss is missing later,
the lists are not used.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import FileError, MissingExtra
from graphmetric.index.segment import Segment

LISTS_FROM = 200_000
"""The number of vectors from which lists are worth their memory."""
_SAMPLE_PER_LIST = 50
_ROUNDS = 10
"""Rounds of moving the centres; faiss by itself takes 25, for lists that are hardly better."""
_BLOCK = 1 << 16
_SHARE_READ = 32
"""One list in this many is read for a query."""

Floats = NDArray[np.float32]


@cache
def load_faiss() -> Any:
    """faiss, which few indexes need and which takes a tenth of a second to import; None where it is not installed."""
    try:
        return import_module("faiss")
    except ImportError:
        return None


class InvertedLists:
    """Vectors in lists around centres, by faiss."""

    def __init__(self, lists: Any) -> None:
        self._lists = lists

    @classmethod
    def worthwhile(cls, segment: Segment) -> InvertedLists | None:
        """Lists of the vectors of a segment if there are many, and faiss to make them; else None."""
        vectors = segment.arrays.get("vectors")
        if vectors is None or len(vectors) < LISTS_FROM or load_faiss() is None:
            return None
        return cls.build(vectors)

    @classmethod
    def build(cls, vectors: Floats) -> InvertedLists:
        """Lists of all vectors; their centres are learned from a sample."""
        faiss = load_faiss()
        if faiss is None:
            raise MissingExtra("faiss-cpu", "search", "an index of lists")
        count = int(4 * math.sqrt(len(vectors)))
        width = vectors.shape[1]
        quantizer = faiss.IndexFlatL2(width)
        lists = faiss.IndexIVFFlat(quantizer, width, count)
        lists.cp.niter = _ROUNDS
        sample = np.random.default_rng(0).choice(
            len(vectors), min(len(vectors), _SAMPLE_PER_LIST * count), replace=False
        )
        lists.train(np.ascontiguousarray(vectors[np.sort(sample)]))
        for start in range(0, len(vectors), _BLOCK):
            lists.add(np.ascontiguousarray(vectors[start : start + _BLOCK]))
        return cls(lists)

    @classmethod
    def read(cls, path: Path, shape: tuple[int, ...]) -> InvertedLists | None:
        """Read what :meth:`write` wrote; None where faiss is missing. Read only files whose digest is right."""
        faiss = load_faiss()
        if faiss is None:
            return None
        try:
            lists = faiss.read_index(str(path))
        except RuntimeError as error:
            raise FileError(f"cannot be read by faiss: {error}", path) from None
        if (lists.ntotal, lists.d) != shape:
            raise FileError(f"holds {lists.ntotal} vectors of width {lists.d} instead of {shape}", path)
        return cls(lists)

    def write(self, path: Path) -> None:
        """Write a file in faiss's own format."""
        try:
            load_faiss().write_index(self._lists, str(path))
        except RuntimeError as error:  # faiss does not say what the system said
            raise FileError(f"cannot be written; is the disk full? {error}", path) from None

    def nearest(self, query: Floats, count: int, mask: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Positions of about the ``count`` nearest vectors among those allowed, nearest first; maybe fewer."""
        faiss = load_faiss()
        options = faiss.SearchParametersIVF(nprobe=max(16, self._lists.nlist // _SHARE_READ))
        if mask is not None:
            bits = np.packbits(mask, bitorder="little")
            options.sel = faiss.IDSelectorBitmap(bits)
        _, found = self._lists.search(query.reshape(1, -1), count, params=options)
        return np.asarray(found[0][found[0] >= 0], dtype=np.int64)  # faiss pads with -1

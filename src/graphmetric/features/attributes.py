"""Node attributes of the four kinds and edge labels, each fitted on the training set, for Eq. 1.

A graph that lacks a kind which others have is marked by a flag of its own, never by a filler value.

The fields of each fitted piece are plain data, which is also how it is saved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.columns import COLUMNS, Columns, GraphFlags
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_key, label_to_json

_LARGEST = 100.0
"""Standard deviations at which a number is clipped, so that one outlier cannot overflow the encoder."""


_UNSEEN = ("a tag that was never seen",)


@dataclass(frozen=True)
class LabelVocabulary:
    """Codes of node or edge labels: 0 for an unknown label, then by frequency."""

    tags: tuple[object, ...]
    """In their JSON form."""

    @classmethod
    def fit(cls, column: LabelColumn) -> LabelVocabulary:
        """Number the labels, frequent ones first."""
        counts = np.bincount(column.codes, minlength=len(column.vocabulary)).tolist()
        seen = [(-count, label_key(tag), tag) for tag, count in zip(column.vocabulary, counts, strict=True) if count]
        distinct = {key: tag for _, key, tag in sorted(seen, key=lambda item: item[:2])}  # 1 and 1.0 share a key
        return cls(tuple(label_to_json(tag) for tag in distinct.values()))

    @property
    def num_codes(self) -> int:
        """Number of codes, with the one for unknown labels."""
        return 1 + len(self._code)

    def encode(self, column: LabelColumn) -> NDArray[np.int32]:
        """Encode each row."""
        used = np.unique(column.codes)  # the vocabulary may be that of a larger collection
        table = np.zeros(len(column.vocabulary), dtype=np.int32)
        table[used] = [self._code.get(label_key(column.vocabulary[code]), 0) for code in used.tolist()]
        return table[column.codes]

    def find_unknown(self, column: LabelColumn, rows: NDArray[np.bool_]) -> tuple[float, list[object]]:
        """Find unknown labels: their fraction among these rows, and the labels, frequent ones first."""
        codes = column.codes[rows]
        counts = np.bincount(codes[self.encode(column)[rows] == 0], minlength=len(column.vocabulary))
        labels = [column.vocabulary[code] for code in np.argsort(-counts, kind="stable").tolist() if counts[code]]
        return int(counts.sum()) / max(1, len(codes)), labels

    def merge_unseen(self, column: LabelColumn) -> LabelColumn:
        """Replace all unknown labels by one; returns the column itself if there are none."""
        used = np.unique(column.codes).tolist()
        unseen = [code for code in used if label_key(column.vocabulary[code]) not in self._code]
        if not unseen:
            return column
        codes = np.where(np.isin(column.codes, unseen), len(column.vocabulary), column.codes).astype(np.int32)
        return LabelColumn(codes, (*column.vocabulary, _UNSEEN))

    @cached_property
    def _code(self) -> dict[Any, int]:
        return {label_key(label_from_json(tag)): code for code, tag in enumerate(self.tags, start=1)}


@dataclass(frozen=True)
class FeatureScaler:
    """Real vectors: each coordinate with mean 0 and standard deviation 1 on the training set."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def fit(cls, features: NDArray[np.float64]) -> FeatureScaler:
        """Compute mean and deviation; a constant coordinate gets deviation 1."""
        unit = np.maximum(np.abs(features).max(axis=0, initial=0), 1e-300)  # squares of 1e200 overflow otherwise
        scaled = features / unit
        mean, deviation = scaled.mean(axis=0), scaled.std(axis=0)
        deviation = np.where(deviation > 1e-12, deviation * unit, 1.0)
        return cls(tuple((mean * unit).tolist()), tuple(deviation.tolist()))

    @property
    def width(self) -> int:
        """Numbers per node."""
        return len(self.mean)

    def scale(self, features: NDArray[np.float64]) -> NDArray[np.float32]:
        """Standardize vectors, clipped at 100 deviations."""
        if features.shape[1] != self.width:
            raise InvalidGraph(f"nodes have {features.shape[1]} features; the model was trained with {self.width}")
        mean, deviation = np.array(self.mean, dtype=np.float64), np.array(self.deviation, dtype=np.float64)
        with np.errstate(over="ignore"):
            scaled = features / deviation - mean / deviation  # a difference first could overflow
        return np.clip(np.nan_to_num(scaled, nan=0.0), -_LARGEST, _LARGEST).astype(np.float32)


@dataclass(frozen=True)
class TextVocabulary:
    """Texts as codes of their lower-cased words: 0 is padding, 1 a word never seen, then by frequency."""

    words: tuple[str, ...]
    length: int
    """Number of words read of each text."""

    @classmethod
    def fit(cls, column: LabelColumn, *, max_words: int, length: int) -> TextVocabulary:
        """Number the words, frequent ones first."""
        times = np.bincount(column.codes, minlength=len(column.vocabulary)).tolist()
        counts: Counter[str] = Counter()
        for text, count in zip(column.vocabulary, times, strict=True):
            if count:
                counts.update({word: n * count for word, n in Counter(split_words(str(text))).items()})
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(tuple(ordered[:max_words]), length)

    @property
    def num_codes(self) -> int:
        """Number of codes, with padding and unknown words."""
        return 2 + len(self.words)

    def encode(self, column: LabelColumn) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Encode the words of the distinct texts, (texts, words), and give each row the position of its text.

        The array is as wide as the longest text, of which only the first ``length`` words are read.
        """
        used, place = np.unique(column.codes, return_inverse=True)
        texts = [split_words(str(column.vocabulary[code]))[: self.length] for code in used.tolist()]
        tokens = np.zeros((len(texts), max([1, *map(len, texts)])), dtype=np.int32)
        for row, words in enumerate(texts):
            tokens[row, : len(words)] = [self._code.get(word, 1) for word in words]
        return tokens, place.reshape(-1).astype(np.int32)

    @cached_property
    def _code(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self.words, start=2)}


def split_words(text: str) -> list[str]:
    """Split into runs of letters, digits and underscores, lower-cased."""
    return re.findall(r"\w+", text.lower())


@dataclass(frozen=True)
class ImageScale:
    """Images of one shape and type with values brought to [0, 1]: bytes by 255, floats by the training range."""

    shape: tuple[int, ...]
    """Height, width, channels."""
    dtype: str
    lowest: float
    highest: float

    @classmethod
    def fit(cls, images: NDArray[Any]) -> ImageScale:
        """Fix shape, type and range."""
        if images.dtype == np.uint8:
            lowest, highest = 0.0, 255.0
        else:
            lowest = float(images.min()) if images.size else 0.0
            highest = float(images.max()) if images.size else 1.0
        return cls(images.shape[1:], str(images.dtype), lowest, highest)

    def check(self, images: NDArray[Any]) -> None:
        """Reject images of another shape or type."""
        if images.shape[1:] != self.shape or str(images.dtype) != self.dtype:
            raise InvalidGraph(
                f"nodes have images of shape {images.shape[1:]} ({images.dtype}); the model was trained with "
                f"{self.shape} ({self.dtype}): resize or convert them first"
            )

    def scale(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Scale to (rows, channels, height, width) in [0, 1], clipping floats outside the training range."""
        spread = max(self.highest - self.lowest, 1e-30)
        scaled = np.clip((images.astype(np.float64) - self.lowest) / spread, 0, 1)
        return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2), dtype=np.float32)


KINDS = {
    "tags": "node_labels",
    "vectors": "node_features",
    "texts": "node_texts",
    "images": "node_images",
    "edge_tags": "edge_labels",
}
"""The column of each fitted piece."""
PIECES: dict[str, Any] = {
    "tags": LabelVocabulary,
    "vectors": FeatureScaler,
    "texts": TextVocabulary,
    "images": ImageScale,
    "edge_tags": LabelVocabulary,
}
"""The class of each fitted piece: a dataclass of plain data."""


def in_words(piece: str) -> str:
    """Name the column of a fitted piece, for people."""
    return KINDS[piece].replace("_", " ")


def what_counts(parts: Collection[str], *, weighted: bool, directed: bool) -> tuple[list[str], list[str]]:
    """List what a model with these fitted pieces compares in a graph, and what it ignores.

    Directions are never ignored: graphs of the other kind are rejected.
    """
    known = {in_words(name): name in parts for name in KINDS} | {"edge weights": weighted}
    counted = ["nodes", "edges", *(words for words, counts in known.items() if counts)]
    counted += ["directions of edges"] if directed else []
    return counted, [words for words, counts in known.items() if not counts]


def rows_present(columns: Columns) -> dict[str, NDArray[np.bool_]]:
    """Mark, for each kind with any values, the rows of graphs that have it."""
    given, pointers = columns.present(), {"node": columns.node_ptr, "edge": columns.edge_ptr}
    present: dict[str, NDArray[np.bool_]] = {}
    for name, column in KINDS.items():
        values, about = given.get(column), COLUMNS[column]
        if values is not None and (about.coded or values[:1].size):
            rows = np.repeat((columns.flags & about.flag) != 0, np.diff(pointers[about.per]))
            if rows.any():
                present[name] = rows
    return present


def fit_attributes(columns: Columns, *, max_words: int, text_length: int) -> dict[str, Any]:
    """Fit a vocabulary or scaler for each kind that the training graphs have."""
    parts: dict[str, Any] = {}
    for name, rows in rows_present(columns).items():
        values = getattr(columns, KINDS[name])[np.flatnonzero(rows)]
        options = {"max_words": max_words, "length": text_length} if name == "texts" else {}
        parts[name] = PIECES[name].fit(values, **options)
    return parts


def encode_attributes(columns: Columns, parts: dict[str, Any]) -> dict[str, Any]:
    """Encode the node columns that are both fitted and present, as fields of a feature table."""
    present = rows_present(columns).keys() & parts.keys()
    found: dict[str, Any] = {}
    if "tags" in present:
        found["tag"] = parts["tags"].encode(columns.node_labels)
    if "vectors" in present:
        found["vector"] = parts["vectors"].scale(columns.node_features)
    if "texts" in present:
        found["tokens"], found["text"] = parts["texts"].encode(columns.node_texts)
    if "images" in present:
        parts["images"].check(columns.node_images)
        found |= {"images": columns.node_images, "image_scale": parts["images"]}
    return found


def encode_relations(columns: Columns, tags: LabelVocabulary | None) -> NDArray[np.int32]:
    """Encode each edge: 1 + label code for edges, and as many further codes for arcs.

    Label code 0 represents an unknown label and a missing one.
    """
    code = np.zeros(len(columns.edges), dtype=np.int32)
    labeled = rows_present(columns).get("edge_tags")
    if tags is not None and columns.edge_labels is not None and labeled is not None:
        code = np.where(labeled, tags.encode(columns.edge_labels), 0)
    arcs = np.repeat((columns.flags & GraphFlags.DIRECTION) != 0, np.diff(columns.edge_ptr))
    relation: NDArray[np.int64] = 1 + code + arcs * (tags.num_codes if tags else 1)
    return relation.astype(np.int32)

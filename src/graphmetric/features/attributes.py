"""Node attributes of the four kinds, each fitted on the training set: what Eq. 1 embeds.

Graphs that lack a kind the others have are told apart by a flag per graph, never by a filler value.

The attribute columns of a collection: which are there, fitted and encoded all at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.features.options import FeatureOptions
from graphmetric.graphs.columns import Columns, Has
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_key, label_to_json

_LARGEST = 100.0
"""Standard deviations at which a number is cut, so that one outlier cannot overflow the encoder."""


class TagVocabulary:
    """Tags of nodes or edges: code 0 for one never seen, then by frequency."""

    def __init__(self, tags: Sequence[Hashable]) -> None:
        self._tags = tuple(tags)
        self._code = {label_key(tag): code for code, tag in enumerate(self._tags, start=1)}

    @classmethod
    def fit(cls, column: LabelColumn, present: NDArray[np.bool_]) -> TagVocabulary:
        """Number the tags of the rows that are present, frequent ones first."""
        counts = np.bincount(column.codes[present], minlength=len(column.vocabulary)).tolist()
        seen = [(-count, label_key(tag), tag) for tag, count in zip(column.vocabulary, counts, strict=True) if count]
        distinct = {key: tag for _, key, tag in sorted(seen, key=lambda item: item[:2])}  # 1 and 1.0 share a key
        return cls(tuple(distinct.values()))

    @property
    def num_codes(self) -> int:
        """Codes in use, the one for unseen tags included."""
        return 1 + len(self._tags)

    def encode(self, column: LabelColumn) -> NDArray[np.int32]:
        """The code of each row."""
        used = np.unique(column.codes)  # the vocabulary may be that of a larger collection
        table = np.zeros(len(column.vocabulary), dtype=np.int32)
        table[used] = [self._code.get(label_key(column.vocabulary[code]), 0) for code in used.tolist()]
        return table[column.codes]

    def to_state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"tags": [label_to_json(tag) for tag in self._tags]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TagVocabulary:
        """The vocabulary that :meth:`to_state` described."""
        return cls([label_from_json(tag) for tag in state["tags"]])


class VectorScale:
    """Real vectors: each coordinate with mean 0 and standard deviation 1 on the training set."""

    def __init__(self, mean: Iterable[float], deviation: Iterable[float]) -> None:
        self._mean = np.array(list(mean), dtype=np.float64)
        self._deviation = np.array(list(deviation), dtype=np.float64)

    @classmethod
    def fit(cls, features: NDArray[np.float64]) -> VectorScale:
        """Take mean and deviation; a constant coordinate gets deviation 1."""
        unit = np.maximum(np.abs(features).max(axis=0, initial=0), 1e-300)  # squares of 1e200 overflow otherwise
        scaled = features / unit
        mean, deviation = scaled.mean(axis=0), scaled.std(axis=0)
        return cls(mean * unit, np.where(deviation > 1e-12, deviation * unit, 1.0))

    @property
    def width(self) -> int:
        """Numbers per node."""
        return len(self._mean)

    def scale(self, features: NDArray[np.float64]) -> NDArray[np.float32]:
        """Standardised vectors, cut at 100 deviations."""
        if features.shape[1] != self.width:
            raise InvalidGraph(f"nodes have {features.shape[1]} features; the model was trained with {self.width}")
        with np.errstate(over="ignore"):
            scaled = features / self._deviation - self._mean / self._deviation  # a difference first could overflow
        return np.clip(np.nan_to_num(scaled, nan=0.0), -_LARGEST, _LARGEST).astype(np.float32)

    def to_state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"mean": self._mean.tolist(), "deviation": self._deviation.tolist()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> VectorScale:
        """The scale that :meth:`to_state` described."""
        return cls(state["mean"], state["deviation"])


_WORD = re.compile(r"\w+")


class TextVocabulary:
    """Texts as codes of their lower-cased words: 0 is padding, 1 a word never seen, then by frequency."""

    PADDING, UNKNOWN = 0, 1

    def __init__(self, words: Sequence[str], length: int) -> None:
        self._words = tuple(words)
        self._length = length
        self._code = {word: code for code, word in enumerate(self._words, start=2)}

    @classmethod
    def fit(cls, column: LabelColumn, present: NDArray[np.bool_], *, max_words: int, length: int) -> TextVocabulary:
        """Number the words of the rows that are present, frequent ones first."""
        times = np.bincount(column.codes[present], minlength=len(column.vocabulary)).tolist()
        counts: Counter[str] = Counter()
        for text, count in zip(column.vocabulary, times, strict=True):
            if count:
                counts.update({word: n * count for word, n in Counter(split_words(str(text))).items()})
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(ordered[:max_words], length)

    @property
    def num_codes(self) -> int:
        """Codes in use, padding and unknown included."""
        return 2 + len(self._words)

    def encode(self, column: LabelColumn) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Word codes of the distinct texts, (texts, words), and for each row which of them it has.

        Only the first ``length`` words count; the array is as wide as the longest text that is left.
        """
        used, place = np.unique(column.codes, return_inverse=True)
        texts = [split_words(str(column.vocabulary[code]))[: self._length] for code in used.tolist()]
        tokens = np.full((len(texts), max([1, *map(len, texts)])), self.PADDING, dtype=np.int32)
        for row, words in enumerate(texts):
            tokens[row, : len(words)] = [self._code.get(word, self.UNKNOWN) for word in words]
        return tokens, place.reshape(-1).astype(np.int32)

    def to_state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"words": list(self._words), "length": self._length}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TextVocabulary:
        """The vocabulary that :meth:`to_state` described."""
        return cls(state["words"], int(state["length"]))


def split_words(text: str) -> list[str]:
    """Runs of letters, digits and underscores, lower-cased."""
    return _WORD.findall(text.lower())


class ImageScale:
    """Images of one shape and type with values brought to [0, 1]: bytes by 255, floats by the training range."""

    def __init__(self, shape: Sequence[int], dtype: str, lowest: float, highest: float) -> None:
        self._shape = tuple(int(extent) for extent in shape)
        self._dtype, self._lowest, self._highest = dtype, lowest, highest

    @classmethod
    def fit(cls, images: NDArray[Any]) -> ImageScale:
        """Fix shape (height, width, channels), type and range."""
        bytes_given, some = images.dtype == np.uint8, images.size > 0
        lowest = 0.0 if bytes_given or not some else float(images.min())
        highest = 255.0 if bytes_given else float(images.max()) if some else 1.0
        return cls(images.shape[1:], str(images.dtype), lowest, highest)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        height, width, channels = self._shape
        return channels, height, width

    def check(self, images: NDArray[Any]) -> None:
        """Refuse images of another shape or type."""
        if images.shape[1:] != self._shape or str(images.dtype) != self._dtype:
            raise InvalidGraph(
                f"nodes have images of shape {images.shape[1:]} ({images.dtype}); the model was trained with "
                f"{self._shape} ({self._dtype}): resize or convert them first"
            )

    def scale(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """(rows, channels, height, width) in [0, 1]; floats outside the training range are cut."""
        spread = max(self._highest - self._lowest, 1e-30)
        scaled = np.clip((images.astype(np.float64) - self._lowest) / spread, 0, 1)
        return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2), dtype=np.float32)

    def to_state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"shape": list(self._shape), "dtype": self._dtype, "lowest": self._lowest, "highest": self._highest}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ImageScale:
        """The scale that :meth:`to_state` described."""
        return cls(state["shape"], str(state["dtype"]), float(state["lowest"]), float(state["highest"]))


class AttributeArrays(NamedTuple):
    """Encoded attributes of all nodes; None for kinds that are not in use."""

    tag: NDArray[np.int32] | None = None
    vector: NDArray[np.float32] | None = None
    text: NDArray[np.int32] | None = None
    """Which row of ``tokens``."""
    tokens: NDArray[np.int32] | None = None
    images: NDArray[Any] | None = None
    """As given; scaled when a batch is cut, since floats take four times the memory of bytes."""


IN_WORDS = {
    "tags": "node labels",
    "vectors": "node features",
    "texts": "node texts",
    "images": "node images",
    "edge_tags": "edge labels",
}
"""What the fitted pieces are called where people read of them."""


def what_counts(parts: Collection[str], *, weighted: bool, directed: bool) -> tuple[list[str], list[str]]:
    """What a model with these fitted pieces looks at in a graph, and what it passes over.

    Directions are never passed over: graphs of the other kind are refused.
    """
    known = {words: name in parts for name, words in IN_WORDS.items()} | {"edge weights": weighted}
    counted = ["nodes", "edges", *(words for words, counts in known.items() if counts)]
    counted += ["directions of edges"] if directed else []
    return counted, [words for words, counts in known.items() if not counts]


def rows_present(columns: Columns) -> dict[str, NDArray[np.bool_]]:
    """For each column with any values: which rows belong to a graph that has it."""
    flags = {
        "tags": (Has.NODE_LABELS, columns.node_labels, columns.node_ptr),
        "vectors": (Has.NODE_FEATURES, columns.node_features, columns.node_ptr),
        "texts": (Has.NODE_TEXTS, columns.node_texts, columns.node_ptr),
        "images": (Has.NODE_IMAGES, columns.node_images, columns.node_ptr),
        "edge_tags": (Has.EDGE_LABELS, columns.edge_labels, columns.edge_ptr),
    }
    present = {
        name: np.repeat((columns.flags & flag) != 0, np.diff(ptr))
        for name, (flag, column, ptr) in flags.items()
        if column is not None and not (isinstance(column, np.ndarray) and column[:1].size == 0)
    }
    return {name: rows for name, rows in present.items() if rows.any()}


def fit_attributes(columns: Columns, options: FeatureOptions) -> dict[str, Any]:
    """A vocabulary or scale per column that the training graphs have."""
    parts: dict[str, Any] = {}
    for name, rows in rows_present(columns).items():
        if name == "tags" and columns.node_labels is not None:
            parts[name] = TagVocabulary.fit(columns.node_labels, rows)
        elif name == "vectors" and columns.node_features is not None:
            parts[name] = VectorScale.fit(columns.node_features[rows])
        elif name == "texts" and columns.node_texts is not None:
            limits = {"max_words": options.max_words, "length": options.text_length}
            parts[name] = TextVocabulary.fit(columns.node_texts, rows, **limits)
        elif name == "images" and columns.node_images is not None:
            parts[name] = ImageScale.fit(columns.node_images[rows])
        elif columns.edge_labels is not None:
            parts[name] = TagVocabulary.fit(columns.edge_labels, rows)
    return parts


def encode_attributes(columns: Columns, parts: dict[str, Any]) -> AttributeArrays:
    """The node columns that are both fitted and there."""
    present = rows_present(columns).keys() & parts.keys()
    found = AttributeArrays()
    if "tags" in present:
        found = found._replace(tag=parts["tags"].encode(columns.node_labels))
    if "vectors" in present:
        found = found._replace(vector=parts["vectors"].scale(columns.node_features))
    if "texts" in present:
        tokens, text = parts["texts"].encode(columns.node_texts)
        found = found._replace(tokens=tokens, text=text)
    if "images" in present:
        parts["images"].check(columns.node_images)
        found = found._replace(images=columns.node_images)
    return found


def encode_relations(columns: Columns, tags: TagVocabulary | None) -> NDArray[np.int32]:
    """One code per edge: 1 + label code for edges, as many further codes for arcs.

    Label code 0 stands for a label never seen and for none at all.
    """
    code = np.zeros(len(columns.edges), dtype=np.int32)
    labelled = rows_present(columns).get("edge_tags")
    if tags is not None and columns.edge_labels is not None and labelled is not None:
        code = np.where(labelled, tags.encode(columns.edge_labels), 0)
    arcs = np.repeat((columns.flags & Has.DIRECTION) != 0, np.diff(columns.edge_ptr))
    relation: NDArray[np.int64] = 1 + code + arcs * (tags.num_codes if tags else 1)
    return relation.astype(np.int32)

"""The attribute columns of a collection: which are there, fitted and encoded all at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.features.attributes import ImageScale, TagVocabulary, TextVocabulary, VectorScale
from graphmetric.features.options import FeatureOptions
from graphmetric.graphs.columns import Columns, Has


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

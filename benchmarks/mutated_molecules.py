"""Any number of molecule-like graphs: those of AIDS42k and mutations of them, some thousand at a time.

``graphmetric.mutate`` draws one graph after another and checks each, half a millisecond of it; here the edits of a
whole block are drawn at once, so that a million graphs take a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.graphs.columns import Columns, pointers
from graphmetric.graphs.labels import LabelColumn

BLOCK = 4096
MOST_EDITS = 8

Ints = NDArray[np.int64]


def load_molecules(data: Path) -> gm.GraphCollection:
    """AIDS42k with element symbols and without bond types; of a few rare labels the element is not known: "?"."""
    columns = gm.load_dataset("AIDS42k", root=data, edge_labels=False).graphs.columns
    symbols = np.load(data / "AIDS42k.npz")["label_symbol_guess"].tolist()
    assert columns.node_labels is not None
    names = [symbols[int(str(label))] for label in columns.node_labels.vocabulary]
    vocabulary = tuple(dict.fromkeys(names))
    codes = np.array([vocabulary.index(name) for name in names], dtype=np.int32)[columns.node_labels.codes]
    return gm.GraphCollection._of(replace(columns, node_labels=LabelColumn(codes, vocabulary), ids=None, metadata=None))


def make_graphs(molecules: gm.GraphCollection, count: int) -> Iterator[gm.Graph]:
    """Each molecule once, then mutations by one to eight edits, all numbered; blocks are drawn from their number."""
    for start in range(0, count, BLOCK):
        numbers = np.arange(start, min(count, start + BLOCK))
        columns = molecules[numbers % len(molecules)].columns
        edits = np.where(numbers < len(molecules), 0, 1 + numbers % MOST_EDITS)
        changed = mutate_block(columns, edits, np.random.default_rng(start))
        yield from gm.GraphCollection._of(replace(changed, ids=tuple(numbers.tolist())))


def mutate_block(columns: Columns, edits: Ints, rng: np.random.Generator) -> Columns:
    """Split the edits of each graph at random: nodes that get another label, edges that go, nodes hung on others."""
    hung = rng.integers(0, edits // 2 + 1)  # a node and its edge are two edits
    relabelled = rng.integers(0, edits - 2 * hung + 1)
    removed = edits - 2 * hung - relabelled
    return hang_nodes(remove_edges(relabel_nodes(columns, relabelled, rng), removed, rng), hung, rng)


def relabel_nodes(columns: Columns, counts: Ints, rng: np.random.Generator) -> Columns:
    """Labels are drawn as often as they occur."""
    assert columns.node_labels is not None
    codes = columns.node_labels.codes.copy()
    chosen = draw_rows(columns.node_ptr, counts, rng)
    codes[chosen] = rng.choice(columns.node_labels.codes, len(chosen))
    return replace(columns, node_labels=LabelColumn(codes, columns.node_labels.vocabulary))


def remove_edges(columns: Columns, counts: Ints, rng: np.random.Generator) -> Columns:
    """An edge drawn twice goes once."""
    kept = np.ones(len(columns.edges), dtype=bool)
    kept[draw_rows(columns.edge_ptr, counts, rng)] = False
    before = np.concatenate([[0], np.cumsum(kept)])
    return replace(columns, edges=columns.edges[kept], edge_ptr=before[columns.edge_ptr])


def hang_nodes(columns: Columns, counts: Ints, rng: np.random.Generator) -> Columns:
    """New nodes come last in their graph, each with one edge."""
    assert columns.node_labels is not None
    sizes, owner = np.diff(columns.node_ptr), np.repeat(np.arange(len(counts)), counts)
    partner = draw_rows(columns.node_ptr, counts, rng) - columns.node_ptr[owner]
    new = sizes[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    labels = rng.choice(columns.node_labels.codes, len(owner))
    codes = np.insert(columns.node_labels.codes, columns.node_ptr[owner + 1], labels)
    edges = np.concatenate([columns.edges, np.column_stack([partner, new]).astype(np.int32)])
    owners = np.concatenate([np.repeat(np.arange(len(counts)), np.diff(columns.edge_ptr)), owner])
    return replace(
        columns,
        node_ptr=pointers(sizes + counts),
        node_labels=LabelColumn(codes, columns.node_labels.vocabulary),
        edge_ptr=pointers(np.diff(columns.edge_ptr) + counts),
        edges=edges[np.lexsort((edges[:, 1], edges[:, 0], owners))],
    )


def draw_rows(ptr: Ints, counts: Ints, rng: np.random.Generator) -> Ints:
    """So many rows of each graph, maybe some twice; none of a graph without rows."""
    counts = np.where(np.diff(ptr) > 0, counts, 0)
    owner = np.repeat(np.arange(len(counts)), counts)
    return ptr[owner] + (rng.random(len(owner)) * np.diff(ptr)[owner]).astype(np.int64)

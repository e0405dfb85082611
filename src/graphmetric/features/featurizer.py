"""From graphs to what the encoder embeds: fit on the training graphs, transform any.

The graphs of a collection, each with its nodes in canonical order.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.features._kernels.neighbours import Edges, build_arcs
from graphmetric.features.attributes import (
    IN_WORDS,
    ImageScale,
    TagVocabulary,
    TextVocabulary,
    VectorScale,
    encode_attributes,
    encode_relations,
    fit_attributes,
    rows_present,
    what_counts,
)
from graphmetric.features.options import FeatureOptions, FeatureSchema
from graphmetric.features.structure import (
    WeightScale,
    count_degrees,
    return_probabilities,
    sum_weights,
    warn_of_cut_columns,
)
from graphmetric.features.table import FeatureTable
from graphmetric.features.weisfeiler_lehman import RoleVocabulary
from graphmetric.graphs.canonical import canonical_edges, search_orders
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import EDGE_COLUMNS, NODE_COLUMNS, Columns, Has, as_kernel_type
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn


class CanonicalForm(NamedTuple):
    """Graphs with their nodes in canonical order, and how they got there."""

    columns: Columns
    order: NDArray[np.int64]
    """One per node row: the number the node had in its graph as it was given."""


def put_in_canonical_order(columns: Columns, budget: int) -> CanonicalForm:
    """Renumber the nodes of every graph so that isomorphic graphs become equal.

    Differs from the paper: "an artificial fixed node order" makes w_i of Eq. 3 independent of the numbering only if
    the order is canonical, so it is. Very regular graphs that exceed the budget keep the order they came in, with
    one warning: their embedding then depends on it through w_i.
    """
    search = search_orders(columns, budget)
    outcome, order = search.outcome, search.outcome.order
    unsolved = np.flatnonzero(~outcome.solved)
    if len(unsolved):
        _warn_of_given_order(unsolved, budget)
        order = np.where(np.repeat(~outcome.solved, np.diff(columns.node_ptr)), _local_numbers(columns), order)
    ends, source = canonical_edges(search, order)
    rows = order + np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr))
    moved = {name: _take(getattr(columns, name), rows) for name in NODE_COLUMNS}
    moved |= {name: _take(getattr(columns, name), source) for name in EDGE_COLUMNS}
    return CanonicalForm(replace(columns, edges=ends, ids=None, metadata=None, **moved), order)


def keep_given_order(columns: Columns) -> CanonicalForm:
    """The graphs as they are."""
    return CanonicalForm(columns, _local_numbers(columns))


def _local_numbers(columns: Columns) -> NDArray[np.int64]:
    return np.arange(columns.node_ptr[-1]) - np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr))


def _take(column: Any, rows: NDArray[np.int64]) -> Any:
    if column is None:
        return None
    return column.take(rows) if isinstance(column, LabelColumn) else column[rows]


def _warn_of_given_order(unsolved: NDArray[np.int64], budget: int) -> None:
    warnings.warn(
        f"{len(unsolved)} very regular graph(s), the first at position {unsolved[0]}, have no canonical order within "
        f"canonical_budget={budget} steps; their nodes stay in the given order, on which their embedding may then "
        "depend. Raise FeatureOptions.canonical_budget to avoid this.",
        stacklevel=5,
    )


STATE_VERSION = 1
"""Of :meth:`GraphFeaturizer.to_state`."""

_PARTS: dict[str, Any] = {
    "roles": RoleVocabulary,
    "weights": WeightScale,
    "tags": TagVocabulary,
    "vectors": VectorScale,
    "texts": TextVocabulary,
    "images": ImageScale,
    "edge_tags": TagVocabulary,
}
"""The fitted pieces by name; each has ``to_state`` and ``from_state``."""


class GraphFeaturizer:
    """The inputs of Eq. 1-3 and of the options beyond them.

    What a training graph has decides what is in use: a column that comes up only later is left out, with a warning,
    while one that later graphs lack is simply absent from them.

    Example:
        >>> featurizer = GraphFeaturizer().fit([Graph(3, [(0, 1)], node_labels="CCO")])
        >>> table = featurizer.transform([Graph(3, [(0, 1), (1, 2)], node_labels="COX"), Graph(1, node_labels="C")])
        >>> batch = table.padded([0, 1])
        >>> batch.mask.tolist()
        [[True, True, True], [True, False, False]]
        >>> sorted(batch.tag[0].tolist())
        [0, 1, 2]
    """

    def __init__(self, options: FeatureOptions | None = None) -> None:
        self.options = options or FeatureOptions()
        self._parts: dict[str, Any] | None = None
        self._facts: dict[str, Any] = {}
        self._warned: set[str] = set()

    def fit(self, graphs: Iterable[Graph]) -> GraphFeaturizer:
        """Settle vocabularies, scales and k_max on the training graphs."""
        columns = GraphCollection(graphs).columns
        if columns.num_graphs == 0:
            raise InvalidArgument("features cannot be fitted on an empty collection; pass the training graphs")
        options = self.options
        arcs = build_arcs(_kernel_edges(columns))
        self._parts = {
            "roles": RoleVocabulary.fit(
                columns,
                arcs,
                rounds=options.role_rounds,
                min_count=options.role_min_count,
                weights=options.role_weights,
            ),
            "weights": WeightScale.fit(columns),
            **fit_attributes(columns, options),
        }
        self._facts = {
            "k_max": options.k_max or max(1, int(np.diff(columns.node_ptr).max())),
            "largest_degree": int(count_degrees(columns).max(initial=0)),
            "directed": bool((columns.flags & Has.DIRECTION).any()),
            "undirected": bool(((columns.flags & Has.DIRECTION) == 0).any()),
            "weighted": bool((columns.flags & Has.EDGE_WEIGHTS).any()),
        }
        return self

    @property
    def schema(self) -> FeatureSchema:
        """Sizes for the encoder."""
        parts = self._fitted()
        edge_codes = parts["edge_tags"].num_codes if "edge_tags" in parts else 1
        return FeatureSchema(
            k_max=self._facts["k_max"],
            num_roles=parts["roles"].num_codes,
            largest_degree=self._facts["largest_degree"],
            num_tags=parts["tags"].num_codes if "tags" in parts else 0,
            vector_width=parts["vectors"].width if "vectors" in parts else 0,
            num_words=parts["texts"].num_codes if "texts" in parts else 0,
            image_shape=parts["images"].shape if "images" in parts else None,
            num_relations=1 + 2 * edge_codes,
            directed=self._facts["directed"],
            weighted=self._facts["weighted"],
            edge_labelled="edge_tags" in parts,
            return_steps=self.options.return_steps,
            max_hops=self.options.max_hops,
        )

    def describe(self) -> str:
        """A sentence that says what counts in a graph and what does not."""
        counted, ignored = what_counts(
            self._fitted(), weighted=self._facts["weighted"], directed=self._facts["directed"]
        )
        passed_over = f"; {_listed(ignored)} do not count" if ignored else ""
        return f"the learned distance counts {_listed(counted)}{passed_over}"

    def transform(self, graphs: Iterable[Graph]) -> FeatureTable:
        """The features of these graphs, which need not be those of the training set."""
        parts, schema = self._fitted(), self.schema
        form = self._ordered(GraphCollection(graphs).columns)
        columns = form.columns
        self._warn_of_what_is_left_out(columns)
        edges = _kernel_edges(columns)
        arcs = build_arcs(edges)
        weights = parts["weights"].scale(columns)
        strength = sum_weights(columns, weights) if schema.weighted else None
        steps = schema.return_steps
        return FeatureTable(
            schema=schema,
            edges=edges,
            arcs=arcs,
            order=form.order,
            flags=columns.flags,
            role=parts["roles"].encode(columns, arcs),
            degree=count_degrees(columns),
            weight=weights.astype(np.float32),
            relation=encode_relations(columns, parts.get("edge_tags")),
            strength=strength,
            walks=return_probabilities(columns, arcs, weights, steps) if steps else None,
            attributes=encode_attributes(columns, parts),
            image_scale=parts.get("images"),
        )

    def _ordered(self, columns: Columns) -> CanonicalForm:
        if self.options.canonical:
            return put_in_canonical_order(columns, self.options.canonical_budget)
        return keep_given_order(columns)

    def _fitted(self) -> dict[str, Any]:
        if self._parts is None:
            raise InvalidArgument("the features are not fitted yet; call fit with the training graphs first")
        return self._parts

    def check_direction(self, graphs: GraphCollection) -> None:
        """Refuse edges with directions where the training graphs had none, and the other way round."""
        self._fitted()
        directed = (graphs.flags & Has.DIRECTION) != 0
        for known, wrong, kind, other in (
            (self._facts["directed"], directed, "directed", "undirected"),
            (self._facts.get("undirected", True), ~directed, "undirected", "directed"),
        ):
            strange = np.flatnonzero(wrong & (graphs.edge_counts > 0))
            if not known and len(strange):
                raise InvalidArgument(
                    f"the model was trained on {other} graphs, and {graphs[int(strange[0])]!r} is {kind}: "
                    f"convert such graphs with graph.replace(directed={kind == 'undirected'}), or train a model on them"
                )

    def _warn_of_what_is_left_out(self, columns: Columns) -> None:
        for name in rows_present(columns):
            if name not in self._fitted() and name not in self._warned:
                self._warned.add(name)
                words = f"{IN_WORDS[name]}{' (such as bond types)' if name == 'edge_tags' else ''}"
                warnings.warn(
                    f"graphs have {words}, the training graphs had none: the model ignores them", stacklevel=3
                )
        if self.options.neighbourhood and "columns" not in self._warned:
            self._warned |= {"columns"} if warn_of_cut_columns(columns, self._facts["k_max"]) else set()

    def to_state(self) -> dict[str, Any]:
        """All that was fitted, as plain data for JSON."""
        return {
            "version": STATE_VERSION,
            "options": asdict(self.options),
            "facts": dict(self._facts),
            "parts": {name: part.to_state() for name, part in self._fitted().items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> GraphFeaturizer:
        """The featurizer that :meth:`to_state` described; refuses what it does not understand."""
        if state.get("version") != STATE_VERSION:
            raise InvalidArgument(f"features of version {state.get('version')!r} cannot be read, only {STATE_VERSION}")
        try:
            featurizer = cls(FeatureOptions(**state["options"]))
            featurizer._facts = dict(state["facts"])
            featurizer._parts = {name: _PARTS[name].from_state(part) for name, part in state["parts"].items()}
            assert featurizer.schema.k_max >= 1
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise InvalidArgument(f"the saved features are incomplete or damaged: {problem!r}") from problem
        return featurizer


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _kernel_edges(columns: Columns) -> Edges:
    directed = (columns.flags & Has.DIRECTION) != 0
    return Edges(
        as_kernel_type(columns.node_ptr), as_kernel_type(columns.edge_ptr), as_kernel_type(columns.edges), directed
    )

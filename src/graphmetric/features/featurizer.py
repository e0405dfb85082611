"""From graphs to what the encoder embeds: fit on the training graphs, transform any."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from graphmetric.errors import InvalidArgument
from graphmetric.features._kernels.arcs import Edges, build_arcs
from graphmetric.features.attribute_columns import (
    IN_WORDS,
    encode_attributes,
    encode_relations,
    fit_attributes,
    rows_present,
    what_counts,
)
from graphmetric.features.attributes import ImageScale, TagVocabulary, TextVocabulary, VectorScale
from graphmetric.features.canonical_form import (
    CanonicalForm,
    keep_given_order,
    put_in_canonical_order,
)
from graphmetric.features.degree import count_degrees, sum_weights
from graphmetric.features.neighbourhood import WeightScale, warn_of_cut_columns
from graphmetric.features.options import FeatureOptions, FeatureSchema
from graphmetric.features.return_probabilities import return_probabilities
from graphmetric.features.table import FeatureTable
from graphmetric.features.weisfeiler_lehman import RoleVocabulary
from graphmetric.graphs.arrays import as_kernel_type
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, Has
from graphmetric.graphs.graph import Graph

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

"""Features of graphs for the encoder: fit on the training graphs, transform any."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import check_fields, from_plain, to_plain
from graphmetric.errors import InvalidArgument
from graphmetric.features._kernels.neighbours import build_arcs, find_return_probabilities
from graphmetric.features.attributes import (
    KINDS,
    PIECES,
    encode_attributes,
    encode_relations,
    fit_attributes,
    in_words,
    rows_present,
    what_counts,
)
from graphmetric.features.table import FeatureSchema, FeatureTable, edges_of
from graphmetric.features.weisfeiler_lehman import RoleVocabulary
from graphmetric.graphs.canonical import canonical_edges, search_orders
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import COLUMNS, Columns, GraphFlags
from graphmetric.graphs.graph import Graph

STATE_VERSION = 1
"""The version of :meth:`GraphFeaturizer.to_state`."""
UNFAMILIAR = 0.05
"""The fraction of nodes, edges or graphs above which a model warns that they are unlike those of training."""
_LARGEST = 100.0
"""Scaled weights are cut here, so that one wild weight cannot overflow the encoder."""


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """Parameters of :class:`GraphFeaturizer`."""

    k_max: int | None = None
    """The paper's portal size: columns of w_i and divisor of the fusion. None: the largest training graph."""
    neighbourhood: bool = True
    """Whether w_i (Eq. 3) is used. Graphs beyond ``k_max`` nodes then lose columns, with a warning."""
    role_rounds: int = 3
    """Rounds of color refinement behind the Weisfeiler-Lehman roles; 0 leaves the tag alone."""
    role_min_count: int = 1
    """Minimum number of training nodes with a role for it to get a code; rarer roles use that of an earlier round."""
    role_weights: bool = True
    """Whether roles use edge weights as edge labels. Switch off where almost no two weights are equal."""
    max_words: int = 10_000
    """Largest vocabulary of texts; rarer words share the unknown one."""
    text_length: int = 32
    """Number of words read of each text."""
    return_steps: int = 0
    """Steps of the random walk whose return probabilities are an input; 0 for none, as in the paper."""
    canonical: bool = True
    """Encode the canonical form: a relabelled graph gets the same embedding to the last bit."""
    canonical_budget: int = 20_000_000
    """Search steps per graph (about half a second) after which its nodes stay in the given order, with a warning."""

    def __post_init__(self) -> None:
        least = {"k_max": 1, "role_rounds": 0, "role_min_count": 1, "max_words": 0, "text_length": 1}
        check_fields(self, least | {"return_steps": 0, "canonical_budget": 0})


@dataclass(frozen=True)
class WeightScale:
    """Edge weights in units of the largest training weight.

    Differs from the paper: w enters Eq. 3 as it is there, which ties the encoder to the unit of measurement. Unweighted
    graphs keep w = 1 exactly.
    """

    largest: float

    @classmethod
    def fit(cls, columns: Columns) -> WeightScale:
        """Find the largest absolute weight."""
        weights = columns.edge_weights
        return cls(1.0 if weights is None or len(weights) == 0 else max(float(np.abs(weights).max()), 1e-300))

    def scale(self, columns: Columns) -> NDArray[np.float64]:
        """Scale the weight of each edge; 1 in graphs without weights."""
        if columns.edge_weights is None:
            return np.ones(len(columns.edges))
        with np.errstate(over="ignore"):
            scaled = np.clip(columns.edge_weights / self.largest, -_LARGEST, _LARGEST)
        weighted = np.repeat((columns.flags & GraphFlags.EDGE_WEIGHTS) != 0, np.diff(columns.edge_ptr))
        return np.where(weighted, scaled, 1.0)


_PARTS: dict[str, Any] = {"roles": RoleVocabulary, "weights": WeightScale, **PIECES}
"""The fitted pieces by name: dataclasses of plain data."""


class GraphFeaturizer:
    """The inputs of Eq. 1-3 and of the options beyond them.

    What the training graphs have decides what is in use: a column that occurs only later is ignored, with a warning,
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
        """Fit vocabularies, scales and k_max on the training graphs."""
        columns, options = GraphCollection(graphs).columns, self.options
        if columns.num_graphs == 0:
            raise InvalidArgument("features cannot be fitted on an empty collection; pass the training graphs")
        roles = RoleVocabulary.fit(
            columns,
            build_arcs(edges_of(columns)),
            rounds=options.role_rounds,
            min_count=options.role_min_count,
            weights=options.role_weights,
        )
        attributes = fit_attributes(columns, max_words=options.max_words, text_length=options.text_length)
        self._parts = {"roles": roles, "weights": WeightScale.fit(columns), **attributes}
        self._facts = {
            "k_max": options.k_max or max(1, int(np.diff(columns.node_ptr).max())),
            "largest_degree": int(count_degrees(columns).max(initial=0)),
            "directed": bool((columns.flags & GraphFlags.DIRECTION).any()),
            "undirected": bool(((columns.flags & GraphFlags.DIRECTION) == 0).any()),
            "weighted": bool((columns.flags & GraphFlags.EDGE_WEIGHTS).any()),
        }
        return self

    @property
    def schema(self) -> FeatureSchema:
        """Sizes for the encoder."""
        parts, facts = self._fitted(), self._facts
        height, width, channels = parts["images"].shape if "images" in parts else (0, 0, 0)
        return FeatureSchema(
            k_max=facts["k_max"],
            num_roles=parts["roles"].num_codes,
            largest_degree=facts["largest_degree"],
            num_tags=parts["tags"].num_codes if "tags" in parts else 0,
            vector_width=parts["vectors"].width if "vectors" in parts else 0,
            num_words=parts["texts"].num_codes if "texts" in parts else 0,
            image_shape=(channels, height, width) if "images" in parts else None,
            num_relations=1 + 2 * (parts["edge_tags"].num_codes if "edge_tags" in parts else 1),
            directed=facts["directed"],
            weighted=facts["weighted"],
            return_steps=self.options.return_steps,
        )

    def describe(self) -> str:
        """Describe, in a sentence, what is compared in a graph and what is ignored."""
        facts = self._facts
        counted, ignored = what_counts(self._fitted(), weighted=facts["weighted"], directed=facts["directed"])
        passed_over = f"; {_listed(ignored)} do not count" if ignored else ""
        return f"the learned distance counts {_listed(counted)}{passed_over}"

    def transform(self, graphs: Iterable[Graph], *, check_labels: bool = True) -> FeatureTable:
        """Compute the features of these graphs, which need not be those of the training set.

        ``check_labels`` warns of unknown labels; pass False if that was done before.

        Differs from the paper: there a graph beyond the portal size k_max cannot be encoded at all; here its w_i are
        cut to their first k_max columns, with a warning.
        """
        parts, schema, options = self._fitted(), self.schema, self.options
        columns = GraphCollection(graphs).columns
        if options.canonical:
            columns, order = canonical_form(columns, options.canonical_budget)
        else:
            order = _given_order(columns)
        self._warn_of_losses(columns, check_labels)
        edges = edges_of(columns)
        arcs = build_arcs(edges)
        weights, walks = parts["weights"].scale(columns), None
        if schema.return_steps:  # beyond the paper: it tells nodes apart that Eq. 1-3 confuse
            walks = find_return_probabilities(edges.node_ptr, arcs, np.abs(weights), schema.return_steps)
        return FeatureTable(
            schema=schema,
            edges=edges,
            arcs=arcs,
            order=order,
            flags=columns.flags,
            role=parts["roles"].encode(columns, arcs),
            degree=count_degrees(columns),
            weight=weights.astype(np.float32),
            relation=encode_relations(columns, parts.get("edge_tags")),
            strength=sum_weights(columns, weights) if schema.weighted else None,
            walks=walks,
            **encode_attributes(columns, parts),
        )

    def drop_unused_attributes(self, graphs: GraphCollection, ignored: Iterable[str] = ()) -> GraphCollection:
        """Drop ignored columns and what features do not show; returns the collection itself if that is nothing.

        Features do not show kinds of attributes that the training graphs lacked, nor which unknown label a
        node or an edge has.
        """
        columns, parts = graphs.columns, self._fitted()
        present = rows_present(columns)
        kept = columns.without([*ignored, *(KINDS[name] for name in present.keys() - parts.keys())])
        for name in ("tags", "edge_tags"):
            column = getattr(kept, KINDS[name])
            if name in parts and name in present and column is not None:
                merged = parts[name].merge_unseen(column)
                kept = kept if merged is column else replace(kept, **{KINDS[name]: merged})
        return graphs if kept is columns else GraphCollection._of(kept)

    def check_direction(self, graphs: GraphCollection) -> None:
        """Reject directed edges if the training graphs had none, and undirected ones likewise."""
        self._fitted()
        directed = (graphs.flags & GraphFlags.DIRECTION) != 0
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

    def to_state(self) -> dict[str, Any]:
        """Return everything fitted, as plain data for JSON."""
        return {
            "version": STATE_VERSION,
            "options": asdict(self.options),
            "facts": dict(self._facts),
            "parts": {name: to_plain(part) for name, part in self._fitted().items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> GraphFeaturizer:
        """Rebuild a featurizer from :meth:`to_state`; rejects damaged and unknown data."""
        if state.get("version") != STATE_VERSION:
            raise InvalidArgument(f"features of version {state.get('version')!r} cannot be read, only {STATE_VERSION}")
        try:
            featurizer = cls(FeatureOptions(**state["options"]))
            featurizer._facts = dict(state["facts"])
            featurizer._parts = {name: from_plain(_PARTS[name], part) for name, part in state["parts"].items()}
            assert featurizer.schema.k_max >= 1
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise InvalidArgument(f"the saved features are incomplete or damaged: {problem!r}") from problem
        return featurizer

    def _fitted(self) -> dict[str, Any]:
        if self._parts is None:
            raise InvalidArgument("the features are not fitted yet; call fit with the training graphs first")
        return self._parts

    def describe_unknown_labels(self, graphs: GraphCollection, *, only_new: bool = False) -> dict[str, str]:
        """Describe, by kind, labels of which too many were not in the training graphs, with their fraction.

        ``only_new`` omits kinds that this featurizer has warned of.
        """
        return self._unknown_labels(graphs.columns, self._warned if only_new else ())

    def warn_once(self, sentences: dict[str, str], stacklevel: int = 3) -> None:
        """Issue the warnings, by kind, that this featurizer has not issued before."""
        for kind, sentence in sentences.items():
            if kind not in self._warned:
                self._warned.add(kind)
                warnings.warn(sentence, stacklevel=stacklevel)

    def _unknown_labels(self, columns: Columns, without: Collection[str] = ()) -> dict[str, str]:
        parts = self._fitted()
        names = {"tags", "edge_tags"} & parts.keys() - set(without)
        if not names:
            return {}
        present = rows_present(columns)
        found = {}
        for name in sorted(names & present.keys()):
            share, unknown = parts[name].find_unknown(getattr(columns, KINDS[name]), present[name])
            if share > UNFAMILIAR:
                rows = "nodes" if name == "tags" else "edges"
                found[name] = (
                    f"{share:.0%} of the {rows} of these graphs have a label that was not in the training graphs, such "
                    f"as {_examples(unknown)}; the model knows {_examples(parts[name].tags)}. Unknown labels are all "
                    "treated as one label: rename them, or train a model on such graphs"
                )
        return found

    def _warn_of_losses(self, columns: Columns, check_labels: bool) -> None:
        """Warn once of kinds of attributes that the training graphs lacked, of unknown labels, and of cut w_i."""
        present, parts = rows_present(columns), self._fitted()
        for name in sorted(present.keys() - parts.keys() - self._warned):
            self._warned.add(name)
            words = f"{in_words(name)}{' (such as bond types)' if name == 'edge_tags' else ''}"
            warnings.warn(f"graphs have {words}, the training graphs had none: the model ignores them", stacklevel=3)
        if check_labels:
            self.warn_once(self._unknown_labels(columns, self._warned), stacklevel=4)
        largest, k_max = int(np.diff(columns.node_ptr).max(initial=0)), self._facts["k_max"]
        if self.options.neighbourhood and largest > k_max and "columns" not in self._warned:
            self._warned.add("columns")
            warnings.warn(
                f"a graph has {largest} nodes, more than k_max={k_max}: the connection weights w_i of Eq. 3 are cut to "
                "their first k_max columns (all other inputs are complete). Train with graphs of this size, or with "
                "neighbourhood=False, to avoid this. This warning is shown once.",
                stacklevel=3,
            )


def _examples(labels: Sequence[object]) -> str:
    return ", ".join(repr(label) for label in labels[:3])


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def count_degrees(columns: Columns) -> NDArray[np.int32]:
    """Count the edges that leave and that enter each node, (nodes, 2), the D(v_i) of Eq. 3; undirected: the degree.

    An undirected self-loop counts twice, a directed one once each way.
    """
    return _sum_at_ends(columns, None).astype(np.int32)


def sum_weights(columns: Columns, weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """Sum the weights, given by edge row, that leave and that enter each node, (nodes, 2), and compress the sums.

    Sums grow with the degree without bound, so the encoder receives sign(s) log(1 + |s|).
    """
    sums = _sum_at_ends(columns, weights)
    compressed: NDArray[np.float64] = np.sign(sums) * np.log1p(np.abs(sums))
    return compressed.astype(np.float32)


def _sum_at_ends(columns: Columns, weights: NDArray[np.float64] | None) -> NDArray[Any]:
    num_nodes, counts = int(columns.node_ptr[-1]), np.diff(columns.edge_ptr)
    first_node = np.repeat(columns.node_ptr[:-1], counts)
    leaving, entering = (
        np.bincount(columns.edges[:, end] + first_node, weights, minlength=num_nodes) for end in (0, 1)
    )
    undirected = np.repeat((columns.flags & GraphFlags.DIRECTION) == 0, np.diff(columns.node_ptr))
    both = leaving + entering
    return np.stack([np.where(undirected, both, leaving), np.where(undirected, both, entering)], axis=1)


def canonical_form(columns: Columns, budget: int) -> tuple[Columns, NDArray[np.int64]]:
    """Renumber the nodes of every graph so that isomorphic graphs become equal; also returns each node's old number.

    Differs from the paper: "an artificial fixed node order" makes w_i of Eq. 3 independent of the numbering only if
    the order is canonical, so it is. Very regular graphs that exceed the budget keep the order they came in, with
    one warning: their embedding then depends on it through w_i.
    """
    search = search_orders(columns, budget)
    order, unsolved = search.outcome.order, np.flatnonzero(~search.outcome.solved)
    if len(unsolved):
        warnings.warn(
            f"{len(unsolved)} very regular graph(s), the first at position {unsolved[0]}, have no canonical order "
            f"within canonical_budget={budget} steps; their nodes stay in the given order, on which their embedding "
            "may then depend. Raise FeatureOptions.canonical_budget to avoid this.",
            stacklevel=3,
        )
        kept = np.repeat(~search.outcome.solved, np.diff(columns.node_ptr))
        order = np.where(kept, _given_order(columns), order)
    ends, source = canonical_edges(search, order)
    rows = {"node": order + np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr)), "edge": source}
    moved = {name: column[rows[COLUMNS[name].per]] for name, column in columns.present().items()}
    return replace(columns, edges=ends, ids=None, metadata=None, **moved), order


def _given_order(columns: Columns) -> NDArray[np.int64]:
    return np.arange(columns.num_nodes) - np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr))

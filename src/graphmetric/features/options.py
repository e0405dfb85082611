"""What is asked of the features, and what fitting them settled."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """Parameters of :class:`~graphmetric.features.GraphFeaturizer`."""

    k_max: int | None = None
    """The paper's portal size: columns of w_i and divisor of the fusion. None: the largest training graph."""
    neighbourhood: bool = True
    """Whether w_i (Eq. 3) is used. Graphs beyond ``k_max`` nodes then lose columns, which is warned of."""
    role_rounds: int = 3
    """Rounds of colour refinement behind the Weisfeiler-Lehman roles; 0 leaves the tag alone."""
    role_min_count: int = 1
    """Nodes of the training set a role must occur at to get a code of its own; rarer ones back off a round."""
    role_weights: bool = True
    """Whether edge weights count as edge labels in roles. Switch off where almost no two weights are equal."""
    max_words: int = 10_000
    """Largest vocabulary of texts; rarer words share the unknown one."""
    text_length: int = 32
    """Words read of each text."""
    return_steps: int = 0
    """Steps of the random walk whose return probabilities are an input; 0 for none, as in the paper."""
    max_hops: int = 0
    """Hop distances up to this get a bucket of their own for the structural attention bias; 0 for none."""
    canonical: bool = True
    """Encode the canonical form: a relabelled graph gets the same embedding to the last bit."""
    canonical_budget: int = 20_000_000
    """Search steps per graph (some half a second) after which its nodes stay in the given order, with a warning."""

    def __post_init__(self) -> None:
        least = {"role_rounds": 0, "role_min_count": 1, "max_words": 0, "text_length": 1, "return_steps": 0}
        least |= {"max_hops": 0, "canonical_budget": 0} | ({} if self.k_max is None else {"k_max": 1})
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise InvalidArgument(f"{name} must be {bound} or more; got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class FeatureSchema:
    """Sizes of the fitted features: all that an encoder must know to be built."""

    k_max: int
    """Columns of w_i and divisor of the fusion."""
    num_roles: int
    """Weisfeiler-Lehman codes run from 0 (never seen) to ``num_roles - 1``."""
    largest_degree: int
    """Of the training graphs; larger ones occur."""
    num_tags: int = 0
    """Tag codes run from 0 (never seen) to ``num_tags - 1``; 0: no training graph has tags."""
    vector_width: int = 0
    """Numbers per node; 0: none."""
    num_words: int = 0
    """Word codes run from 0 (padding) and 1 (never seen) to ``num_words - 1``; 0: no texts."""
    image_shape: tuple[int, int, int] | None = None
    """Channels, height, width; None: no images."""
    num_relations: int = 2
    """Codes of the relation between two nodes: 0 no edge, then labels of edges, then labels of arcs."""
    directed: bool = False
    """Whether any training graph is directed."""
    weighted: bool = False
    """Whether any training graph has edge weights."""
    edge_labelled: bool = False
    """Whether any training graph has edge labels."""
    return_steps: int = 0
    """Return probabilities per node."""
    max_hops: int = 0
    """Hop buckets: 0 .. max_hops - 1 exact, max_hops that many or more, max_hops + 1 unreachable; 0: none."""

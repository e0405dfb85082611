"""Parameters of training, and the presets: models and trainings by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from graphmetric._foundation.options import check_fields
from graphmetric.distance.pair_distance import COUPLING_REMOVED
from graphmetric.encoder import EncoderOptions, paper_options
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureOptions
from graphmetric.model import HeadOptions, ModelOptions

Loss = Literal["masked", "interval"]
Optimizer = Literal["adam", "adamw", "muon"]
Schedule = Literal["constant", "cosine"]
ALPHAS = (0.0, 0.01, 0.1)
"""Candidates of ``alpha="auto"``."""


@dataclass(frozen=True, slots=True)
class PretrainingOptions:
    """Parameters of :func:`~graphmetric.training.pretrain_encoder`."""

    epochs: int = 50
    """Passes over the graphs."""
    learning_rate: float = 1e-3
    weight_decay: float = 5e-4
    graphs_per_step: int = 128
    """Graphs per mini-batch."""

    def __post_init__(self) -> None:
        check_fields(self, {"epochs": 0, "weight_decay": 0, "graphs_per_step": 1}, positive=("learning_rate",))


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Parameters of :func:`~graphmetric.training.train_model`. Seed, device and threads belong to a run, not here."""

    epochs: int | None = None
    """Passes over the training graphs (over the pairs, where labels are few); None: see ``steps``."""
    steps: int | None = 2000
    """Mini-batches; exactly one of the two is given."""
    graphs_per_step: int = 96
    """Graphs per mini-batch, of which all labeled pairs are used: n graphs are encoded for n(n-1)/2 pairs."""
    pairs_per_step: int = 8192
    """At most this many pairs per mini-batch, chosen at random."""
    loss: Loss = "interval"
    """The paper's masked loss (Eq. 10), on the paper's scale; or what lies outside of [lower, upper], on the scale of
    the head."""
    p: float = 2.0
    """Exponent of either loss."""
    alpha: float | Literal["auto"] = 0.0
    """Masked loss: weight of pairs without a label, which the paper assumes at distance 1. "auto": the one of
    :data:`ALPHAS` with the lowest validation loss, by one training run each. The paper tunes alpha on
    validation pairs as well, and prints no value."""
    beta: float = 1e3
    """Masked loss: weight of the diagonal, where every head is exact anyway."""
    near_halving: float | None = None
    """Interval loss: edits per node of the larger graph, by the lower bound, that halve the weight of a pair.
    None: equal weights."""
    optimizer: Optimizer = "adamw"
    """muon: :class:`~graphmetric.training.optimizer.Muon` for the matrices of the layers, adamw for all else."""
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    """L2 penalty (adam) or decoupled decay (adamw, muon)."""
    schedule: Schedule = "cosine"
    """The learning rate stays as it is, or falls to zero along half a cosine."""
    warmup: int = 50
    """Steps over which the learning rate rises from zero."""
    clip_norm: float | None = 1.0
    """Maximum norm of the gradient; None: any."""
    validate_every: int = 100
    """Steps between validation rounds, and between lines of the history."""
    patience: int | None = None
    """Validation rounds without improvement before stopping; None: never."""
    pretraining: PretrainingOptions | None = None
    """Both tasks on the training graphs first; None: none."""

    def __post_init__(self) -> None:
        if (self.epochs is None) == (self.steps is None):
            raise InvalidArgument("give either epochs or steps, and None for the other")
        least = {"epochs": 0, "steps": 0, "graphs_per_step": 2, "pairs_per_step": 1, "p": 1, "beta": 0}
        least |= {"weight_decay": 0, "warmup": 0, "validate_every": 1, "patience": 1}
        check_fields(self, least, positive=("learning_rate", "clip_norm", "near_halving"))
        if self.alpha != "auto" and (isinstance(self.alpha, str) or not 0 <= self.alpha <= 1):
            raise InvalidArgument(f"alpha must lie in [0, 1], or be 'auto'; got {self.alpha!r}")
        if self.alpha and self.loss != "masked":
            raise InvalidArgument(
                "alpha belongs to loss='masked'; the interval loss has bounds [0, inf] for unknown distances"
            )

    @property
    def uses_unlabeled_graphs(self) -> bool:
        """True if graphs that occur in no label take part: in pre-training, or as unlabeled pairs of Eq. 11."""
        return self.pretraining is not None or self.alpha != 0


PresetName = Literal["paper", "small", "base"]
PRESETS: tuple[PresetName, ...] = get_args(PresetName)

_ORTHOGONAL = TrainingOptions(optimizer="muon", learning_rate=3e-3)
"""Under adamw the same encoders stop at errors a seventh larger."""
_TYPED = EncoderOptions(
    heads=0,
    layers=3,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    residual="none",
    inputs=("attributes", "degree", "walks"),
    positions="learned",
    tags="table",
    norm="pre",
    messages="typed",
)
"""Messages along edges instead of attention. On molecules of 15 to 40 atoms with bond types they need half as many
steps, and a step takes half as long."""
_TYPED_FEATURES = FeatureOptions(neighbourhood=False, role_rounds=0, return_steps=6)


def preset(name: str) -> tuple[ModelOptions, TrainingOptions]:
    """Options of a model and of its training.

    ``paper``: section 5.1 of the paper, Eq. 9, early stopping. ``small``: a pseudo-metric in a minute or two on two
    cores. ``base``: the pseudo-metric to use, in about ten minutes.
    """
    if name == "paper":
        return _paper()
    if name == "small":
        encoder = replace(_TYPED, hidden_size=64, intermediate_size=128, output_size=32)
        return ModelOptions(encoder, _TYPED_FEATURES, HeadOptions("matching")), replace(_ORTHOGONAL, steps=1500)
    if name == "base":
        # a vector of the whole graph at every layer makes errors a twentieth smaller and takes no time to speak of
        encoder = replace(_TYPED, layers=4, hidden_size=64, intermediate_size=128, output_size=64, context=True)
        training = replace(_ORTHOGONAL, steps=4000, near_halving=0.65, learning_rate=5e-3)
        return ModelOptions(encoder, _TYPED_FEATURES, HeadOptions("matching")), training
    if name == "large":
        raise InvalidArgument(COUPLING_REMOVED)
    raise InvalidArgument(f"no preset {name!r}; there are: {', '.join(PRESETS)}")


def _paper() -> tuple[ModelOptions, TrainingOptions]:
    """Section 5.1 of the paper, with one round of refinement, as in the authors' code.

    Differs from the paper: k is the size of the largest training graph, which is what section 4.2 calls k_max. Section
    5.1 prints k for its data sets, 10 for AIDS and LINUX and 50 for IMDB, where the largest graph has 89 nodes; the
    tables of ``graphmetric-research`` take these. FC is printed as "several fully connected layers" without widths:
    here it has two hidden layers of the intermediate size. Alpha, the lengths of early stopping and of pre-training,
    and the size of mini-batches have no printed values either; alpha is 0.
    """
    training = TrainingOptions(
        epochs=1000,
        steps=None,
        graphs_per_step=128,
        loss="masked",
        optimizer="adam",
        weight_decay=5e-4,
        schedule="constant",
        warmup=0,
        clip_norm=None,
        validate_every=50,
        patience=20,
        pretraining=PretrainingOptions(),
    )
    encoder = paper_options()
    head = HeadOptions("squared-fc", hidden=(encoder.intermediate_size,) * 2)
    return ModelOptions(encoder, FeatureOptions(role_rounds=1), head), training

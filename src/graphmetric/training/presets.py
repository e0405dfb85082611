"""Models and trainings by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from graphmetric.encoder import EncoderOptions, paper_options
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureOptions
from graphmetric.model import HeadOptions, ModelOptions
from graphmetric.training.options import PretrainingOptions, TrainingOptions

PresetName = Literal["paper", "small", "base", "large"]
PRESETS: tuple[PresetName, ...] = get_args(PresetName)

_ORTHOGONAL = TrainingOptions(optimizer="muon", learning_rate=3e-3)
"""Under adamw the same encoders stop at errors a seventh larger."""


def preset(name: str) -> tuple[ModelOptions, TrainingOptions]:
    """Options of a model and of its training.

    ``paper``: section 5.1 of the paper, Eq. 9, early stopping. ``small``: a metric in a minute or two on two cores.
    ``base``: the metric to use, in some ten minutes. ``large``: the most accurate one, which looks at edges, too; half
    an hour for molecules of ten atoms, and some hundred times as long as the others for each distance.
    """
    if name == "paper":
        return _paper()
    if name == "small":
        return _structural(layers=3, hidden=64, output=32, walks=6), replace(_ORTHOGONAL, steps=1500)
    if name in ("base", "large"):
        # wider layers and more heads are slower and no better, and three layers embed 20,000 small graphs per second
        model = _structural(layers=3, hidden=96, output=64, walks=8, heads=2, attention=48, intermediate=96)
        training = replace(_ORTHOGONAL, steps=4000, near_halving=6.0)
        if name == "base":
            return model, training
        # pairs cost more than all else: half of the graphs have a quarter of them, and validation has many
        training = replace(training, steps=3000, graphs_per_step=48, validate_every=1000)
        return replace(model, head=HeadOptions("edge-matching")), training
    raise InvalidArgument(f"no preset {name!r}; there are: {', '.join(PRESETS)}")


def _paper() -> tuple[ModelOptions, TrainingOptions]:
    """One round of refinement, as in the authors' code: with three, most roles of new graphs were never seen."""
    training = TrainingOptions(
        epochs=1000,
        steps=None,
        graphs_per_step=128,
        loss="masked",
        optimizer="adam",
        learning_rate=1e-3,
        weight_decay=5e-4,
        schedule="constant",
        warmup=0,
        clip_norm=None,
        validate_every=50,
        patience=20,
        pretraining=PretrainingOptions(),
    )
    return ModelOptions(paper_options(), FeatureOptions(role_rounds=1), HeadOptions("squared-fc")), training


def _structural(
    *,
    layers: int,
    hidden: int,
    output: int,
    walks: int,
    heads: int = 4,
    attention: int | None = None,
    intermediate: int | None = None,
) -> ModelOptions:
    """Attention that is biased by hop distances, under the matching head: all axioms hold by construction."""
    encoder = EncoderOptions(
        hidden_size=hidden,
        heads=heads,
        attention_size=attention,
        layers=layers,
        intermediate_size=intermediate or 2 * hidden,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        residual="none",
        inputs=("attributes", "degree", "walks"),
        positions="learned",
        norm="pre",
        structural_bias=True,
        output_size=output,
    )
    features = FeatureOptions(neighbourhood=False, role_rounds=0, return_steps=walks, max_hops=8)
    return ModelOptions(encoder, features, HeadOptions("matching"))

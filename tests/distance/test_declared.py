"""A head guarantees what it declares and no more, and its declarations are tried on random graphs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import graphmetric as gm
from graphmetric.distance import HEADS as REGISTERED
from graphmetric.distance import (
    METRIC,
    Axiom,
    DistanceHead,
    HeadOptions,
    Representation,
    check_declarations,
)
from graphmetric.errors import InvalidArgument
from graphmetric.features import GraphFeaturizer
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.model import GraphDistanceNetwork, ModelOptions
from graphmetric.report import evaluate_model
from graphmetric.training import preset
from tests.distance.random_representations import DIM, HEADS, random_head

GRAPHS = gm.GraphCollection(gm.Graph(n, [(k, k + 1) for k in range(n - 1)]) for n in range(2, 8))


class Squares(DistanceHead):
    """Squared Euclidean distances of the pooled vectors."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.width = dim

    def compare(self, left: Representation, right: Representation) -> Tensor:
        return (left.z - right.z).square().sum(-1)


class Directed(Squares):
    def compare(self, left: Representation, right: Representation) -> Tensor:
        return (left.z - right.z).clamp(min=0).sum(-1)


class Unreduced(Squares):
    def compare(self, left: Representation, right: Representation) -> Tensor:
        return (left.z - right.z).abs()


class Shifted(Squares):
    def compare(self, left: Representation, right: Representation) -> Tensor:
        return super().compare(left, right) + 1


class Negative(Squares):
    def compare(self, left: Representation, right: Representation) -> Tensor:
        return -super().compare(left, right)


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


def declare(base: type[DistanceHead], *axioms: Axiom, **attributes: object) -> DistanceHead:
    return type(base.__name__, (base,), {"axioms": frozenset(axioms), **attributes})(DIM)  # type: ignore[no-any-return]


def model_with(kind: type[DistanceHead]) -> LearnedDistance:
    """An untrained network with a head of this class."""
    class_ = type("Registered", (kind,), {}, kind="squares")
    options = preset("small")[0]
    options = ModelOptions(options.encoder, options.features, HeadOptions("squares"))
    featurizer = GraphFeaturizer(options.features).fit(GRAPHS)
    network = GraphDistanceNetwork.build(featurizer.schema, options).eval()
    assert isinstance(network.head, class_)
    return LearnedDistance(network, featurizer)


def test_a_head_declares_nothing_unless_it_says_so() -> None:
    head = Squares(DIM)
    assert head.axioms == frozenset()
    assert not head.is_metric
    check_declarations(head, DIM)
    assert head.guarantee() == (
        "zero on isomorphic graphs; not guaranteed: symmetric, non-negative, triangle inequality"
    )


def test_a_distance_of_the_wrong_shape_is_refused_wherever_heads_are_called() -> None:
    message = r"compare must return one distance for each pair, shape \(.*\); got \(.*\): reduce the last axis"
    learned = model_with(Unreduced)
    with pytest.raises(InvalidArgument, match=message):
        learned.pairwise(GRAPHS)
    with pytest.raises(InvalidArgument, match=message):
        check_declarations(declare(Unreduced, Axiom.SYMMETRIC), DIM)
    with pytest.raises(InvalidArgument, match=message):
        gm.GraphDistance("small", head=HeadOptions("squares"), max_steps=1, label_budget=20).fit(GRAPHS)


@pytest.mark.parametrize(
    ("base", "axiom", "values"),
    [
        (Squares, Axiom.TRIANGLE_INEQUALITY, r"d\(a, c\) = .*, d\(a, b\) \+ d\(b, c\) = "),
        (Directed, Axiom.SYMMETRIC, r"d\(a, b\) = .*, d\(b, a\) = "),
        (Shifted, Axiom.ZERO_ON_EQUAL, r"d\(a, a\) = 1"),
        (Negative, Axiom.NON_NEGATIVE, r"d\(a, b\) = -"),
    ],
)
def test_false_declarations_are_refused(base: type[DistanceHead], axiom: Axiom, values: str) -> None:
    message = rf"{base.__name__} declares the axiom '{axiom.value}', which random graphs refute: {values}"
    with pytest.raises(InvalidArgument, match=message + rf".*Leave Axiom\.{axiom.name} out"):
        check_declarations(declare(base, axiom), DIM)
    for seed in range(2):  # the graphs do not depend on any state
        torch.manual_seed(seed)
        with pytest.raises(InvalidArgument, match=message):
            check_declarations(declare(base, axiom), DIM)


def test_true_declarations_of_the_same_heads_are_accepted() -> None:
    check_declarations(declare(Squares, Axiom.SYMMETRIC, Axiom.NON_NEGATIVE, Axiom.ZERO_ON_EQUAL), DIM)
    check_declarations(declare(Directed, Axiom.NON_NEGATIVE, Axiom.ZERO_ON_EQUAL, Axiom.TRIANGLE_INEQUALITY), DIM)
    check_declarations(declare(Shifted, Axiom.SYMMETRIC, Axiom.NON_NEGATIVE), DIM)


def test_a_false_bound_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"vector_blocks=1 .* the bound .* exceeds the distance .*Set vector_blo"):
        check_declarations(declare(Squares, vector_blocks=1), DIM)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_heads_of_the_package_pass(name: str, seed: int) -> None:
    head = random_head(name, seed, torch.float32)
    assert head.axioms
    check_declarations(head, DIM)
    assert all(parameter.requires_grad for parameter in head.parameters())


def test_an_index_and_a_folder_refuse_a_false_metric(tmp_path: Path) -> None:
    liar = model_with(type("Liar", (Squares,), {"axioms": METRIC}))
    for use in (lambda: liar.save(tmp_path / "model"), lambda: gm.GraphIndex.build(liar, GRAPHS), liar.describe):
        with pytest.raises(InvalidArgument, match="the head 'squares' declares the axiom 'triangle inequality'"):
            use()
    assert not (tmp_path / "model").exists()
    honest = model_with(Squares)
    honest.save(tmp_path / "model")
    card = (tmp_path / "model" / "MODEL_CARD.md").read_text()
    assert "not guaranteed: symmetric, non-negative, triangle inequality" in card
    assert gm.GraphIndex.build(honest, GRAPHS).search(GRAPHS[2], 1)[0].id == 2


def test_a_fit_and_an_evaluation_warn_of_a_false_metric() -> None:
    type("Liar", (Squares,), {"axioms": METRIC}, kind="squares")
    graphs = gm.load_dataset("molecules").graphs[:12]
    model = gm.GraphDistance("small", head="squares", max_steps=2, label_budget=50, n_jobs=1)
    with pytest.warns(UserWarning, match="cannot be saved or indexed: the head 'squares' declares the axiom 'triangle"):
        model.fit(graphs)
    distances = np.square(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    with pytest.warns(UserWarning, match="the model promises the axiom 'triangle inequality', which does not hold"):
        found = evaluate_model(model, graphs, distances=distances, queries=3)
    assert any("promises the axiom 'triangle inequality'" in note for note in found.notes)
    type("Honest", (Squares,), {}, kind="honest")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.GraphDistance("small", head="honest", max_steps=2, label_budget=50, n_jobs=1).fit(graphs)


def test_a_matrix_mirrors_only_what_is_declared_symmetric() -> None:
    found = model_with(Directed).pairwise(GRAPHS)
    above = np.triu_indices(len(GRAPHS), 1)
    assert (found[above] != found.T[above]).any()


class OwnEncoder(nn.Linear):
    output_size = 4


def test_a_model_with_a_foreign_encoder_is_refused_by_name(tmp_path: Path) -> None:
    model = model_with(Squares)
    model.network.encoder = OwnEncoder(4, 4)
    with pytest.raises(InvalidArgument, match=r"with the encoder .*test_declared\.OwnEncoder cannot be saved"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()

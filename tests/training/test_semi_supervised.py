"""Graphs without any label take part: in pre-training, in the paper's term of unlabeled pairs, beside given labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training import PretrainingOptions, TrainingOptions, preset
from graphmetric.training.mini_batches import MiniBatches
from graphmetric.training.options import ALPHAS
from graphmetric.training.supervision import hold_out, read_supervision

MASKED = TrainingOptions(steps=6, graphs_per_step=16, loss="masked", validate_every=3)


@pytest.fixture(scope="module")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:60]


@pytest.fixture(scope="module")
def few(molecules: gm.GraphCollection) -> NDArray[np.float64]:
    """Distances among ten of the sixty graphs, which are drawn as users draw them."""
    chosen = np.random.default_rng(0).permutation(len(molecules))[:10]
    matrix = np.full((len(molecules), len(molecules)), np.nan)
    matrix[np.ix_(chosen, chosen)] = gm.pairwise_edit_distances(molecules[chosen], n_jobs=1).upper
    return matrix


def fit(options: TrainingOptions, graphs: gm.GraphCollection, distances: Any, **more: Any) -> gm.GraphDistance:
    model = gm.GraphDistance((preset("small")[0], options), random_state=0, n_jobs=1, label_budget=300)
    return model.fit(graphs, distances, **more)


def weights_of(model: gm.GraphDistance) -> torch.Tensor:
    return torch.cat([tensor.flatten() for tensor in model.model_.state_dict().values()])


def test_graphs_drawn_as_users_draw_them_are_not_all_held_out(
    molecules: gm.GraphCollection, few: NDArray[np.float64]
) -> None:
    model = fit(replace(MASKED, steps=2), molecules, few)
    labeled = np.flatnonzero(~np.isnan(few).all(axis=1))
    assert model.held_out_ is not None
    assert len(model.held_out_) == 1
    assert set(model.held_out_) <= set(labeled)
    assert model.report_["labels"]["training_pairs"] == 36
    assert model.report_["labels"]["validation_pairs"] == 9


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_labeled_pairs_remain_in_training(fraction: float) -> None:
    # all pairs of star contain graph 7
    star = PairBounds.from_distances([(7, k) for k in range(8, 40)], np.arange(32.0))
    chain = PairBounds.from_distances([(k, k + 1) for k in range(40)], np.arange(40.0))
    for labels in (star, chain, PairBounds.from_distances([(3, 5)], [1])):
        for seed in range(5):
            held_out = hold_out(100, None, fraction, seed, labels)
            remaining = ~np.isin(labels.pairs, held_out).any(axis=1)
            assert remaining.sum() >= max(1, (1 - fraction) ** 2 / 2 * len(labels))
            assert set(held_out) <= set(labels.graphs)
    assert len(hold_out(100, None, fraction, 0, chain)) > 0


@pytest.mark.parametrize(
    ("options", "takes_part"),
    [
        (MASKED, False),
        (replace(MASKED, alpha=0.1), True),
        (replace(MASKED, pretraining=PretrainingOptions(epochs=1)), True),
    ],
)
def test_graphs_without_labels_take_part(
    molecules: gm.GraphCollection, few: NDArray[np.float64], options: TrainingOptions, takes_part: bool
) -> None:
    order = np.arange(len(molecules))
    spare = np.isnan(few).all(axis=1)
    order[spare] = np.roll(order[spare], 7)
    before, shuffled = (fit(options, given, few) for given in (molecules, molecules[order]))
    assert torch.equal(weights_of(before), weights_of(shuffled)) == (not takes_part)
    assert before.report_["labels"].get("graphs_without_labels", 0) == (50 if takes_part else 0)


def test_graphs_that_validate_take_no_part(molecules: gm.GraphCollection, few: NDArray[np.float64]) -> None:
    labels = PairBounds.from_matrix(few)
    held_out = np.array([*labels.graphs[:2], *np.setdiff1d(np.arange(60), labels.graphs)[:5]])
    found = read_supervision(molecules, labels, held_out, keep_unlabeled=True)
    assert len(found.unlabeled) == 45
    assert len(found.graphs) == 55
    texts = {graph.certificate() for graph in found.graphs[found.unlabeled]}
    assert texts == {molecules[int(k)].certificate() for k in np.setdiff1d(np.arange(60), [*held_out, *labels.graphs])}
    assert not np.isin(found.training.pairs, found.unlabeled).any()


def test_a_mini_batch_holds_graphs_without_labels_up_to_its_half() -> None:
    pairs = np.column_stack(np.triu_indices(10, k=1))
    labels = PairBounds.from_distances(pairs, np.ones(len(pairs)))
    options = replace(MASKED, alpha=0.1)
    for count, expected in ((2, 2), (5, 5), (90, 8)):
        batches = MiniBatches(labels, options, 0, np.arange(10, 10 + count))
        seen = set()
        for step in range(80):
            batch = batches.at(step)
            assert (batch.graphs >= 10).sum() == expected
            assert len(batch.pairs) == len(batch.graphs) * (len(batch.graphs) + 1) // 2
            known = batch.graphs[batch.pairs[batch.lower == 1]]
            assert len(known)
            assert (known < 10).all()
            seen |= set(batch.graphs)
        assert len(seen) == 10 + count
    assert MiniBatches(labels, MASKED, 0, np.arange(10, 90)).at(0).graphs.max() < 10


@pytest.mark.slow
def test_alpha_is_chosen_on_validation_pairs(
    molecules: gm.GraphCollection, few: NDArray[np.float64], tmp_path: Any
) -> None:
    options = replace(MASKED, alpha="auto", steps=30, validate_every=10, graphs_per_step=8)
    chosen = fit(options, molecules, few)
    alpha = chosen.report_["training"]["alpha"]
    losses = {}
    for value in ALPHAS:
        one = fit(replace(options, alpha=value), molecules, few)
        losses[value] = one.report_["training"]["validation_loss"]
        if value == alpha:
            assert torch.equal(weights_of(one), weights_of(chosen))
    assert losses[alpha] == min(losses.values()) == chosen.report_["training"]["validation_loss"]
    chosen.save(tmp_path / "model")
    assert gm.GraphDistance.load(tmp_path / "model").preset[1].alpha == "auto"
    with pytest.raises(InvalidArgument, match="alpha='auto' is chosen on validation pairs"):
        fit(options, molecules, few, val=[])


def test_alpha_is_a_number_or_auto() -> None:
    for wrong in (-0.1, 1.5, "maybe"):
        with pytest.raises(InvalidArgument, match=r"alpha must lie in \[0, 1\], or be 'auto'"):
            TrainingOptions(loss="masked", alpha=wrong)  # type: ignore[arg-type]


def test_computed_labels_beside_given_ones(molecules: gm.GraphCollection, few: NDArray[np.float64]) -> None:
    options = TrainingOptions(steps=3, graphs_per_step=16, validate_every=3)
    alone, quarter, half = (fit(options, molecules, few, beside=share) for share in (None, 0.25, 0.5))
    labels = half.report_["labels"]
    assert labels["origin"] == "given"
    assert labels["training_pairs"] == alone.report_["labels"]["training_pairs"] == 36
    assert labels["validation_pairs"] == alone.report_["labels"]["validation_pairs"] == 9
    assert 250 <= labels["computed_pairs_beside"] <= 400
    assert "| Computed pairs beside |" in half.learned_.describe()
    assert len({tuple(weights_of(model).tolist()) for model in (alone, quarter, half)}) == 3
    for wrong in (0, 1, -0.5, True, "half"):
        with pytest.raises(InvalidArgument, match="beside must be a number between 0 and 1"):
            fit(options, molecules, few, beside=wrong)
    with pytest.raises(InvalidArgument, match="give distances too"):
        fit(options, molecules, None, beside=0.5)


@pytest.mark.slow
def test_few_labels_teach_more_with_computed_ones_beside_them() -> None:
    graphs = gm.load_dataset("molecules").graphs[:200]
    true = np.asarray(gm.pairwise_edit_distances(graphs, n_jobs=1).upper)
    rng = np.random.default_rng(1)
    pairs = np.column_stack(np.triu_indices(150, k=1))
    pairs = pairs[rng.permutation(len(pairs))[:90]]
    given = pairs, true[pairs[:, 0], pairs[:, 1]]
    options = TrainingOptions(steps=150, optimizer="muon", learning_rate=3e-3, validate_every=50)
    test = np.arange(150, 200)
    rho = {}
    for share in (None, 0.5):
        model = gm.GraphDistance((preset("small")[0], options), n_jobs=1, label_budget=10_000)
        rho[share] = model.fit(graphs[:150], given, beside=share).score(graphs[test], true[np.ix_(test, test)])
    assert rho[0.5] > rho[None] + 0.03, rho


def with_features(graphs: gm.GraphCollection) -> gm.GraphCollection:
    rng = np.random.default_rng(0)
    return gm.GraphCollection(graph.replace(node_features=rng.normal(size=(graph.num_nodes, 2))) for graph in graphs)


def test_vectors_that_are_compared_for_equality_are_warned_of(
    molecules: gm.GraphCollection, few: NDArray[np.float64], recwarn: pytest.WarningsRecorder
) -> None:
    options = TrainingOptions(steps=1, graphs_per_step=4)
    graphs = with_features(molecules[:12])
    architecture = preset("small")[0]
    message = r"node_features are different on 100% of the nodes.*EditCosts\(feature_distance='euclidean'\)"
    silent = (gm.EditCosts(feature_distance="euclidean"), gm.EditCosts(ignore={"node_features"}))
    for costs in (None, *silent):
        model = gm.GraphDistance((architecture, options), n_jobs=1, label_budget=20, mutation_edits=0, costs=costs)
        if costs is None:
            with pytest.warns(UserWarning, match=message):
                model.fit(graphs)
        else:
            model.fit(graphs)
    given = ([(0, 1), (2, 3), (4, 5)], [1.0, 2.0, 3.0])
    gm.GraphDistance((architecture, options), n_jobs=1, validation_fraction=0).fit(graphs, given)  # nothing is compared
    assert not [str(one.message) for one in recwarn if "node_features" in str(one.message)]

"""GraphDistance: scikit-learn's contract, the axioms of what it learns, and every form of input."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import graphmetric as gm
from graphmetric.encoder import EncoderOptions
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import mean_rank_correlation
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.learned.model_folder import BUNDLED_MODELS
from graphmetric.model import HeadOptions, ModelOptions
from graphmetric.report import evaluate_model
from graphmetric.training import TrainingOptions, preset
from graphmetric.training.supervision import read_distances, sample_pool
from tests.strategies import exact, graphs

QUICK: dict[str, Any] = {"preset": "small", "max_steps": 5, "label_budget": 80, "n_jobs": 1}
ANY_GRAPH = graphs(node_features=False, edge_weights=False, node_images=False, direction=False)
METRIC_HEADS = [
    "matching",
    "block-norm",
    HeadOptions("concave", hidden=(8,), bases=("matching",)),
]


@pytest.fixture(scope="module")
def molecules() -> GraphCollection:
    return gm.load_dataset("molecules").graphs[:30]


@pytest.fixture(scope="module")
def model(molecules: GraphCollection) -> gm.GraphDistance:
    return gm.GraphDistance(**QUICK | {"max_steps": 60, "label_budget": 500}).fit(molecules)


@pytest.fixture(scope="module", params=METRIC_HEADS, ids=["matching", "block-norm", "concave"])
def metric(request: pytest.FixtureRequest) -> gm.GraphDistance:
    several = [gm.Graph(3, [(0, 1)], node_labels=[1, "a", None], edge_labels=["x"], node_texts=["to be", "", "or"])]
    several += [gm.Graph(n, [(k, k + 1) for k in range(n - 1)]) for n in range(1, 6)]
    return gm.GraphDistance(**QUICK | {"max_steps": 15}, head=request.param).fit(several)


def weights(model: gm.GraphDistance) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in model.model_.state_dict().items()}


def same_weights(a: gm.GraphDistance, b: gm.GraphDistance) -> bool:
    first, second = weights(a), weights(b)
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


class TestContract:
    def test_parameters_are_stored_as_given(self) -> None:
        strange = object()
        names = list(gm.GraphDistance().get_params())
        estimator = gm.GraphDistance(**dict.fromkeys(names, strange))  # nothing is looked at before fit
        assert all(value is strange for value in estimator.get_params().values())
        assert sorted(vars(estimator)) == sorted(names)

    @pytest.mark.slow
    def test_it_prints_what_differs_from_the_defaults(self) -> None:
        assert repr(gm.GraphDistance()) == "GraphDistance()"
        assert repr(gm.GraphDistance("small", max_steps=3, costs=HALF)) == (
            f"GraphDistance(costs={HALF!r}, max_steps=3, preset='small')"
        )
        assert repr(gm.DistanceTransformer(gm.GraphDistance(strict=True))) == (
            "DistanceTransformer(distance=GraphDistance(strict=True))"
        )
        options = ModelOptions(EncoderOptions(hidden_size=8)), TrainingOptions(steps=3)
        assert repr(gm.GraphDistance(options)) == (
            "GraphDistance(preset=(ModelOptions(encoder=EncoderOptions(hidden_size=8)), TrainingOptions(steps=3)))"
        )
        for name in BUNDLED_MODELS:
            assert repr(gm.GraphDistance.load(name)).count("\n") < 7

    def test_clone_has_the_parameters_and_nothing_learned(self, model: gm.GraphDistance) -> None:
        copied = clone(model)
        assert copied.get_params() == model.get_params()
        assert not hasattr(copied, "model_")
        own = gm.GraphDistance(preset("small"), head=HeadOptions("block-norm"))
        assert clone(own).set_params(strict=True).get_params() == own.get_params() | {"strict": True}

    def test_what_needs_a_fit_says_so(self, molecules: GraphCollection, tmp_path: Path) -> None:
        unfitted, g = gm.GraphDistance(), molecules[0]
        calls: list[Any] = [
            lambda: unfitted.distance(g, g),
            lambda: unfitted.align(g, g),
            lambda: unfitted.get_metric(),
            lambda: unfitted.save(tmp_path / "model"),
            *(lambda name=name: getattr(unfitted, name)([g]) for name in ("pairwise", "embed", "transform", "score")),
            lambda: unfitted.kneighbors([g]),
        ]
        for call in calls:
            with pytest.raises(NotFittedError):
                call()
        assert not (tmp_path / "model").exists()

    def test_fit_returns_itself_and_is_a_function_of_the_seed(self, molecules: GraphCollection) -> None:
        estimator = gm.GraphDistance(**QUICK)
        assert estimator.fit(molecules) is estimator
        again, other = clone(estimator).fit(molecules), clone(estimator).set_params(random_state=1).fit(molecules)
        assert same_weights(estimator, again)
        assert not same_weights(estimator, other)
        before = weights(estimator)
        assert all(np.array_equal(before[name], found) for name, found in weights(estimator.fit(molecules)).items())

    def test_other_kinds_of_seed(self, molecules: GraphCollection) -> None:
        seeded = [gm.GraphDistance(**QUICK, random_state=np.random.RandomState(3)).fit(molecules[:9]) for _ in "ab"]
        assert same_weights(*seeded)
        gm.GraphDistance(**QUICK, random_state=None).fit(molecules[:9])

    def test_transform_does_not_depend_on_company_or_order(
        self, model: gm.GraphDistance, molecules: GraphCollection
    ) -> None:
        whole = model.transform(molecules)
        order = np.random.default_rng(0).permutation(len(molecules))
        np.testing.assert_allclose(model.transform(molecules[order]), whole[order], atol=1e-5)
        np.testing.assert_allclose(model.transform(molecules[3:5]), whole[3:5], atol=1e-5)
        assert np.array_equal(whole, model.embed(molecules))
        assert model.transform([]).shape == (0, whole.shape[1])

    def test_input_is_not_changed(self) -> None:
        given_graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3), nx.complete_graph(4)]
        before = [(dict(graph.nodes(data=True)), sorted(graph.edges(data=True))) for graph in given_graphs]
        known = np.array(gm.pairwise_edit_distances(given_graphs).distances)
        kept = known.copy()
        fitted = gm.GraphDistance(**QUICK).fit(given_graphs, known)
        fitted.pairwise(given_graphs)
        assert before == [(dict(graph.nodes(data=True)), sorted(graph.edges(data=True))) for graph in given_graphs]
        assert np.array_equal(known, kept)
        assert list(fitted.graphs_ or []) == list(gm.as_graphs(given_graphs))

    def test_pipeline_and_cross_validation(self, molecules: GraphCollection) -> None:
        ring = np.array([graph.num_edges >= graph.num_nodes for graph in molecules])
        classify = make_pipeline(gm.GraphDistance(**QUICK), KNeighborsClassifier(3))
        assert cross_val_score(classify, molecules, ring, cv=2).shape == (2,)
        last = make_pipeline(FunctionTransformer(), gm.GraphDistance(**QUICK)).fit(list(molecules))
        assert last.transform(list(molecules)).shape[0] == len(molecules)

    @pytest.mark.slow
    def test_grid_search_computes_labels_in_each_fold(self, molecules: GraphCollection) -> None:
        search = GridSearchCV(gm.GraphDistance(**QUICK), {"head": ["matching", "block-norm"]}, cv=2)
        search.fit(list(molecules))
        assert len(search.cv_results_["mean_test_score"]) == 2
        assert np.isfinite(search.best_score_)
        with pytest.raises(InvalidArgument, match="cuts only the rows"):
            gm.GraphDistance(**QUICK).fit(molecules[:15], np.zeros((15, 30)))

    def test_matrices_go_to_scikit_learn(self, model: gm.GraphDistance, molecules: GraphCollection) -> None:
        matrix = model.pairwise(molecules)
        ring = np.array([graph.num_edges >= graph.num_nodes for graph in molecules])
        positions = np.arange(len(molecules)).reshape(-1, 1)
        metric = model.get_metric(molecules)
        by_matrix = DBSCAN(metric="precomputed", eps=4, min_samples=2).fit_predict(matrix)
        by_metric = DBSCAN(metric=metric, eps=4, min_samples=2, algorithm="brute").fit_predict(positions)
        assert np.array_equal(by_matrix, by_metric)
        tree = AgglomerativeClustering(3, metric="precomputed", linkage="average").fit_predict(matrix)
        assert sorted(set(tree.tolist())) == [0, 1, 2]
        nearest = KNeighborsClassifier(1, metric="precomputed").fit(matrix, ring)
        assert nearest.score(matrix, ring) == 1.0
        with pytest.raises(InvalidArgument, match="brute"):
            metric(0.5, 1)
        assert model.get_metric()(molecules[0], molecules[1]) == model.distance(molecules[0], molecules[1])


HALF = gm.EditCosts(node_substitute=0.5, ignore=frozenset({"edge_labels"}))


@pytest.fixture(scope="module")
def bonds() -> GraphCollection:
    """Molecules with bonds of several kinds, which must not count."""
    graphs, rng = gm.load_dataset("molecules").graphs[:25], np.random.default_rng(0)
    return GraphCollection(g.replace(edge_labels=rng.integers(0, 9, g.num_edges).tolist()) for g in graphs)


@pytest.fixture(scope="module")
def half(bonds: GraphCollection) -> gm.GraphDistance:
    return gm.GraphDistance(**QUICK, costs=HALF, mutation_edits=0).fit(bonds)


class TestCosts:
    """What is learned, scored and certified is what the costs count."""

    def test_labels_are_at_these_costs(self, half: gm.GraphDistance, bonds: GraphCollection) -> None:
        budget = half._budget(None)
        pairs = np.array([[0, 1], [2, 9], [4, 7]])
        labels, _ = budget.label(bonds, pairs)
        exact = [gm.graph_edit_distance(bonds[int(i)], bonds[int(j)], costs=HALF).upper for i, j in pairs]
        assert labels.upper.tolist() == exact
        assert half.report_["labels"]["origin"] == f"computed: edit distances at {HALF!r}"
        assert -1 <= half.score(bonds[:10]) <= 1

    def test_distances_to_the_empty_graph(self, bonds: GraphCollection) -> None:
        costs = gm.EditCosts(node_delete=3, node_insert=3, edge_delete=0.5, edge_insert=0.5)
        pool = sample_pool(bonds, 60, 0, np.random.default_rng(0))
        known = pool.label_empty_graphs(costs)
        sizes, edges = pool.graphs.sizes, pool.graphs.edge_counts
        assert known.lower.tolist() == (3 * sizes + 0.5 * edges)[known.pairs[:, 0]].tolist()

    def test_what_is_ignored_is_not_seen(self, half: gm.GraphDistance, bonds: GraphCollection) -> None:
        plain = bonds.without(["edge_labels"])
        assert half.featurizer_.schema.num_relations == 3  # no edge, an edge, an arc
        assert half.pairwise(bonds[:5], plain[:5]).diagonal() == pytest.approx(np.zeros(5), abs=1e-4)
        assert half.align(bonds[0], plain[0]).upper == 0

    def test_kept_by_clone_save_and_index(self, half: gm.GraphDistance, bonds: GraphCollection, tmp_path: Path) -> None:
        assert clone(half).get_params()["costs"] == HALF
        half.save(tmp_path / "model")
        loaded = gm.GraphDistance.load(tmp_path / "model")
        assert loaded.costs == HALF
        gm.GraphIndex.build(half, bonds[:20], out=tmp_path / "index")
        query = bonds[22]
        exact = [gm.graph_edit_distance(query, graph, costs=HALF).upper for graph in bonds[:20]]
        for index in (gm.GraphIndex.load(tmp_path / "index"), gm.GraphIndex.load(tmp_path / "index", model=loaded)):
            assert [hit.exact for hit in index.search(query, 5, certified=True)] == sorted(exact)[:5]
        with pytest.raises(InvalidArgument, match="built with another model"):
            gm.GraphIndex.load(tmp_path / "index", model=copy.copy(half).set_params(costs=None))

    def test_old_models_have_unit_costs(self) -> None:
        assert gm.GraphDistance.load("molecules").costs is None

    @pytest.mark.parametrize(
        "costs", [gm.EditCosts(node_delete=2), gm.EditCosts(edge_substitute=float("inf")), {"node_delete": 2}]
    )
    def test_costs_that_no_learned_distance_has(self, costs: Any, molecules: GraphCollection) -> None:
        with pytest.raises(InvalidArgument, match=r"costs must be|symmetric and finite"):
            gm.GraphDistance(**QUICK, costs=costs).fit(molecules)


class TestDistanceTransformer:
    """Distances to the training graphs as features."""

    def test_pipelines(self, model: gm.GraphDistance, molecules: GraphCollection, tmp_path: Path) -> None:
        model.save(tmp_path)
        has_ring = np.array([graph.num_edges >= graph.num_nodes for graph in molecules])
        pipeline = make_pipeline(gm.DistanceTransformer(tmp_path), KNeighborsClassifier(1, metric="precomputed"))
        pipeline.fit(molecules[:20], has_ring[:20])
        assert (pipeline.predict(molecules[:20]) == has_ring[:20]).all()
        assert pipeline.predict(list(molecules[20:])).shape == (10,)
        assert np.isfinite(cross_val_score(pipeline, list(molecules), has_ring, cv=3)).all()
        grid = GridSearchCV(
            pipeline,
            {"kneighborsclassifier__n_neighbors": [1, 3], "distancetransformer__view": ["raw", "steinhaus"]},
            cv=2,
        ).fit(list(molecules), has_ring)
        assert len(grid.cv_results_["params"]) == 4
        clusters = make_pipeline(gm.DistanceTransformer(tmp_path), DBSCAN(eps=2.0, metric="precomputed"))
        assert clusters.fit_predict(molecules).shape == (30,)

    def test_a_distance_is_fitted_in_each_fold_unless_it_is_frozen(
        self, model: gm.GraphDistance, molecules: GraphCollection
    ) -> None:
        learning = gm.DistanceTransformer(gm.GraphDistance(**QUICK | {"max_steps": 2}))
        nearest = make_pipeline(learning, KNeighborsClassifier(1, metric="precomputed"))
        nearest.set_params(distancetransformer__distance__max_steps=1)
        has_ring = [graph.num_edges >= graph.num_nodes for graph in molecules]
        assert np.isfinite(cross_val_score(nearest, list(molecules), has_ring, cv=2)).all()
        frozen = clone(gm.DistanceTransformer(FrozenEstimator(model)))
        square = frozen.fit_transform(molecules[:6])
        assert np.array_equal(square, model.pairwise(molecules[:6]))
        assert np.array_equal(frozen.transform(molecules[6:8]), model.pairwise(molecules[6:8], molecules[:6]))
        with pytest.raises(NotFittedError):
            gm.DistanceTransformer().transform(molecules)


class TestAxioms:
    """On trained models, for any graphs."""

    @pytest.mark.slow
    @given(several=st.lists(ANY_GRAPH, min_size=3, max_size=5), seed=st.integers(0, 99))
    @settings(max_examples=15)
    def test_metric(self, metric: gm.GraphDistance, several: list[gm.Graph], seed: int) -> None:
        relabelled = several[0].relabeled(np.random.default_rng(seed).permutation(several[0].num_nodes))
        several = [*several, relabelled]
        for view in ("raw", "steinhaus"):
            d = metric.pairwise(several, view=view)  # type: ignore[arg-type]
            assert np.array_equal(d, d.T)
            assert (d >= 0).all()
            assert (np.diag(d) == 0).all()
            assert (d[:, None, :] <= (d[:, :, None] + d[None, :, :]) * (1 + 1e-5) + 1e-5).all()
        assert metric.distance(several[0], several[1]) == metric.distance(several[1], several[0])
        assert metric.distance(several[0], relabelled) == 0

    @pytest.mark.slow
    @given(several=st.lists(ANY_GRAPH, min_size=2, max_size=4), seed=st.integers(0, 99))
    @settings(max_examples=15)
    def test_strict_is_zero_exactly_on_isomorphic_graphs(
        self, metric: gm.GraphDistance, several: list[gm.Graph], seed: int
    ) -> None:
        strict = copy.copy(metric).set_params(strict=True)
        several = [*several, several[0].relabeled(np.random.default_rng(seed).permutation(several[0].num_nodes))]
        same = np.array([[g.is_isomorphic(h) for h in several] for g in several])
        for view in ("raw", "steinhaus", "paper"):
            assert np.array_equal(strict.pairwise(several, view=view) == 0, same)  # type: ignore[arg-type]
            assert np.array_equal(strict.pairwise(several, several, view=view) == 0, same)  # type: ignore[arg-type]
        d = strict.pairwise(several)
        assert (d[:, None, :] <= (d[:, :, None] + d[None, :, :]) * (1 + 1e-6)).all()
        assert strict.distance(several[0], several[-1]) == 0
        assert (strict.distance(several[0], several[1]) == 0) == same[0, 1]

    def test_paper_preset_breaks_the_triangle_inequality_only(self, molecules: GraphCollection) -> None:
        paper = gm.GraphDistance("paper", epochs=3, pretrain=False, label_budget=200, n_jobs=1).fit(molecules)
        d = paper.pairwise(molecules, view="paper")
        assert np.array_equal(d, d.T)
        assert (np.diag(d) == 0).all()
        assert (d >= 0).all()
        assert (d < 1).all()


class TestInput:
    @pytest.mark.slow
    def test_very_different_graphs_in_one_collection(self) -> None:
        rng = np.random.default_rng(0)
        several = [gm.Graph(0), gm.Graph(1), gm.Graph(1, node_labels=["C"]), gm.Graph(2, [(0, 1)], edge_weights=[0.5])]
        several += [gm.Graph(4, [(0, 1), (2, 3)], node_features=rng.normal(size=(4, 3)), node_labels="CCON")]
        several += [gm.Graph.from_networkx(nx.barabasi_albert_graph(300, 2, seed=0)), gm.Graph(300)]
        fitted = gm.GraphDistance(**QUICK | {"label_budget": 30}).fit(several)
        matrix = fitted.pairwise(several)
        assert np.isfinite(matrix).all()
        assert np.isfinite(fitted.embed(several)).all()
        assert fitted.pairwise(several[:1], []).shape == (1, 0)
        assert fitted.distance(gm.Graph(0), gm.Graph(0)) == 0
        assert fitted.distance(gm.Graph(500), gm.Graph(0)) > 0

    @pytest.mark.parametrize("alone", [gm.Graph(0), gm.Graph(1), gm.Graph(3, [(0, 1), (1, 2)])])
    def test_one_graph_is_enough(self, alone: gm.Graph) -> None:
        fitted = gm.GraphDistance(**QUICK).fit(alone)
        assert fitted.pairwise(alone).tolist() == [[0.0]]

    def test_graphs_of_the_other_direction_are_refused(self, model: gm.GraphDistance) -> None:
        """Wherever they come in; a graph without edges has no direction."""
        query, arcs = gm.Graph(3, [(0, 1), (1, 2)], node_labels="CCO"), [(0, 1), (1, 0), (1, 2), (2, 1)]
        directed = gm.Graph(3, arcs, node_labels="CCO", directed=True, id="arcs")
        said = r"trained on undirected graphs, and Graph\('arcs'.* is directed: .*replace\(directed=False\)"
        index = gm.GraphIndex.build(model, [query])
        for ask in (
            lambda: model.distance(query, directed),
            lambda: model.pairwise([query, directed]),
            lambda: model.pairwise([query], [directed]),
            lambda: model.embed([directed]),
            lambda: model.align(query, directed),
            lambda: model.kneighbors([directed], [query], k=1),
            lambda: index.search(directed, 1),
            lambda: index.range_search(directed, 1.0),
            lambda: index.add([directed]),
            lambda: evaluate_model(model, [query, directed, query, query]),
        ):
            with pytest.raises(InvalidArgument, match=said):
                ask()
        with pytest.raises(InvalidArgument, match="is directed and graph 1 is not"):
            index.search(directed, 1, certified=True)  # which asks no model
        assert model.distance(query, gm.Graph(2, node_labels="CC", directed=True)) > 0
        calls = [gm.Graph(n, [(k, k + 1) for k in range(n - 1)], directed=True) for n in range(2, 9)]
        other = gm.GraphDistance(**QUICK | {"max_steps": 2}).fit(calls)
        with pytest.raises(InvalidArgument, match=r"trained on directed graphs, and .*replace\(directed=True\)"):
            other.distance(calls[0], gm.Graph(3, [(0, 1)]))

    def test_directed_graphs(self) -> None:
        arcs = [gm.Graph(3, [(0, 1), (1, 2)], directed=True), gm.Graph(3, [(0, 1), (2, 1)], directed=True)]
        fitted = gm.GraphDistance(**QUICK).fit(arcs)
        assert fitted.distance(*arcs) > 0

    def test_every_form_of_distances_is_the_same(self, molecules: GraphCollection) -> None:
        few = molecules[:10]
        known = gm.pairwise_edit_distances(few).distances
        known[3, 4] = known[4, 3] = known[0, 9] = np.nan  # (9, 0) is still known
        rows, columns = np.triu_indices(10, k=1)
        values = np.fmax(known[rows, columns], known[columns, rows])
        pairs = np.column_stack([rows, columns])
        there = ~np.isnan(values)
        labels = PairBounds(pairs[there], values[there], values[there])
        fits = [gm.GraphDistance(**QUICK).fit(few, form) for form in (known, (pairs, values), labels)]
        assert same_weights(fits[0], fits[1])
        assert same_weights(fits[0], fits[2])
        assert fits[0].report_["labels"]["origin"] == "given"

    def test_validation_graphs_are_never_trained_on(
        self, molecules: GraphCollection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from graphmetric import training

        seen: dict[str, Any] = {}
        original = training.train_model

        def spy(model: Any, table: Any, labels: Any, options: Any, **rest: Any) -> Any:
            seen.update(train=set(table.sizes[labels.graphs].tolist()), val=table.sizes[rest["validation"].pairs])
            return original(model, table, labels, options, **rest)

        monkeypatch.setattr(training, "train_model", spy)
        val = np.flatnonzero(molecules.sizes == molecules.sizes.max())  # so that sizes tell who is who
        known = gm.pairwise_edit_distances(molecules).distances
        for distances in (None, known):
            gm.GraphDistance(**QUICK).fit(molecules, distances, val=val)
            assert int(molecules.sizes.max()) not in seen["train"]
            assert (seen["val"] == molecules.sizes.max()).any(axis=1).all()

    def test_labels_stay_within_the_budget(self, molecules: GraphCollection) -> None:
        fitted = gm.GraphDistance(**QUICK | {"label_budget": 50}).fit(molecules)
        report = fitted.report_["labels"]
        to_empty_graph = report["graphs_in_training_pairs"] - 1
        assert 40 <= report["training_pairs"] + report["validation_pairs"] - to_empty_graph <= 50

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"preset": "huge"}, "huge"),
            ({"head": "cosine"}, "cosine"),
            ({"label_budget": 0}, "label_budget"),
            ({"label_budget": "soon"}, "label_budget.*soon"),
            ({"mutation_edits": -1}, "mutation_edits"),
            ({"validation_fraction": 1.5}, "validation_fraction"),
            ({"epochs": 2}, "either epochs or steps"),
            ({"device": "abacus"}, "abacus"),
        ],
    )
    def test_wrong_parameters_are_explained(
        self, molecules: GraphCollection, change: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(InvalidArgument, match=said):
            gm.GraphDistance(**QUICK | change).fit(molecules[:5])

    @pytest.mark.parametrize(
        "classes", [["toxic", "harmless"] * 15, [0, 1] * 15, np.arange(30) % 3, ("toxic", "harmless"), [True] * 30]
    )
    def test_classes_are_no_distances(self, molecules: GraphCollection, classes: Any) -> None:
        with pytest.raises(InvalidArgument, match=r"not from classes; got .* values .*KNeighborsClassifier"):
            gm.GraphDistance(**QUICK).fit(molecules[:30], classes)

    def test_wrong_arguments_are_explained(self, model: gm.GraphDistance, molecules: GraphCollection) -> None:
        few = molecules[:4]
        cases: list[tuple[str, Any]] = [
            ("empty collection", lambda: gm.GraphDistance().fit([])),
            ("positions of graphs", lambda: gm.GraphDistance().fit(few, val=[4])),
            ("all of the 4 graphs", lambda: gm.GraphDistance().fit(few, val=range(4))),
            ("nothing to train on", lambda: gm.GraphDistance().fit(few, np.full((4, 4), np.nan))),
            ("graphs 0..7", lambda: gm.GraphDistance().fit(few, ([[0, 7]], [1.0]))),
            ("k must be", lambda: model.kneighbors(few, few, k=5)),
            ("unknown view", lambda: model.distance(few[0], few[1], view="square")),  # type: ignore[arg-type]
        ]
        for said, call in cases:
            with pytest.raises(InvalidArgument, match=said):
                call()


class TestAnswers:
    def test_it_learns(self, model: gm.GraphDistance, molecules: GraphCollection) -> None:
        assert model.score(molecules) > 0.75
        assert model.report_["validation"]["mean_absolute_error_in_edits"] < 2.5
        known = gm.pairwise_edit_distances(molecules).distances
        assert model.score(molecules, known) == pytest.approx(model.score(molecules))

    def test_score_is_spearman(self, molecules: GraphCollection, model: gm.GraphDistance) -> None:
        from scipy.stats import spearmanr

        few = molecules[:8]
        known, said = gm.pairwise_edit_distances(few).distances, model.pairwise(few)
        others = [np.delete(np.arange(8), k) for k in range(8)]
        expected = np.mean([spearmanr(known[k, others[k]], said[k, others[k]]).statistic for k in range(8)])
        assert model.score(few, known) == pytest.approx(expected)

    def test_score_of_nothing_to_rank(self) -> None:
        assert np.isnan(mean_rank_correlation(np.empty((0, 2), dtype=np.int64), np.empty(0), np.empty(0)))
        pairs, same = np.array([[0, 1], [0, 2], [1, 2]]), np.ones(3)
        assert np.isnan(mean_rank_correlation(pairs, same, same))
        assert mean_rank_correlation(pairs, same, np.arange(3.0)) == 0.0
        assert mean_rank_correlation(pairs, np.arange(3.0), np.arange(3.0)) == pytest.approx(1.0)

    def test_pair_matrix_and_file_agree(
        self, model: gm.GraphDistance, molecules: GraphCollection, tmp_path: Path
    ) -> None:
        a, b = molecules[:6], molecules[6:10]
        for view in ("raw", "steinhaus", "paper"):
            matrix = model.pairwise(a, b, view=view)  # type: ignore[arg-type]
            np.testing.assert_allclose(matrix[2, 3], model.distance(a[2], b[3], view), rtol=1e-4)  # type: ignore[arg-type]
            assert np.array_equal(matrix, model.pairwise(b, a, view=view).T)  # type: ignore[arg-type]
        mapped = model.pairwise(molecules, out=tmp_path / "matrix.npy")
        assert isinstance(mapped, np.memmap)
        assert np.array_equal(mapped, model.pairwise(molecules))

    @pytest.mark.slow
    def test_neighbours(self, model: gm.GraphDistance, molecules: GraphCollection) -> None:
        distances, positions = model.kneighbors(molecules[:4], k=3)
        matrix = model.pairwise(molecules[:4], molecules)
        assert np.array_equal(distances, np.sort(matrix, axis=1)[:, :3])
        assert np.array_equal(np.take_along_axis(matrix, positions, axis=1), distances)
        assert (matrix[np.arange(4), positions[:, 0]] == distances[:, 0]).all()

    def test_alignment_gives_edits_that_lead_from_one_to_the_other(
        self, model: gm.GraphDistance, molecules: GraphCollection
    ) -> None:
        rng = np.random.default_rng(0)
        for g, h in rng.integers(0, len(molecules), (10, 2)):
            first = molecules[int(g)].relabeled(rng.permutation(molecules[int(g)].num_nodes))
            found = model.align(first, molecules[int(h)])
            assert found.edit_path is not None
            assert found.edit_path.apply(first).is_isomorphic(molecules[int(h)])
            assert found.upper == len(found.edit_path) >= gm.graph_edit_distance(first, molecules[int(h)]).upper
            assert found.value == model.distance(first, molecules[int(h)])
        shuffled = molecules[0].relabeled(rng.permutation(molecules[0].num_nodes))
        assert model.align(molecules[0], shuffled).upper == 0

    def test_only_a_matching_aligns(self, molecules: GraphCollection) -> None:
        fitted = gm.GraphDistance(**QUICK, head="block-norm").fit(molecules[:6])
        with pytest.raises(InvalidArgument, match="matching"):
            fitted.align(molecules[0], molecules[1])

    def test_stopped_fit_goes_on_to_the_same_weights(
        self, molecules: GraphCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        kept = gm.GraphDistance(**QUICK, checkpoint=tmp_path / "work")
        with monkeypatch.context() as patch:
            patch.setattr(gm.GraphDistance, "_log", stop)
            with pytest.raises(KeyboardInterrupt):
                kept.fit(molecules)
        assert (tmp_path / "work" / "labels" / "training-00" / "manifest.json").exists()
        assert (tmp_path / "work" / "training" / "checkpoint.safetensors").exists()
        assert same_weights(kept.fit(molecules), gm.GraphDistance(**QUICK).fit(molecules))
        with pytest.raises(InvalidArgument, match="another"):
            kept.set_params(random_state=7).fit(molecules)

    def test_graphs_of_a_model_do_not_change(self, model: gm.GraphDistance, molecules: GraphCollection) -> None:
        assert [exact(graph) for graph in model.graphs_ or []] == [exact(graph) for graph in molecules]


def test_a_fit_with_no_threads_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="n_jobs is 0"):
        gm.GraphDistance("small", n_jobs=0).fit(gm.load_dataset("molecules").graphs[:12])


@pytest.mark.slow
def test_vectors_learn_the_distances_of_a_fitted_matching() -> None:
    graphs = gm.load_dataset("molecules").graphs[:60]
    how: dict[str, Any] = {"label_budget": 1500, "n_jobs": 1, "random_state": 0}
    matching = gm.GraphDistance("small", max_steps=60, **how).fit(graphs[:50])
    vectors = gm.GraphDistance("small", head="block-norm", max_steps=60, **how).fit(graphs[:50], matching)
    assert "teacher" in vectors.report_["labels"]["origin"]
    assert vectors.report_["labels"]["training_pairs"] > 10 * 1500
    unseen, taught = vectors.pairwise(graphs[50:]), matching.pairwise(graphs[50:])
    one, other = np.triu_indices(10, 1)
    assert np.corrcoef(unseen[one, other], taught[one, other])[0, 1] > 0.8


def test_a_teacher_has_the_costs_of_its_pupil() -> None:
    graphs = gm.load_dataset("molecules").graphs[:12]
    teacher = gm.GraphDistance.load("molecules")
    pupil = gm.GraphDistance("small", max_steps=1, costs=gm.EditCosts(node_substitute=2.0))
    with pytest.raises(InvalidArgument, match="the same costs"):
        pupil.fit(graphs, teacher)


def test_repair_is_true_or_false() -> None:
    with pytest.raises(InvalidArgument, match="repair must be True or False; got 'x'"):
        gm.GraphDistance().pairwise([], repair="x")  # type: ignore[arg-type]


def test_options_and_labels_that_are_not_numbers_are_refused() -> None:
    cycles = [gm.Graph(n, [(k, (k + 1) % n) for k in range(n)]) for n in range(3, 13)]
    with pytest.raises(InvalidArgument, match="steps must be a number; got 'x'"):
        gm.GraphDistance("small", max_steps="x").fit(cycles)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"distances must be numbers.*got \['a', 'b'.* of type list"):
        read_distances(["a", "b"] * 5, 10)
    with pytest.raises(InvalidArgument, match="distances must be numbers"):
        read_distances(([(0, 1)], ["far"]), 10)

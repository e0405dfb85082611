"""The models that come with the package: there, whole, sensible, and found by name wherever a model is asked for."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import graphmetric as gm
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.graphs.collection import GraphCollection, certificates
from graphmetric.learned.model_folder import BUNDLED_MODELS, find_model
from graphmetric.training.supervision import LabelBudget, make_supervision
from tests.command_line import run
from tests.strategies import graphs

ROOT = Path(__file__).parents[2]
NAMES = ("MODEL_CARD.md", "config.json", "model.safetensors")
EMBEDDED = {"molecules": "molecules", "unlabelled": "programs"}
"""A data set of graphs such as each model is for."""
ATOMS = st.sampled_from(["C", "C", "N", "O", "Cl", "N+", "Xx"])
BONDS = st.sampled_from(["1", "2", "aromatic", "double"])


@pytest.fixture(scope="module", params=BUNDLED_MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(name: str) -> gm.GraphDistance:
    return gm.GraphDistance.load(name).set_params(n_jobs=1)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program that trained the models."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("make_models")


def some_graphs(name: str, bonds: bool) -> GraphCollection:
    """Graphs such as the model is for: embedded ones, or the directed control flow of some functions."""
    if name == "programs":
        sys.path.append(str(ROOT / "tools"))
        make_programs = importlib.import_module("make_programs")
        sources = make_programs.library_sources()
        chosen = {module: sources[module] for module in ("argparse", "json.decoder", "textwrap", "zipfile")}
        return GraphCollection(make_programs.directed_graphs(chosen, 6, 10)).without(["node_labels"])[:50:10]
    return gm.load_dataset(EMBEDDED[name], edge_labels=bonds if name == "molecules" else None).graphs[100:600:100]


def fresh_graphs(name: str, bonds: bool = False) -> GraphCollection:
    """Graphs a few edits away from each other and from graphs such as the model is for."""
    vocabulary = "CNOS" if name == "molecules" else None
    made = (
        gm.mutate(graph, edits, random_state=1000 * k + edits, connected=True, node_labels=vocabulary, max_nodes=12)
        for k, graph in enumerate(some_graphs(name, bonds))
        for edits in range(1, 9)
    )
    return GraphCollection(mutation.graph for mutation in made)


class TestWhatIsThere:
    def test_files_are_part_of_the_package_and_small(self, name: str) -> None:
        found = {entry.name: entry for entry in (files("graphmetric.learned") / "shipped_models" / name).iterdir()}
        assert sorted(found) == sorted(NAMES)
        assert all(len(entry.read_bytes()) < 1_000_000 for entry in found.values())

    def test_the_build_is_told_of_every_file(self, name: str) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        patterns = project["tool"]["setuptools"]["package-data"]["graphmetric"]
        packed = {path for pattern in patterns for path in (ROOT / "src" / "graphmetric").glob(pattern)}
        assert packed >= {find_model(name) / file for file in NAMES}

    def test_no_other_model_is_there(self) -> None:
        folder = files("graphmetric.learned") / "shipped_models"
        folders = {entry.name for entry in folder.iterdir() if entry.is_dir()}
        assert folders - {"__pycache__"} == set(BUNDLED_MODELS)

    def test_the_card_tells_data_command_and_figures(self, name: str, model: gm.GraphDistance) -> None:
        card = (find_model(name) / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert f"| Command | python tools/make_models.py {name} |" in card
        assert "isomorphic to one of AIDS700nef, LINUX, TU_MUTAG" in card
        assert "| Mean rank correlation |" in card
        assert model.report_["graphs"]["source"] in card
        assert model.report_["validation"]["mean_rank_correlation"] > 0.9
        assert "## On held-out graphs" in card
        assert "| Measured by | research/benchmarks/transfer.py |" in card
        assert card.count("of the ten nearest found, mean error") >= 1
        assert model.report_["labels"]["mutated_graphs_in_training_pairs"] > 50


class TestWhatTheySay:
    @pytest.mark.slow
    @settings(max_examples=25)
    @given(data=st.data())
    def test_metric_on_any_graphs(self, name: str, model: gm.GraphDistance, data: st.DataObject) -> None:
        labels, bonds = (ATOMS, BONDS) if name == "molecules" else (None, None)
        plain = graphs(
            max_nodes=9, node_labels=labels, edge_labels=bonds, edge_weights=False, node_features=False,
            node_texts=None, node_images=False, direction=False, loops=False, ids=None, metadata=None,
            always=True,
        )  # fmt: skip
        drawn = data.draw(st.lists(plain, min_size=3, max_size=4))
        several = [graph.replace(directed=name == "programs") for graph in drawn]
        order = data.draw(st.permutations(range(several[0].num_nodes)))
        found = model.pairwise([*several, several[0].relabeled(order)])
        assert (found == found.T).all()
        assert found[0, -1] == 0
        assert (np.diag(found) == 0).all()
        assert (found <= (found[:, :, None] + found).min(axis=1) + 1e-4).all()

    @pytest.mark.parametrize("bonds", [False, True])
    def test_they_follow_the_edit_distance(self, name: str, model: gm.GraphDistance, bonds: bool) -> None:
        if bonds and name != "molecules":
            return
        fresh = fresh_graphs(name, bonds)
        true = gm.pairwise_edit_distances(fresh, n_jobs=1)
        assert true.exact.all()
        above = np.triu_indices(len(fresh), k=1)
        said, known = model.pairwise(fresh)[above], np.asarray(true.upper)[above]
        sizes = fresh.sizes + fresh.edge_counts
        floor = spearmanr(np.abs(sizes[above[0]] - sizes[above[1]]), known).statistic
        assert spearmanr(said, known).statistic > max(0.9, floor)
        assert np.abs(said - known).mean() < 1.0

    def test_bond_types_and_charges_count(self) -> None:
        model = gm.GraphDistance.load("molecules")
        ethanol, acid, anion = (
            gm.Graph.from_smiles(text, distinguish="charge") for text in ("CC(O)O", "CC(=O)O", "CC(=O)[O-]")
        )
        assert model.distance(ethanol, acid) == pytest.approx(1, abs=0.8)
        assert model.distance(acid, anion) == pytest.approx(1, abs=0.7)
        bare = [graph.replace(edge_labels=None) for graph in (ethanol, acid)]
        assert model.distance(*bare) == 0

    def test_directions_count(self) -> None:
        model = gm.GraphDistance.load("programs")
        chain = gm.Graph(4, [(0, 1), (1, 2), (2, 3)], directed=True)
        turned = gm.Graph(4, [(0, 1), (2, 1), (2, 3)], directed=True)
        assert model.distance(chain, turned) > 0.5
        with pytest.raises(InvalidArgument, match="trained on directed graphs"):
            model.distance(chain, gm.Graph(2, [(0, 1)]))


class TestByName:
    def test_a_folder_that_exists_comes_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert gm.GraphDistance.load("molecules").featurizer_.schema.num_tags > 1
        gm.GraphDistance.load("unlabelled").save("molecules")
        assert gm.GraphDistance.load("molecules").featurizer_.schema.num_tags == 0

    def test_an_unknown_name_is_told_the_known_ones(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(
            FileError, match=r"molecule: is not a folder of a model, nor .*: molecules, programs, unlabelled"
        ):
            gm.GraphDistance.load("molecule")

    def test_every_command_takes_the_name(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        gm.write_graphs(gm.load_dataset("programs").graphs[:400:20], "graphs.jsonl")
        code, text, errors = run(capsys, "distance", "molecules", "molecules:3", "molecules:8")
        assert (code, errors) == (0, "")
        shown = gm.load_dataset("molecules").graphs[[3, 8]]
        assert float(text) == pytest.approx(gm.GraphDistance.load("molecules").distance(*shown), rel=1e-5)
        for line in (
            "embed unlabelled graphs.jsonl --out vectors.npy --jobs 1",
            "index unlabelled graphs.jsonl --out idx --jobs 1",
            "search idx graphs.jsonl:3 -k 2",
            "evaluate unlabelled graphs.jsonl --queries 3 --jobs 1",
        ):
            code, text, errors = run(capsys, *line.split())
            assert code == 0, errors
            assert text
        code, _, errors = run(capsys, "embed", "nothing", "graphs.jsonl", "--out", "x.npy")
        assert code == 1
        assert "molecules, programs, unlabelled" in errors


class TestHowTheyAreMade:
    def test_mutations_that_are_in_a_benchmark_are_dropped(
        self, tool: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        atlas = gm.load_dataset("atlas").graphs[:120]
        forbidden = set(certificates(atlas[1::2]))
        monkeypatch.setattr(tool, "read_left_out", lambda: frozenset(forbidden))
        kept = tool.take_new(atlas)
        assert certificates(kept) == certificates(atlas[::2])
        made = make_supervision(kept[:30], kept[30:], LabelBudget(1500, n_jobs=1), 3, 0)
        assert forbidden & set(certificates(made.graphs))
        found = tool.drop_known(made)
        assert not forbidden & set(certificates(found.graphs))
        assert 0 < len(found.training) < len(made.training)
        assert len(found.validation) == len(made.validation)  # with training graphs, which no benchmark has
        for labels in (found.training, found.validation):
            true = gm.pairwise_edit_distances(found.graphs, pairs=labels.pairs, n_jobs=1)
            assert (true.upper == labels.upper).all()

    def test_training_graphs_are_in_no_benchmark(self, tool: ModuleType) -> None:
        listed = json.loads(tool.LEFT_OUT.read_text())
        assert {name: len(texts) for name, texts in listed.items()} == {
            "AIDS700nef": 667, "LINUX": 89, "TU_MUTAG": len(listed["TU_MUTAG"]), "programs at size": 312,
        }  # fmt: skip
        for _, part in tool.unlabelled():
            assert not set(certificates(tool.take_new(part))) & tool.read_left_out()

    def test_bond_types_and_charges_do_not_hide_a_benchmark_graph(self, tool: ModuleType) -> None:
        plain, dressed = gm.Graph.from_smiles("CC(=O)O"), gm.Graph.from_smiles("CC(=O)[O-]", distinguish="charge")
        assert plain.certificate() != dressed.certificate()
        assert len(set(tool.plain_names(GraphCollection([plain, dressed, plain.replace(edge_labels=None)])))) == 1

    def test_the_list_is_that_of_the_benchmarks(self, tool: ModuleType, shared_data: Path) -> None:
        listed = json.loads(tool.LEFT_OUT.read_text())
        for name in tool.BENCHMARKS:
            assert sorted(set(certificates(tool.read_benchmark(name, str(shared_data))))) == listed[name]


def test_graphs_that_no_model_tells_apart_are_at_zero_unless_strict() -> None:
    """The rook's graph of a 4 by 4 board and the Shrikhande graph, as docs/concepts.md says."""
    rook = _on_torus([(0, 1), (0, 2), (1, 0), (2, 0)])
    shrikhande = _on_torus([(0, 1), (1, 0), (1, 1)])
    assert rook.num_edges == shrikhande.num_edges == 48
    assert not rook.is_isomorphic(shrikhande)
    model = gm.GraphDistance.load("unlabelled")
    assert model.distance(rook, shrikhande) == pytest.approx(0, abs=1e-4)
    assert model.set_params(strict=True).distance(rook, shrikhande) > 0


def _on_torus(steps: list[tuple[int, int]]) -> gm.Graph:
    """16 nodes in four rows and columns, each joined to those that are one of the steps away."""
    cells = [(row, column) for row in range(4) for column in range(4)]
    ends = [((row + down) % 4, (column + right) % 4) for row, column in cells for down, right in steps]
    starts = [cell for cell in cells for _ in steps]
    edges = {tuple(sorted((cells.index(a), cells.index(b)))) for a, b in zip(starts, ends, strict=True)}
    return gm.Graph(16, sorted(edges))

"""Fitting a learned distance between graphs, and its scikit-learn interface."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from inspect import signature
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import FileError, InvalidArgument, needs_extra

with needs_extra("learn", "learning distances"):
    import torch as _torch  # noqa: F401
    from sklearn.base import BaseEstimator, TransformerMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted

from graphmetric import training
from graphmetric._foundation.limits import effective_n_jobs
from graphmetric._foundation.options import checked_count, from_plain, spell_options, to_plain
from graphmetric._foundation.progress import announce, verbose_progress
from graphmetric._foundation.threads import as_device
from graphmetric.distance import View
from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.evaluation import mean_rank_correlation
from graphmetric.features import GraphFeaturizer
from graphmetric.formats.conversion import as_graph, as_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.graphs.summary import nearly_unique_attributes
from graphmetric.learned.learned_distance import LearnedDistance, Metric
from graphmetric.learned.model_card import describe_fit
from graphmetric.learned.model_folder import CONFIG, find_model
from graphmetric.metric_repair import repair_matrix
from graphmetric.model import GraphDistanceNetwork, HeadOptions, ModelOptions
from graphmetric.training import PretrainingOptions, TrainingOptions
from graphmetric.training.fit import Beside
from graphmetric.training.supervision import (
    LabelBudget,
    Teacher,
    compute_beside,
    hold_out,
    label_some_pairs,
    make_supervision,
    read_distances,
    read_supervision,
)

logger = logging.getLogger(__name__)


class _GraphTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer whose samples are graphs, not rows of numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the parameters that differ from their defaults, and within options the fields that do."""
        usual = {name: given.default for name, given in signature(type(self)).parameters.items()}
        spelled = {name: spell_options(given) for name, given in self.get_params(deep=False).items()}
        changed = [f"{name}={text}" for name, text in spelled.items() if text != repr(usual[name])]
        text = f"{type(self).__name__}({', '.join(changed)})"
        text = text if len(text) <= N_CHAR_MAX else f"{text[: N_CHAR_MAX - 4]}...)"
        return fill(text, 120, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


class GraphDistance(_GraphTransformer):
    """A learned distance between graphs.

    With the presets "small" and "base" it is a pseudo-metric by construction: symmetric, zero on isomorphic graphs, and
    the triangle inequality holds, for all graphs and all weights, up to the rounding of single precision.
    ``strict=True`` makes either of them a metric on isomorphism classes. Graphs may be
    anything that :func:`graphmetric.as_graphs` accepts; they are not changed. A model that was trained on undirected
    graphs rejects directed ones, and vice versa.

    Args:
        preset: "paper", "small" (a minute or two), "base" (about ten minutes), or a pair of
            :class:`~graphmetric.model.ModelOptions` and :class:`~graphmetric.training.TrainingOptions`.
        head: Another distance on the same encoder: "matching", "block-norm", "concave", "squared-fc",
            or :class:`~graphmetric.model.HeadOptions`; None: the preset's.
        strict: Give graphs that are not isomorphic a distance above 0, even if the encoder cannot distinguish them.
        pretrain: Whether the encoder learns to recover attributes and structure first; None: as in the preset.
        label_budget: Budget of ``fit`` for edit distances if it is given none. A number of pairs; a CPU time such
            as "90s", "10min" or "2h", which makes the model depend on the speed of the machine; or "auto": a million
            pairs, fewer if the graphs are so large that they would take more than about five minutes. A pair takes 50
            microseconds at 10 nodes, a millisecond at 25 and a few hundredths of a second at 100.
        costs: The edit costs to learn, :class:`~graphmetric.EditCosts` that are equal in both directions; None: 1
            for each edit. Labels are computed with them, ``score`` and evaluations compare with them, and an index
            certifies by them. The model ignores attributes that they ignore. With ``distances`` of your own,
            they describe these.
        mutation_edits: Labeled pairs consist of training graphs and of mutations of them, each made by one up to this
            many random edits; 0: of training graphs alone.
        time_limit: Seconds after which the search for one label stops and gives bounds instead. None: after a number of
            search steps, which makes the labels, and the model, reproducible.
        max_steps: Number of training steps, instead of the preset's.
        epochs: Number of passes over the graphs, instead of the preset's.
        validation_fraction: Fraction of the graphs that ``fit`` holds out for validation if ``val`` is None.
        n_jobs: Threads; -1: one per core. They are graphmetric's own, over graphs and blocks of pairs, and torch
            computes on one thread in each of them; ``torch.set_num_threads`` is neither needed nor changed.
        device: "cpu", "cuda", "mps".
        random_state: Seed of everything random. The same seed gives the same weights, for any ``n_jobs``.
        checkpoint: Folder for unfinished work: labels are saved there every second, training every half minute. A
            stopped fit resumes bit for bit if it is called again with the same graphs and parameters.
        warm_start: ``fit`` continues from the present weights, loaded or fitted. It keeps the features, so
            unknown labels are still all treated as one label.
        tensorboard: Folder for the curves of training in the format of TensorBoard; needs the extra of that name.
        verbose: None: work of more than two seconds shows its progress, as a bar on a terminal or in a notebook, else
            as a line every half minute in the log or, if no logging is set up, on standard error. True: a line every
            few seconds, and one for each validation. False: nothing.

    Attributes:
        learned_: The trained distance, a :class:`~graphmetric.learned.learned_distance.LearnedDistance`.
        model_: Its network, a :class:`~graphmetric.model.GraphDistanceNetwork`.
        featurizer_: Converts graphs to its inputs.
        graphs_: The training graphs; None in a model that was loaded.
        held_out_: Positions of the graphs of ``fit`` that were held out for validation; None in a model that was
            loaded.
        report_: Training data, training summary and validation results, as plain data.

    Example:
        >>> from graphmetric import load_dataset
        >>> molecules = load_dataset("molecules").graphs[:40]
        >>> model = GraphDistance("small", max_steps=20, label_budget=200).fit(molecules)
        >>> model.pairwise(molecules).shape
        (40, 40)
        >>> model.distance(molecules[0], molecules[0])
        0.0
    """

    model_: GraphDistanceNetwork
    featurizer_: GraphFeaturizer
    graphs_: GraphCollection | None
    held_out_: NDArray[np.int64] | None
    report_: dict[str, Any]

    def __init__(
        self,
        preset: str | tuple[ModelOptions, TrainingOptions] = "base",
        *,
        head: str | HeadOptions | None = None,
        strict: bool = False,
        pretrain: bool | None = None,
        label_budget: int | str = "auto",
        costs: EditCosts | None = None,
        mutation_edits: int = 5,
        time_limit: float | None = None,
        max_steps: int | None = None,
        epochs: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = -1,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        warm_start: bool = False,
        tensorboard: str | os.PathLike[str] | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.preset = preset
        self.head = head
        self.strict = strict
        self.pretrain = pretrain
        self.label_budget = label_budget
        self.costs = costs
        self.mutation_edits = mutation_edits
        self.time_limit = time_limit
        self.max_steps = max_steps
        self.epochs = epochs
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.tensorboard = tensorboard
        self.verbose = verbose

    def fit(
        self, graphs: Any, distances: Any = None, val: ArrayLike | None = None, *, beside: float | None = None
    ) -> GraphDistance:
        """Learn the distance.

        Args:
            graphs: Training and validation graphs.
            distances: Their known distances: a square matrix with NaN where unknown, the labels of
                :func:`graphmetric.read_labels`, or a tuple of pairs (n, 2) and values. None: edit distances are
                computed within the ``label_budget``, of the training graphs and mutations of them. A fitted model: it
                is the teacher, whose distances of many more such pairs are learned; edit distances select the weights.
            val: Positions of the validation graphs, for checkpoint selection and early stopping: pairs with them are
                never trained on. None: a fraction of the graphs, sampled among those with a known distance; see
                ``held_out_``.
            beside: Learn computed edit distances beside the given ``distances``, with this fraction of the weight,
                such as 0.5. They are those of ``fit`` without distances, within the ``label_budget``, and help if few
                distances are given. None: the given distances alone.

        Graphs without any known distance take part in pre-training, and in the term of unlabeled pairs of the paper's
        loss (``TrainingOptions.alpha``).
        """
        model_options, training_options = self._options()
        curves = None if self.tensorboard is None else training.TensorBoardLog(self.tensorboard)
        collection = as_graphs(graphs)
        if len(collection) == 0:
            raise InvalidArgument("fit needs graphs; got an empty collection")
        _refuse_classes(distances, len(collection))
        seed, costs = _seed_of(self.random_state), self._costs
        if isinstance(distances, PairBounds):
            distances.check_costs(costs)
        teacher = _teacher_of(distances, costs)
        labels = None if distances is None or teacher is not None else read_distances(distances, len(collection))
        _check_beside(beside, labels)
        held_out = hold_out(len(collection), val, self.validation_fraction, seed, labels)
        seen = collection.without(costs.ignore)
        trains = np.setdiff1d(np.arange(len(collection)), held_out)
        training_graphs = seen[trains]
        keeps = training_options.uses_unlabeled_graphs
        self._note_held_out(held_out, len(collection), labels)
        if labels is None or beside is not None:
            for sentence in nearly_unique_attributes(collection, costs.not_compared):
                warnings.warn(sentence, stacklevel=2)
        with verbose_progress(self.verbose):
            budget = self._budget(self._work_folder("labels"))
            if labels is None:
                supervision = make_supervision(
                    training_graphs,
                    seen[held_out],
                    budget,
                    self.mutation_edits,
                    seed,
                    teacher=teacher,
                    keep_unlabeled=keeps,
                )
            else:
                computed = None
                if beside is not None:
                    computed = compute_beside(seen, trains, budget, self.mutation_edits, seed)
                supervision = read_supervision(seen, labels, held_out, keep_unlabeled=keeps, computed=computed)
            featurizer, model = self._start(training_graphs, model_options, seed)
            result = training.train_model(
                model,
                featurizer.transform(supervision.graphs),
                supervision.training,
                training_options,
                validation=supervision.validation,
                unlabeled=supervision.unlabeled,
                beside=None if beside is None or supervision.beside is None else Beside(supervision.beside, beside),
                seed=seed,
                device=self.device,
                threads=effective_n_jobs(self.n_jobs),
                folder=self._work_folder("training"),
                report=lambda record: self._log(record, curves),
            )
            if curves is not None:
                curves.close()
            self.model_, self.featurizer_ = model, featurizer
            self.graphs_, self.held_out_, self.report_ = collection, held_out, {}
            predicted = self.learned_.measure_pairs(supervision.graphs, supervision.validation.pairs)
        self.report_ = describe_fit(training_graphs, supervision, result, predicted)
        self._try_declarations()
        return self

    def _try_declarations(self) -> None:
        """Warn where random graphs refute what the head declares; a save and an index raise for the same reason."""
        try:
            self.learned_.trusted_head  # noqa: B018
        except InvalidArgument as error:
            warnings.warn(f"the model cannot be saved or indexed: {error}", stacklevel=3)

    @property
    def learned_(self) -> LearnedDistance:
        """The trained distance, with the present ``strict``, ``costs`` and ``n_jobs``."""
        check_is_fitted(self, "model_")
        return LearnedDistance(
            self.model_,
            self.featurizer_,
            strict=self.strict,
            threads=effective_n_jobs(self.n_jobs),
            costs=self._costs,
            parameters=self._plain_parameters(),
            report=self.report_,
        )

    def distance(self, first: Any, second: Any, view: View = "raw") -> float:
        """Compute the distance of two graphs; exactly equal in both directions.

        ``view`` is its scale: "raw", in edits; "steinhaus", in [0, 1] and still a metric; "paper",
        1 - exp(-2d / (n1 + n2)), which is not.
        """
        return self.learned_.distance(as_graph(first), as_graph(second), view)

    def pairwise(
        self,
        a: Any,
        b: Any = None,
        view: View = "raw",
        out: str | os.PathLike[str] | None = None,
        repair: bool = False,
        known: ArrayLike | None = None,
    ) -> NDArray[np.float32] | NDArray[np.float64]:
        """Compute the distances of all graphs of ``a`` to all of ``b``, or among themselves.

        ``out`` writes them to a ``.npy`` file, which may be larger than memory and is returned memory-mapped; a stopped
        job resumes.

        ``repair`` gives the nearest matrix, in L2 and double precision, that keeps the triangle inequality, for a head
        or view that does not keep it by itself. ``known`` are true distances among ``a`` on the scale of ``view``, a
        square matrix with NaN where unknown: they are kept. State this wherever you compare numbers,
        since it uses the truth. See :func:`graphmetric.metric_repair.repair_matrix`.
        """
        if not isinstance(repair, bool):
            raise InvalidArgument(f"repair must be True or False; got {repair!r}")
        if known is not None and not repair:
            raise InvalidArgument("known distances are for repair=True, which fits the others to them")
        if repair and (b is not None or out is not None):
            raise InvalidArgument(
                "repair=True takes the distances among the graphs of a in memory: give neither b nor out"
            )
        found = self.learned_.pairwise(as_graphs(a), None if b is None else as_graphs(b), view, out)
        return repair_matrix(found, known, n_jobs=self.n_jobs).matrix if repair else found

    def embed(self, graphs: Any, *, executor: Any = None) -> NDArray[np.float32]:
        """Compute one vector per graph, (graphs, d): the paper's fusion of the states of its nodes.

        Args:
            graphs: Anything :func:`graphmetric.as_graphs` accepts.
            executor: A :class:`concurrent.futures.Executor` or a dask ``Client`` whose workers encode the graphs.
        """
        return self.learned_.embed(as_graphs(graphs), executor)

    def transform(self, graphs: Any) -> NDArray[np.float32]:
        """Alias of :meth:`embed`."""
        return self.embed(graphs)

    def fit_transform(self, graphs: Any, y: Any = None, **options: Any) -> NDArray[np.float32]:
        """Fit and embed. A one-dimensional ``y``, which a pipeline means for its last step, is ignored."""
        distances = None if isinstance(y, list | np.ndarray) and np.ndim(y) == 1 else y
        return self.fit(graphs, distances, **options).embed(graphs)

    def kneighbors(
        self, queries: Any, graphs: Any = None, k: int = 5, view: View = "raw"
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return distances and positions of the ``k`` nearest of ``graphs`` (default: those of ``fit``) for each query.

        Both are (queries, k), nearest first, ties by position. A query that is among the graphs finds itself.
        """
        learned = self.learned_
        among = self.graphs_ if graphs is None else as_graphs(graphs)
        if among is None:
            raise InvalidArgument("a loaded model does not hold its training graphs: pass the graphs to search in")
        return learned.kneighbors(as_graphs(queries), among, k, view)

    def score(self, graphs: Any, distances: Any = None) -> float:
        """Compute the mean over graphs of the rank correlation (Spearman) of known and predicted distances to others.

        ``distances`` as for :meth:`fit`; None: edit distances are computed, of at most 50,000 pairs, fewer if the
        ``label_budget`` is less. Pairs with bounds only are ignored. NaN if no graph has two others at
        different known distances.
        """
        learned, collection = self.learned_, as_graphs(graphs)
        if isinstance(distances, PairBounds):
            distances.check_costs(self._costs)
        if distances is None:
            known = label_some_pairs(collection, self._budget(None), _seed_of(self.random_state))
        else:
            known = read_distances(distances, len(collection))
        known = known.take(np.flatnonzero(known.lower == known.upper))
        return mean_rank_correlation(known.pairs, learned.measure_pairs(collection, known.pairs), known.lower)

    def get_metric(self, graphs: Any = None, view: View = "raw") -> Metric:
        """Return the distance as a function of two graphs; with ``graphs``, of two positions among them.

        scikit-learn requires the latter as ``metric`` if samples must be numbers::

            DBSCAN(metric=model.get_metric(graphs), algorithm="brute").fit(np.arange(len(graphs)).reshape(-1, 1))
        """
        if graphs is not None:
            return self.learned_.metric_of_positions(as_graphs(graphs), view)
        check_is_fitted(self, "model_")
        return lambda first, second: self.distance(first, second, view)

    def align(self, first: Any, second: Any) -> EditDistance:
        """Match the nodes of two graphs by the matching head: a node map and its edits, which bound the distance.

        The ``value`` of the result is the learned distance, its ``upper`` the cost of the edits at unit costs.
        """
        return self.learned_.align(as_graph(first), as_graph(second))

    def to(self, device: str) -> GraphDistance:
        """Move the network to a device, such as "cuda", and return the model."""
        place = as_device(device)
        check_is_fitted(self, "model_")
        self.model_.to(place)
        return self.set_params(device=device)  # type: ignore[no-any-return]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model into a folder: weights, configuration, model card. An existing model is replaced."""
        self.learned_.save(folder)

    @classmethod
    def load(cls, model: str | os.PathLike[str], device: str = "cpu") -> GraphDistance:
        """Load the model that :meth:`save` wrote into a folder, or a bundled model, by its name.

        The names are "molecules", for graphs of atoms and bonds, "programs", for directed control-flow graphs, and
        "unlabelled". An existing folder takes precedence over a name. ``device`` is where graphs are encoded and, if
        the head does not match nodes, compared: "cpu", "cuda", "mps". Raises :class:`~graphmetric.errors.FileError` if
        anything is wrong with the files.

        Example:
            >>> from graphmetric import Graph
            >>> chain, ring = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
            >>> round(GraphDistance.load("unlabelled").distance(chain, ring))
            1
        """
        learned = LearnedDistance.load(model, device=device)
        try:
            estimator = cls(**_read_parameters(learned.parameters)).set_params(device=device)
            described, options = estimator._options()
        except (TypeError, ValueError) as error:
            raise FileError(f"has parameters that this version does not know: {error}", find_model(model)) from None
        if described != learned.network.options:  # the preset of this name was another one when it was trained
            estimator.set_params(preset=(learned.network.options, options), head=None)
        estimator.model_, estimator.featurizer_ = learned.network, learned.featurizer
        estimator.graphs_, estimator.held_out_, estimator.report_ = None, None, learned.report
        return estimator  # type: ignore[no-any-return]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _options(self) -> tuple[ModelOptions, TrainingOptions]:
        """Apply the other parameters to the preset."""
        model, options = training.preset(self.preset) if isinstance(self.preset, str) else self.preset
        if self.head is not None:
            head = HeadOptions(self.head) if isinstance(self.head, str) else self.head
            model = replace(model, head=head)
        if self.max_steps is not None or self.epochs is not None:
            options = replace(options, steps=self.max_steps, epochs=self.epochs)
        if self.pretrain is not None:
            pretraining = (options.pretraining or PretrainingOptions()) if self.pretrain else None
            options = replace(options, pretraining=pretraining)
        return model, options

    def _start(
        self, graphs: GraphCollection, options: ModelOptions, seed: int
    ) -> tuple[GraphFeaturizer, GraphDistanceNetwork]:
        """Return features and a network: new ones, or the present ones, the network as a copy in case the fit fails."""
        if not (self.warm_start and hasattr(self, "model_")):
            featurizer = GraphFeaturizer(options.features).fit(graphs)
            return featurizer, GraphDistanceNetwork.build(featurizer.schema, options, seed)
        if options != self.model_.options:
            raise InvalidArgument(
                "warm_start continues with the model that is there, and preset and head describe another one; "
                "give preset=(model.model_.options, TrainingOptions(...)) and head=None, or warm_start=False"
            )
        return self.featurizer_, deepcopy(self.model_)

    def _budget(self, store: Path | None) -> LabelBudget:
        return LabelBudget(self.label_budget, self.time_limit, self.n_jobs, store, self._costs)

    def _work_folder(self, name: str) -> Path | None:
        return None if self.checkpoint is None else Path(self.checkpoint) / name

    def _note_held_out(self, held_out: NDArray[np.int64], count: int, labels: PairBounds | None) -> None:
        """Log the number of validation graphs, and from which they were sampled."""
        among = f"{count:,} graphs" if labels is None else f"{len(labels.graphs):,} graphs with a known distance"
        line = f"{len(held_out):,} of {among} are held out for validation"
        if self.verbose:
            announce(line)
        else:
            logger.info("%s", line)

    def _log(self, record: Mapping[str, Any], curves: training.TensorBoardLog | None) -> None:
        if curves is not None:
            curves.write(record)
        line = ", ".join(f"{key} {value:.4g}" for key, value in record.items() if value is not None)
        if self.verbose:
            announce(line)
        else:
            logger.debug("%s", line)

    @property
    def _costs(self) -> EditCosts:
        """The costs, checked: a learned distance is symmetric and finite."""
        costs = EditCosts() if self.costs is None else self.costs
        if not isinstance(costs, EditCosts):
            raise InvalidArgument(f"costs must be graphmetric.EditCosts, or None for unit costs; got {costs!r}")
        if not costs.is_symmetric or not costs.is_finite:
            raise InvalidArgument(
                "a learned distance is symmetric and finite, so deleting must cost what inserting costs, and no edit "
                f"may be forbidden; got {costs!r}"
            )
        return costs

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters for JSON, without those of this machine and run and without random generators."""
        of_this_run = dict.fromkeys(("checkpoint", "tensorboard", "verbose"))
        parameters: dict[str, Any] = self.get_params(deep=False) | of_this_run
        if not isinstance(self.preset, str):
            parameters["preset"] = [to_plain(part) for part in self.preset]
        if not isinstance(self.head, str | None):
            parameters["head"] = to_plain(self.head)
        if self.costs is not None:
            parameters["costs"] = self.costs.to_dict()
        if not isinstance(self.random_state, int | None):
            parameters["random_state"] = None
        return parameters


class DistanceTransformer(_GraphTransformer):
    """Distances to the graphs of ``fit``, for pipelines that end in a step with ``metric="precomputed"``.

    ``fit_transform`` returns the square matrix among the training graphs, ``transform`` a row for each new graph with
    its distances to them, as nearest neighbors, DBSCAN or a support vector machine need in cross-validation.

    Args:
        distance: A :class:`GraphDistance`, of which a copy is fitted on the graphs of each ``fit``, so in
            cross-validation once for each fold; or a trained model that is not fitted again: its folder, or the name
            of a bundled one. A fitted :class:`GraphDistance` is not fitted again in scikit-learn's
            ``FrozenEstimator``. None: ``GraphDistance()``.
        view: The scale of the distances.

    Attributes:
        distance_: The fitted distance.
        graphs_: The graphs of ``fit``.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from sklearn.pipeline import make_pipeline
        >>> from graphmetric import load_dataset
        >>> graphs = load_dataset("molecules").graphs[:40]
        >>> has_ring = [graph.num_edges >= graph.num_nodes for graph in graphs]
        >>> nearest = make_pipeline(DistanceTransformer("molecules"), KNeighborsClassifier(3, metric="precomputed"))
        >>> len(nearest.fit(graphs[:30], has_ring[:30]).predict(graphs[30:]))
        10
    """

    distance_: GraphDistance
    graphs_: GraphCollection

    def __init__(self, distance: GraphDistance | str | os.PathLike[str] | None = None, *, view: View = "raw") -> None:
        self.distance = distance
        self.view = view

    def fit(self, graphs: Any, y: Any = None) -> DistanceTransformer:
        """Keep the graphs and, unless it is ready, fit the distance on them; ``y`` is ignored."""
        self.graphs_ = as_graphs(graphs)
        if isinstance(self.distance, str | os.PathLike):
            self.distance_ = GraphDistance.load(self.distance)
            return self
        self.distance_ = clone(GraphDistance() if self.distance is None else self.distance)
        try:
            check_is_fitted(self.distance_)
        except NotFittedError:
            self.distance_.fit(self.graphs_)
        return self

    def transform(self, graphs: Any) -> NDArray[np.float32] | NDArray[np.float64]:
        """Compute the distances of these graphs (rows) to the graphs of ``fit`` (columns)."""
        check_is_fitted(self, "distance_")
        return self.distance_.pairwise(graphs, self.graphs_, view=self.view)

    def fit_transform(self, graphs: Any, y: Any = None) -> NDArray[np.float32] | NDArray[np.float64]:
        """Compute the distances among the graphs, each once."""
        self.fit(graphs, y)
        return self.distance_.pairwise(self.graphs_, view=self.view)


def fit_once(model: GraphDistance, folder: Path, *data: Any) -> tuple[GraphDistance, bool]:
    """Load the model of a folder or, if there is none, fit this one to the data and save it; True if it is new."""
    if (folder / CONFIG).exists():
        return GraphDistance.load(folder).set_params(n_jobs=model.n_jobs), False
    model.fit(*data).save(folder)
    return model, True


def _read_parameters(plain: dict[str, Any]) -> dict[str, Any]:
    parameters = plain | {"verbose": None}  # models of version 1 recorded False, which now hides all progress
    if isinstance(plain.get("preset"), list):
        model, options = plain["preset"]
        parameters["preset"] = from_plain(ModelOptions, model), from_plain(TrainingOptions, options)
    if isinstance(plain.get("head"), dict):
        parameters["head"] = from_plain(HeadOptions, plain["head"])
    if plain.get("costs") is not None:
        parameters["costs"] = EditCosts.from_dict(plain["costs"])
    return parameters


def _seed_of(random_state: int | np.random.RandomState | None) -> int:
    if isinstance(random_state, np.random.RandomState) or random_state is None:
        return int(check_random_state(random_state).randint(2**31 - 1))
    return checked_count(random_state, "random_state", least=0)


def _check_beside(beside: float | None, labels: PairBounds | None) -> None:
    """Raise unless ``beside`` is None, or a fraction that comes with distances."""
    if beside is None:
        return
    if labels is None:
        raise InvalidArgument("beside is the weight of computed edit distances beside given ones: give distances too")
    if isinstance(beside, bool) or not isinstance(beside, int | float) or not 0 < beside < 1:
        raise InvalidArgument(f"beside must be a number between 0 and 1, such as 0.5; got {beside!r}")


def _refuse_classes(distances: Any, count: int) -> None:
    """Raise if the distances are one value per graph, such as the classes that scikit-learn calls ``y``."""
    if isinstance(distances, tuple) and len(distances) == 2 and not all(map(np.isscalar, distances)):
        return  # pairs and their values
    try:
        values = np.asarray(distances)
    except ValueError:
        return
    if values.ndim == 1 and (len(values) == count or values.dtype.kind not in "biuf"):
        shown = ", ".join(repr(value) for value in values[:3].tolist())
        raise InvalidArgument(
            f"fit learns from distances between graphs, not from classes; got {len(values)} values ({shown}, ...). "
            "Leave them out to learn the edit distance, and give them to a classifier on the distances: "
            "make_pipeline(DistanceTransformer(), KNeighborsClassifier(metric='precomputed')).fit(graphs, y)"
        )


def _teacher_of(distances: Any, costs: EditCosts) -> Teacher | None:
    """Return the distances of a fitted model as a function, if they are the ones to learn."""
    if isinstance(distances, GraphDistance):
        distances = distances.learned_
    if not isinstance(distances, LearnedDistance):
        return None
    if distances.costs != costs:
        raise InvalidArgument(f"the teacher measures edits at {distances.costs}; give this model the same costs")
    return distances.pairwise

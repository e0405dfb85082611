"""Labels for training: chosen pairs of a collection with bounds of their distances, in a folder.

::

    pairs.npy       (n, 2) positions in the collection, i < j
    labels.npz      lower and upper of each pair; written when all are computed
    labels.json     graphs (count and fingerprint), choice of pairs, method, costs
    work/           results of an unfinished job; see store.py
    lock            there while a job works in the folder
"""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric._foundation.limits import checked_jobs
from graphmetric.edit_distance.collection_bounds import CollectionBounds
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.method import EditDistanceMethod, TimeLimit, as_method, renamed_time_limit
from graphmetric.edit_distance.pairwise import pairwise_edit_distances
from graphmetric.edit_distance.store import locked
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.graphs.collection import GraphCollection, fingerprint
from graphmetric.graphs.pair_bounds import PairBounds

Pairs = NDArray[np.int64]


SECONDS = 1.0
"""What a time limit of "auto" means for each pair. A label is worth a second: longer searches rarely end."""
_SHOWN = ("pairs", "random_state", "method", "costs")


def label_graphs(
    graphs: GraphCollection,
    folder: str | Path,
    *,
    pairs: str = "all",
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    n_jobs: int | None = -1,
    time_limit: TimeLimit = "auto",
    random_state: int = 0,
    time_limit_per_pair: TimeLimit = "auto",
) -> PairBounds:
    """Compute the distances of chosen pairs into a folder; called again after a stop, it continues where it was.

    Args:
        graphs: The graphs.
        folder: Where the labels go. Results are saved there about once a second while they are computed.
        pairs: ``"all"``, ``"random:N"`` or ``"near:N"``.
        method: A method object or its name.
        costs: The price list; by default every edit costs one.
        n_jobs: Threads; -1 is one per core.
        time_limit: Seconds for each pair after which its label is a pair of bounds. "auto" is one second for
            ``method="exact"``, while a method object keeps its own limits. None is no limit.
        random_state: Seed of the choice of pairs.
        time_limit_per_pair: Deprecated name of ``time_limit``.
    """
    limit = renamed_time_limit(time_limit, time_limit_per_pair)
    solver, costs = as_method(method, time_limit=limit, auto=SECONDS), costs or EditCosts()
    n_jobs, target = checked_jobs(n_jobs), make_folder(folder)
    description = {
        "graphs": len(graphs),
        "fingerprint": fingerprint(graphs),
        "pairs": pairs,
        "random_state": random_state,
        "method": repr(solver),
        "costs": repr(costs),
    }
    with locked(target):
        _claim(target, description)
        if (target / "labels.npz").exists():
            return read_labels(target, graphs)
        chosen = choose_pairs(graphs, pairs, costs=costs, random_state=random_state)
        with atomic_write(target / "pairs.npy") as file:
            np.save(file, chosen)
        found = pairwise_edit_distances(
            graphs, pairs=chosen, method=solver, costs=costs, n_jobs=n_jobs, store=target / "work"
        )
        with atomic_write(target / "labels.npz") as file:
            np.savez(file, lower=found.lower, upper=found.upper)
        shutil.rmtree(target / "work")
    return PairBounds(chosen, found.lower, found.upper, repr(costs))


def read_labels(folder: str | Path, graphs: GraphCollection | None = None) -> PairBounds:
    """Read what :func:`label_graphs` wrote; with ``graphs``, check that the labels are theirs."""
    target = Path(folder)
    description = _read_description(target)
    if graphs is not None and description.get("fingerprint") != fingerprint(graphs):
        raise InvalidArgument(f"{target} holds labels of {description.get('graphs')} other graphs, not of these")
    costs = description.get("costs")
    try:
        pairs = np.load(target / "pairs.npy", allow_pickle=False)
        with open(target / "labels.npz", "rb") as file, np.load(file, allow_pickle=False) as data:
            return PairBounds(pairs, data["lower"], data["upper"], costs if isinstance(costs, str) else None)
    except FileNotFoundError as error:
        raise FileError("is missing: the labelling has not finished; run it again", error.filename) from None
    except InvalidArgument as error:
        raise FileError(f"pairs.npy and labels.npz do not belong together: {error}", target) from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"cannot be read as labels: {error}", target) from None


def _claim(target: Path, description: dict[str, object]) -> None:
    """Write what the folder is for, or check that it is for the same job."""
    path = target / "labels.json"
    if not path.exists():
        with atomic_write(path) as file:
            file.write(json.dumps(description, indent=2).encode())
        return
    found = _read_description(target)
    if different := [key for key in description if found.get(key) != description[key]]:
        raise InvalidArgument(
            f"{target} holds labels of another job: its {', '.join(different)} differ; choose another folder"
            + "".join(f" (its {key} is {found.get(key)}, not {description[key]})" for key in different if key in _SHOWN)
        )


def _read_description(target: Path) -> dict[str, object]:
    path = target / "labels.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError("is not a folder of labels: it has no labels.json", target) from None
    except (OSError, ValueError) as error:
        raise FileError(f"cannot be read: {error}", path) from None
    if not isinstance(data, dict):
        raise FileError("is not a description of labels", path)
    return data


def choose_pairs(
    graphs: GraphCollection, choice: str, *, costs: EditCosts | None = None, random_state: int | None = 0
) -> Pairs:
    """Pairs (i, j) with i < j, each once, sorted: ``"all"``, ``"random:N"`` or ``"near:N"``.

    Near pairs are pairs of a graph and one of those with the smallest lower bound (label counts and degrees) to it;
    the graphs they start from are drawn at random when there are more graphs than pairs.
    """
    rng = np.random.default_rng(random_state)
    count = len(graphs)
    if choice == "all":
        return np.column_stack(np.triu_indices(count, k=1)).astype(np.int64)
    kind, _, number = choice.partition(":")
    if kind not in ("random", "near") or not number.isdecimal() or int(number) < 1:
        raise InvalidArgument(f"pairs is {choice!r}; it takes 'all', 'random:N' or 'near:N' with a number N")
    wanted = min(int(number), count * (count - 1) // 2)
    if kind == "random":
        return _pairs_of_ranks(np.sort(rng.choice(count * (count - 1) // 2, wanted, replace=False)), count)
    return _near_pairs(CollectionBounds.of(graphs, costs), wanted, rng)


def _pairs_of_ranks(ranks: NDArray[np.int64], count: int) -> Pairs:
    """The pairs at these places of the list (0, 1), (0, 2), ..., (1, 2), ..."""
    ends = np.cumsum(np.arange(count - 1, 0, -1))  # after the pairs of graph 0, 1, ...
    i = np.searchsorted(ends, ranks, side="right")
    j = count - (ends[i] - ranks)
    return np.column_stack([i, j]).astype(np.int64)


def _near_pairs(bounds: CollectionBounds, wanted: int, rng: np.random.Generator) -> Pairs:
    count = bounds.count
    starts = rng.permutation(count)
    found: set[tuple[int, int]] = set()
    neighbours = -(-wanted // min(count, wanted))
    while len(found) < wanted:
        for k in starts.tolist():
            lower = bounds.to_all(k)
            lower[k] = np.inf
            tie_break = rng.random(count)
            for other in np.lexsort((tie_break, lower))[:neighbours].tolist():
                if len(found) < wanted and other != k:
                    found.add((min(k, other), max(k, other)))
            if len(found) == wanted:
                break
        neighbours *= 2  # mutual neighbours were counted twice
    return np.array(sorted(found), dtype=np.int64)

"""How well distances of matched node vectors can follow the edit distance at all, with no encoder in the way.

    python benchmarks/matching_limit.py AIDS700nef [--graphs 300] [--steps 1600] [--forms L2 L1 ...]
    python benchmarks/matching_limit.py AIDS700nef --start molecules

Every node of every graph gets a vector of its own that is free to move, and the vectors are fitted to the edit
distances among these same graphs. Nothing generalises here: the mean squared error that remains, in edits, is what the
form of a distance cannot express, whatever encoder it is put on. All forms are pseudo-metrics. ``4 x 16`` are four
matchings of 16 dimensions each, added or the largest taken; ``pooled`` adds eight block norms of a free vector of
each graph.

Where a fit ends depends on where it begins. ``--start MODEL``, a folder or a model of the package, begins with the node
states of a trained encoder and moves them freely from there, with the matching that the model has.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

import graphmetric as gm

BATCH = 48
RATE = 0.02
RATE_FROM_MODEL = 0.005
WIDTHS = {"L2": 64, "L2, 32": 32, "L1": 64, "Linf": 32, "sum 4 x 16": 64, "max 4 x 16": 64, "pooled": 32}


def match(left: Tensor, right: Tensor, norm: float) -> Tensor:
    """Cost of the best bijection of the padded nodes of each pair."""
    with torch.no_grad():
        costs = torch.cdist(left, right, p=norm).numpy()
    partner = torch.from_numpy(np.stack([linear_sum_assignment(cost)[1] for cost in costs]))
    matched = torch.gather(right, 1, partner[..., None].expand_as(right))
    return torch.linalg.vector_norm(left - matched, ord=norm, dim=-1).sum(1)


def measure(form: str, left: Tensor, right: Tensor) -> Tensor:
    heads = 4 if "4 x" in form else 1
    norm = {"L1": 1.0, "Linf": float("inf")}.get(form, 2.0)
    parts = [match(a, b, norm) for a, b in zip(left.chunk(heads, -1), right.chunk(heads, -1), strict=True)]
    return torch.stack(parts).amax(0) if form.startswith("max") else torch.stack(parts).sum(0)


def encoded(model: str, graphs: gm.GraphCollection) -> Tensor:
    """(graphs, nodes, width): node states of a trained encoder, zero where there is no node."""
    loaded = gm.GraphDistance.load(model)
    found = loaded.model_.encode_graphs(loaded.featurizer_, graphs)
    blocks = [found.rows[start : start + size] for start, size in zip(found.start, found.size, strict=True)]
    return torch.nn.utils.rnn.pad_sequence(blocks, batch_first=True)


def fit(
    form: str, sizes: np.ndarray, distances: np.ndarray, steps: int, seed: int, start: Tensor | None = None
) -> float:
    """Squared error of the last hundred steps."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    count, width, most = len(sizes), WIDTHS[form], int(sizes.max())
    is_node = torch.from_numpy(np.arange(most) < sizes[:, None])[..., None]
    scale = 1.2 / np.sqrt(width) / (4 if form.startswith("sum") else np.sqrt(width) if form == "L1" else 1)
    states = torch.nn.Parameter(scale * torch.randn(count, most, width) if start is None else start)
    pooled = torch.nn.Parameter(0.05 * torch.randn(count, 8, 8))
    optimizer = torch.optim.Adam([states, pooled], lr=RATE if start is None else RATE_FROM_MODEL)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    errors = []
    for _ in range(steps):
        drawn = rng.choice(count, BATCH, replace=False)
        one, other = drawn[np.column_stack(np.triu_indices(BATCH, 1))].T
        nodes = states * is_node
        found = measure(form, nodes[one], nodes[other])
        if form == "pooled":
            found = found + torch.linalg.vector_norm(pooled[one] - pooled[other], dim=-1).sum(-1)
        loss = (found - torch.from_numpy(distances[one, other]).float()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        errors.append(loss.item())
    return float(np.mean(errors[-100:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--forms", nargs="*", default=list(WIDTHS), choices=list(WIDTHS))
    parser.add_argument("--start", metavar="MODEL", help="begin with the states of this model; L2 alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = gm.load_dataset(given.dataset, root=given.data)
    chosen = data.train[: given.graphs]
    distances, sizes = data.distances[np.ix_(chosen, chosen)], data.graphs[chosen].sizes
    start = encoded(given.start, data.graphs[chosen]) if given.start else None
    for form in ["L2"] if given.start else given.forms:
        clock = time.process_time()
        error = fit(form, sizes, distances, given.steps, given.seed, start)
        print(f"{form:12} {error:.3f} edits squared  ({time.process_time() - clock:.0f} s CPU)", flush=True)


if __name__ == "__main__":
    main()

"""Train a preset on a public benchmark and rank the whole data set for every test graph (the paper's protocol).

    python benchmarks/paper_preset.py AIDS700nef --preset paper [--data ../shared/data] [--seed 0]

Graphs are split 60/20/20; distances among training graphs train, those between validation and training graphs choose
the weights, and the test graphs are looked at once, at the end. The truth is 1 - exp(-GED / mean size), exact where it
is proven; pairs whose distance is known by bounds only (IMDBMulti) are left out. Prints rho, tau and p@10.
"""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np

import graphmetric as gm
from graphmetric.evaluation import score_rankings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", choices=["AIDS700nef", "LINUX", "IMDBMulti"])
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="parameters of GraphDistance")
    options = parser.parse_args()
    data = gm.load_dataset(options.dataset, root=options.data)
    changes = {name: json.loads(value) for name, value in (item.split("=", 1) for item in options.set)}
    distances = np.array(data.distances)
    distances[data.test] = distances[:, data.test] = np.nan
    distances[np.ix_(data.val, data.val)] = np.nan
    known = np.concatenate([data.train, data.val])
    started = time.process_time()
    model = gm.GraphDistance(preset=options.preset, random_state=options.seed, **changes).fit(
        data.graphs[known], distances=distances[np.ix_(known, known)], val=np.arange(len(data.train), len(known))
    )
    trained = time.process_time() - started
    predicted = model.pairwise(data.graphs[data.test], data.graphs, view="paper")
    true = gm.normalized_distance(np.nan_to_num(data.distances, nan=0.0), data.graphs)
    true = np.where(np.isnan(data.distances), np.nan, true)
    raw = model.pairwise(data.graphs[data.test], data.graphs, view="raw")
    mae = float(np.nanmean(np.abs(raw - data.distances[data.test])))
    print(f"{options.dataset}, preset {options.preset} {changes or ''}, seed {options.seed}: {trained:.0f} s CPU")
    print(f"  test x all      {score_rankings(predicted, true[data.test])}  MAE {mae:.3f}")
    print(f"  test x training {score_rankings(predicted[:, known], true[np.ix_(data.test, known)])}  (protocol A)")


if __name__ == "__main__":
    main()

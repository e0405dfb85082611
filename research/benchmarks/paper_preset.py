"""Train a preset on a public benchmark and rank the whole data set for every test graph (the paper's protocol).

    python research/benchmarks/paper_preset.py AIDS700nef --preset paper [--data ../shared/data] [--seed 0]
        [--records FOLDER]

Graphs are split 60/20/20; distances among training graphs train, those between validation and training graphs choose
the weights, and the test graphs are looked at once, at the end. The truth is 1 - exp(-GED / mean size), exact where it
is proven; pairs whose distance is known by bounds only (IMDBMulti) are left out. ``--leak-free`` keeps one graph per
isomorphism class and ranks the training and validation graphs only. ``--records`` writes one file per protocol.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

import graphmetric as gm
from graphmetric._foundation.versions import installed_versions
from graphmetric.evaluation import Raw, Scores, score_distances
from graphmetric_research.protocols import Protocol, make_protocol
from graphmetric_research.reproduction.experiments import Row
from graphmetric_research.run_record import RunRecord, write_record


class Trained(NamedTuple):
    model: gm.GraphDistance
    cpu_seconds: float
    wall_seconds: float


def train(data: gm.Dataset, protocol: Protocol, parameters: dict[str, Any]) -> Trained:
    clocks = time.process_time(), time.perf_counter()
    model = gm.GraphDistance(**parameters).fit(
        data.graphs[protocol.seen],
        distances=protocol.visible_distances(data.distances),
        val=np.arange(len(protocol.train), len(protocol.seen)),
    )
    return Trained(model, time.process_time() - clocks[0], time.perf_counter() - clocks[1])


def score(model: gm.GraphDistance, data: gm.Dataset, protocol: Protocol) -> Scores:
    queries, database = data.graphs[protocol.queries], data.graphs[protocol.database]
    true = protocol.test_distances(data.distances)
    raw = Raw(model.pairwise(queries, database, view="raw"), true)
    return score_distances(
        model.pairwise(queries, database, view="paper"), gm.normalized_distance(true, queries, database), raw=raw
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", choices=["AIDS700nef", "LINUX", "IMDBMulti"])
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="parameters of GraphDistance")
    parser.add_argument("--leak-free", action="store_true", help="one graph per isomorphism class")
    parser.add_argument("--records", metavar="FOLDER", help="write the scores there as well")
    options = parser.parse_args()
    data = gm.load_dataset(options.dataset, root=options.data)
    data = data.leak_free() if options.leak_free else data
    changes = {name: json.loads(value) for name, value in (item.split("=", 1) for item in options.set)}
    names = ["leak-free"] if options.leak_free else ["paper", "A"]
    protocols = [make_protocol(name, *data.split, classes=data.isomorphism_classes) for name in names]
    parameters = {"preset": options.preset, "random_state": options.seed, **changes}
    own = {"preset": Row(options.preset, preset=options.preset).options(options.dataset)}
    trained = train(data, protocols[0], parameters | own)
    print(f"{data.name}, preset {options.preset} {changes or ''}, seed {options.seed}: {trained.cpu_seconds:.0f} s CPU")
    for protocol in protocols:
        scores = score(trained.model, data, protocol)
        print(f"  protocol {protocol.name:<10}{scores}")
        if options.records:
            record = RunRecord(
                method=f"preset {options.preset}" + "".join(f", {item}" for item in options.set),
                dataset=options.dataset,
                protocol=protocol.name,
                scores=scores.to_dict(),
                axioms=None,
                configuration=parameters,
                seeds={"random_state": options.seed},
                versions=installed_versions(),
                cpu_seconds=trained.cpu_seconds,
                wall_seconds=trained.wall_seconds,
                date=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            write_record(options.records, record)


if __name__ == "__main__":
    main()

"""What a block of pairs, or a chunk of an index, costs the worker that makes it and the caller that writes it.

    python benchmarks/block_costs.py

The numbers are the basis of research/scale.md. CPU time of one process.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import graphmetric as gm
from graphmetric.edit_distance import blocks
from graphmetric.edit_distance.store import Block
from graphmetric.index.building import Chunk, SegmentBuilder, describe_graphs
from graphmetric.index.folder.segment_files import SegmentFolder
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.search.learned_graphs import SegmentEncoder, describe_learned
from hundred_million_pairs import draw_graphs

ROUNDS = 20


def cpu(work: Callable[..., object], *arguments: object, rounds: int = ROUNDS) -> float:
    """Seconds of CPU time of one call."""
    started = time.process_time()
    for _ in range(rounds):
        work(*arguments)
    return (time.process_time() - started) / rounds


def measure_block(name: str, graphs: gm.GraphCollection) -> None:
    """Print what one block of these graphs costs."""
    solver, order = blocks.Solver(gm.ExactSearch(time_limit=1.0), gm.EditCosts()), np.arange(len(graphs))
    plan = blocks.PairGrid(solver, graphs, graphs, order, order, True)
    work, *arguments = plan.task("00000-00001", blocks.WIDEST)
    block = work(*arguments)
    solving = 1e6 * cpu(work, *arguments, rounds=1) / block["lower"].size
    making = 1e3 * cpu(lambda: pickle.dumps(plan.task("00000-00001", blocks.WIDEST)))
    print(f"{name}: {solving:.1f} us a pair in the worker")
    print(f"  a task is made in {making:.2f} ms, {len(pickle.dumps(arguments)):,} bytes")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.block"
        print(f"  a block is written in {1e3 * cpu(block.write, path, 'job'):.2f} ms, {path.stat().st_size:,} bytes")
        print(f"  a block is read in {1e3 * cpu(lambda: Block.read(path, 'job')['lower']):.2f} ms")
    print(f"  classes: {1e6 * cpu(gm.isomorphism_classes, graphs) / len(graphs):.1f} us a graph")


def measure_chunk(graphs: gm.GraphCollection, model: LearnedDistance | None) -> None:
    """Print what a chunk of an index with a model, or without one, costs for each graph."""
    encoder = None if model is None else SegmentEncoder(model)
    chunk = Chunk(graphs, range(len(graphs)), {})
    sent, _ = chunk.without_notes()

    def work() -> object:
        return describe_graphs(sent) if encoder is None else describe_learned(encoder, sent)

    rows = work()
    worker = cpu(work, rounds=2)
    carried = cpu(lambda: pickle.dumps(chunk.without_notes())) + cpu(pickle.loads, pickle.dumps(rows))
    with tempfile.TemporaryDirectory() as folder, SegmentFolder(Path(folder) / "segment") as place:
        builder = SegmentBuilder(place.open_rows)
        builder.append(graphs.columns, chunk.ids, rows)
        caller = carried + cpu(builder.append, graphs.columns, chunk.ids, rows)
    kind = "without a model" if model is None else f"with a {model.cpu_head.kind} head"
    each = 1e6 / len(graphs)
    print(f"an index {kind}: {each * worker:.1f} us a graph in the worker, {each * caller:.1f} in the caller,")
    sizes = (len(pickle.dumps(part)) / len(graphs) for part in (sent, rows))
    print("  {:.0f} bytes sent, {:.0f} returned".format(*sizes))


def main() -> None:
    """Print the costs."""
    molecules, model = gm.load_dataset("molecules").graphs, LearnedDistance.load("molecules")
    measure_block("4 to 6 nodes, labelled", draw_graphs(1024))
    measure_block("molecules", molecules[:768])
    model.embed(molecules[:50])
    encoding, size = cpu(model.embed, molecules, rounds=1), len(pickle.dumps(molecules))
    print(f"vectors: {1e6 * encoding / len(molecules):.0f} us a molecule, {size / len(molecules):.0f} bytes sent")

    for one in (model, None):
        measure_chunk(molecules, one)


if __name__ == "__main__":
    main()

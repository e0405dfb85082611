"""Write the embedded data set "programs": control-flow graphs of the functions of Python's standard library.

    python tools/make_programs.py [OUTPUT.gmg]
    python tools/make_programs.py --directed 4 100 OUTPUT.gmg

Sources are compiled, never imported or run. Nodes are the basic blocks of a function's bytecode that can be reached
from its entry; an edge joins two different blocks when control can pass from one to the other. As in LINUX, the graphs
are undirected, unlabelled and simple: a block that jumps to itself adds no edge (about one function in a hundred
has one). Exceptions are not followed, so ``except`` clauses, which only an exception can reach, are not in the graph.
Kept are functions and methods with 4 to 10 blocks; by construction their graphs are connected.

With ``--directed``, graphs are directed and labelled by how a block ends, self-loops stay, and sizes are chosen freely.

The bytecode depends on the exact version of Python: the embedded file was written by the version and from the sources
that ``MADE_WITH`` records.
"""

from __future__ import annotations

import argparse
import dis
import hashlib
import inspect
import platform
import sysconfig
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

from graphmetric.formats import write_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

TARGET = Path(__file__).parents[1] / "src/graphmetric/datasets/embedded/programs.gmg"
MADE_WITH = ("CPython 3.11.7", "ac5a2ce98331e2f21f1004178552df4b6b8efb8338afde88b179bf3650d03353")
"""The Python and the digest of the sources behind the embedded file."""

FEWEST_BLOCKS, MOST_BLOCKS = 4, 10
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "dist-packages"}
"""Folders that hold no part of the library proper."""

JUMPS = {*dis.hasjrel, *dis.hasjabs}
NEVER_CONTINUE = {
    dis.opmap[name]
    for name in ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
                 "JUMP_BACKWARD_NO_INTERRUPT")
    if name in dis.opmap
}  # fmt: skip


def library_sources(root: Path | None = None) -> dict[str, bytes]:
    """Source text by module name, in the order of the names."""
    root = root or Path(sysconfig.get_path("stdlib"))
    paths = {path.relative_to(root): path for path in root.rglob("*.py")}
    chosen = {name: path for name, path in paths.items() if not LEFT_OUT & {*name.parts}}
    modules = {module_name(name): path for name, path in chosen.items() if not name.name.startswith("_sysconfigdata")}
    return {module: modules[module].read_bytes() for module in sorted(modules)}


def module_name(path: Path) -> str:
    """``json/decoder.py`` -> ``json.decoder``; ``json/__init__.py`` -> ``json``."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def digest(sources: dict[str, bytes]) -> str:
    """A checksum over all module names and texts."""
    sums = (f"{module} {hashlib.sha256(text).hexdigest()}\n" for module, text in sources.items())
    return hashlib.sha256("".join(sums).encode()).hexdigest()


def program_graphs(sources: dict[str, bytes]) -> Iterator[Graph]:
    """The graphs of all functions that fit, named ``module:qualified.name``."""
    for module, text in sources.items():
        seen: Counter[str] = Counter()
        for code in functions(compile_quietly(text, module)):
            seen[code.co_qualname] += 1
            again = f"#{seen[code.co_qualname]}" if seen[code.co_qualname] > 1 else ""
            num_blocks, edges = control_flow(code)
            if FEWEST_BLOCKS <= num_blocks <= MOST_BLOCKS:
                yield Graph(num_blocks, sorted(edges), id=f"{module}:{code.co_qualname}{again}")


def compile_quietly(text: bytes, module: str) -> CodeType:
    """Bytecode of a module; the library's own syntax warnings are not ours to report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, module, "exec", dont_inherit=True, optimize=0)


def functions(code: CodeType) -> Iterator[CodeType]:
    """All named functions and methods inside, in source order; no lambdas, comprehensions or class bodies."""
    for inner in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        if inner.co_flags & inspect.CO_OPTIMIZED and not inner.co_name.startswith("<"):
            yield inner
        yield from functions(inner)


def control_flow(code: CodeType) -> tuple[int, set[tuple[int, int]]]:
    """Number of reachable basic blocks, numbered in the order of the code, and the undirected edges between them."""
    number, successors = reachable_blocks(list(dis.get_instructions(code)))
    arcs = {(number[a], number[b]) for a in number for b in successors[a]}
    return len(number), {(min(arc), max(arc)) for arc in arcs if arc[0] != arc[1]}


def directed_control_flow(code: CodeType, name: str) -> Graph:
    """The blocks that can be reached, labelled by how they end, and the steps from one to the next."""
    instructions = list(dis.get_instructions(code))
    number, successors = reachable_blocks(instructions)
    last = dict(last_instructions(instructions))
    arcs = sorted((number[a], number[b]) for a in number for b in successors[a])
    return Graph(len(number), arcs, node_labels=[end_of_block(last[block]) for block in number], directed=True, id=name)


def directed_graphs(sources: dict[str, bytes], fewest: int, most: int) -> Iterator[Graph]:
    """The directed graphs of all functions with so many blocks; files for another version of Python are left out."""
    for module, text in sources.items():
        try:
            codes = list(functions(compile_quietly(text, module)))
        except (SyntaxError, ValueError):
            continue
        for code in codes:
            if len(code.co_code) >= 2 * fewest:  # an instruction takes two bytes or more
                graph = directed_control_flow(code, f"{module}:{code.co_qualname}")
                if fewest <= graph.num_nodes <= most:
                    yield graph


def end_of_block(last: dis.Instruction) -> str:
    """How a block ends: by a return, an exception, a loop, a condition, a jump, or by going on."""
    if last.opname.startswith(("RETURN", "RAISE", "RERAISE")):
        return "return" if last.opname.startswith("RETURN") else "raise"
    if last.opcode not in JUMPS:
        return "next"
    return "loop" if last.opname == "FOR_ITER" else "jump" if last.opname.startswith("JUMP") else "condition"


def reachable_blocks(instructions: list[dis.Instruction]) -> tuple[dict[int, int], list[set[int]]]:
    """The new number of each block that control can reach, and the blocks that each block can pass control to."""
    successors = block_successors(instructions)
    reached, waiting = {0}, [0]
    while waiting:
        new = successors[waiting.pop()] - reached
        reached |= new
        waiting += new
    return {block: k for k, block in enumerate(sorted(reached))}, successors


def block_successors(instructions: list[dis.Instruction]) -> list[set[int]]:
    """The blocks that each block can pass control to."""
    first = block_starts(instructions)
    successors: list[set[int]] = [set() for _ in first]
    for block, instruction in last_instructions(instructions):
        if instruction.opcode in JUMPS:
            successors[block].add(bisect_right(first, instruction.argval) - 1)
        if block + 1 < len(first) and instruction.opcode not in NEVER_CONTINUE:
            successors[block].add(block + 1)
    return successors


def block_starts(instructions: list[dis.Instruction]) -> list[int]:
    """Where the blocks start: after a jump or an end, and where a jump leads."""
    starts = {0}
    for instruction, following in zip(instructions, [*instructions[1:], None], strict=True):
        if instruction.opcode in JUMPS:
            starts.add(instruction.argval)
        if following is not None and (instruction.opcode in JUMPS or instruction.opcode in NEVER_CONTINUE):
            starts.add(following.offset)
    return sorted(starts)


def last_instructions(instructions: list[dis.Instruction]) -> list[tuple[int, dis.Instruction]]:
    """Each block with its last instruction, the only one that can jump."""
    first = block_starts(instructions)
    return list({bisect_right(first, each.offset) - 1: each for each in instructions}.items())


def made_with(sources: dict[str, bytes]) -> tuple[str, str]:
    """What :data:`MADE_WITH` has to be for this Python to reproduce the embedded file."""
    return f"{platform.python_implementation()} {platform.python_version()}", digest(sources)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", nargs="?", type=Path, default=TARGET)
    parser.add_argument(
        "--directed", nargs=2, type=int, metavar=("FEWEST", "MOST"),
        help="directed graphs of this many blocks, labelled by how a block ends, instead of the embedded set",
    )  # fmt: skip
    options = parser.parse_args()
    sources = library_sources()
    if options.directed is None:
        graphs = GraphCollection(program_graphs(sources))
    elif options.output == TARGET:
        parser.error("directed graphs are not the embedded set: name an output file")
    else:
        graphs = GraphCollection(directed_graphs(sources, *options.directed))
    write_graphs(graphs, options.output)
    print(graphs, "MADE_WITH =", made_with(sources), sep="\n")


if __name__ == "__main__":
    main()

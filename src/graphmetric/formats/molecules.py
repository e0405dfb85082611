"""Files of molecules: SMILES, one per line, and SDF or MOL, one record after the other. Both need RDKit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from graphmetric.errors import InvalidGraph, MissingExtra
from graphmetric.formats.file_format import FileFormat
from graphmetric.formats.losses import LeftOutOfMolecules
from graphmetric.formats.named_attributes import value_from_text
from graphmetric.formats.rdkit_molecules import checked_distinctions, read_mol_block, read_smiles
from graphmetric.formats.source import Source
from graphmetric.formats.xml import id_from_text
from graphmetric.graphs.graph import Graph

LARGEST_RECORD = 1 << 20
"""Characters of one molecule of an SDF file: about ten thousand atoms."""

_FIELD = re.compile(r"> .*?<([^>]*)>")


@dataclass(frozen=True, slots=True)
class MoleculeOptions:
    """How to read molecules."""

    distinguish: str | Sequence[str] = ()
    """What else tells atoms and bonds apart, besides elements and bond types: ``"charge"``, ``"stereo"``,
    ``"aromaticity"``, ``"isotope"``, ``"hydrogens"``, several of them, or ``"all"``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "distinguish", checked_distinctions(self.distinguish))


def read_smiles_lines(source: Source, options: MoleculeOptions) -> Iterator[Graph]:
    """Heavy-atom graphs, line by line; a first line that is a header is skipped."""
    _require_rdkit("reading SMILES")
    left_out = LeftOutOfMolecules()
    for number, line in source.lines():
        fields = line.split(maxsplit=1)
        if not fields or line.startswith("#") or (number == 1 and fields[0].lower() == "smiles"):
            continue
        smiles, *name = fields
        with source.record(number):
            id = id_from_text(name[0].strip()) if name else None
            yield _checked(partial(read_smiles, smiles, options.distinguish, left_out, id=id), source)
    _notice(left_out, source)


def read_sdf(source: Source, options: MoleculeOptions) -> Iterator[Graph]:
    """Heavy-atom graphs, record by record; the title is the id and the data fields are metadata."""
    _require_rdkit("reading SDF")
    left_out = LeftOutOfMolecules()
    for number, lines in _records(source):
        with source.record(number):
            if not any(lines):
                raise InvalidGraph("the record is empty")
            block, metadata = _parts(lines)
            id = id_from_text(lines[0].strip())
            read = partial(read_mol_block, block, options.distinguish, left_out, id=id, metadata=metadata)
            yield _checked(read, source)
    _notice(left_out, source)


def _records(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The lines of each molecule with the number of the first."""
    start, lines, size = 1, [], 0  # type: int, list[str], int
    for first, text in source.texts(keep_empty=True):
        for number, line in enumerate(text.split("\n"), first):
            if line.startswith("$$$$"):
                yield start, lines
                start, lines, size = number + 1, [], 0
                continue
            lines.append(line.rstrip("\r"))
            size += len(line) + 1
            if size > LARGEST_RECORD:
                raise source.error(f"a molecule of more than {LARGEST_RECORD:,} characters", start)
    if any(line.strip() for line in lines):
        yield start, lines


def _parts(lines: list[str]) -> tuple[str, dict[str, str | int | float]]:
    """The molecule itself, and the data fields after it: a line ``> <NAME>``, then values up to an empty line."""
    end = next((k for k, line in enumerate(lines) if line.startswith("M  END")), len(lines) - 1) + 1
    metadata: dict[str, str | int | float] = {}
    name: str | None = None
    values: list[str] = []
    for line in [*lines[end:], ""]:
        found = _FIELD.match(line) if name is None else None
        if found:
            name, values = found[1], []
        elif name is not None and line.strip():
            values.append(line)
        elif name is not None:
            metadata[name] = value_from_text("\n".join(values))
            name = None
    return "\n".join(lines[:end]), metadata


def _require_rdkit(purpose: str) -> None:
    try:
        import rdkit  # noqa: F401
    except ImportError:
        raise MissingExtra("rdkit", "molecules", purpose) from None


def _checked(read: Callable[[], Graph], source: Source) -> Graph:
    graph = read()
    source.limits.check_nodes(graph.num_nodes)
    source.limits.check_edges(graph.num_edges)
    return graph


def _notice(left_out: LeftOutOfMolecules, source: Source) -> None:
    if left_out:
        source.notice(left_out.sentence())


SMILES = FileFormat(
    name="smiles",
    suffixes=(".smi", ".smiles"),
    description="SMILES, one molecule per line (needs the extra 'molecules'); read only; streams",
    holds=frozenset({"node_labels", "edge_labels", "id"}),
    read=read_smiles_lines,
    options=MoleculeOptions,
)

SDF = FileFormat(
    name="sdf",
    suffixes=(".sdf", ".sd", ".mol", ".mdl"),
    description="SDF and MOL, molecules with data fields (needs the extra 'molecules'); read only; streams",
    holds=frozenset({"node_labels", "edge_labels", "id", "metadata"}),
    read=read_sdf,
    options=MoleculeOptions,
)

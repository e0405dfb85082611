"""SMILES files: one molecule per line, with an optional name after a blank. Needs RDKit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphmetric.errors import FileError, InvalidArgument, MissingExtra
from graphmetric.graphs.files.file_format import FileFormat
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.files.xml import id_from_text
from graphmetric.graphs.graph import Graph


@dataclass(frozen=True, slots=True)
class SmilesOptions:
    """How to read SMILES."""

    on_error: str = "raise"
    """``"raise"`` at the first line that is no molecule, or ``"skip"`` such lines and say at the end how many."""

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise InvalidArgument(f"on_error must be 'raise' or 'skip'; got {self.on_error!r}")


def read_smiles(source: Source, options: SmilesOptions) -> Iterator[Graph]:
    """Heavy-atom graphs, line by line; a first line that is a header is skipped."""
    _require_rdkit()
    skipped: list[FileError] = []
    for number, line in source.lines():
        fields = line.split(maxsplit=1)
        if not fields or line.startswith("#") or (number == 1 and fields[0].lower() == "smiles"):
            continue
        try:
            graph = _molecule(fields, number, source)
        except FileError as error:
            if options.on_error == "raise":
                raise
            skipped.append(error)
            continue
        yield graph
    if skipped:
        source.notice(f"{len(skipped)} lines are no molecules and were skipped, the first is {skipped[0]}")


def _require_rdkit() -> None:
    try:
        import rdkit  # noqa: F401
    except ImportError:
        raise MissingExtra("rdkit", "molecules", "reading SMILES") from None


def _molecule(fields: list[str], number: int, source: Source) -> Graph:
    from graphmetric.graphs.conversion import from_smiles

    smiles, *name = fields
    with source.located(number):
        graph = from_smiles(smiles, id=id_from_text(name[0].strip()) if name else None)
        source.limits.check_nodes(graph.num_nodes)
        source.limits.check_edges(graph.num_edges)
    return graph


SMILES = FileFormat(
    name="smiles",
    suffixes=(".smi", ".smiles"),
    description="SMILES, one molecule per line (needs the extra 'molecules'); read only; streams",
    holds=frozenset({"node_labels", "edge_labels", "id"}),
    read=read_smiles,
    options=SmilesOptions,
)

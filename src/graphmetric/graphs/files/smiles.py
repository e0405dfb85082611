"""SMILES files: one molecule per line, with an optional name after a blank. Needs RDKit."""

from __future__ import annotations

from collections.abc import Iterator

from graphmetric.errors import MissingExtra
from graphmetric.graphs.files.file_format import FileFormat, NoOptions
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.files.xml import id_from_text
from graphmetric.graphs.graph import Graph


def read_smiles(source: Source, options: NoOptions) -> Iterator[Graph]:
    """Heavy-atom graphs, line by line; a first line that is a header is skipped."""
    _require_rdkit()
    for number, line in source.lines():
        fields = line.split(maxsplit=1)
        if not fields or line.startswith("#") or (number == 1 and fields[0].lower() == "smiles"):
            continue
        with source.record(number):
            yield _molecule(fields, source)


def _require_rdkit() -> None:
    try:
        import rdkit  # noqa: F401
    except ImportError:
        raise MissingExtra("rdkit", "molecules", "reading SMILES") from None


def _molecule(fields: list[str], source: Source) -> Graph:
    from graphmetric.graphs.conversion import from_smiles

    smiles, *name = fields
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
)

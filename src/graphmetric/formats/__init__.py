"""Graphs in files: read and write many formats, choose by suffix or by name; docs/formats.md describes each."""

from graphmetric.formats.file_format import FileFormat
from graphmetric.formats.file_source import Limits
from graphmetric.formats.files import formats, iter_graphs, read_graphs, write_graphs
from graphmetric.formats.molecules import MoleculeOptions

__all__ = ["FileFormat", "Limits", "MoleculeOptions", "formats", "iter_graphs", "read_graphs", "write_graphs"]

"""Graphs in files: read and write many formats, choose by suffix or by name; docs/formats.md describes each."""

from graphmetric.formats.file_format import FileFormat
from graphmetric.formats.file_source import ReadLimits
from graphmetric.formats.files import available_formats, iter_graphs, read_graphs, write_graphs
from graphmetric.formats.molecules import MoleculeOptions

__all__ = [
    "FileFormat",
    "MoleculeOptions",
    "ReadLimits",
    "available_formats",
    "iter_graphs",
    "read_graphs",
    "write_graphs",
]

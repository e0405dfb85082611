"""Graphs in files: read and write many formats, choose by suffix or by name; docs/formats.md describes each."""

from graphmetric.graphs.files.file_format import FileFormat
from graphmetric.graphs.files.limits import Limits
from graphmetric.graphs.files.reading import iter_graphs, read_graphs
from graphmetric.graphs.files.registry import formats
from graphmetric.graphs.files.writing import write_graphs

__all__ = ["FileFormat", "Limits", "formats", "iter_graphs", "read_graphs", "write_graphs"]

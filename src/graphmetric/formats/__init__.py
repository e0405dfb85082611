"""Graphs in files: read and write many formats, choose by suffix or by name; docs/formats.md describes each."""

from graphmetric.formats.file_format import FileFormat
from graphmetric.formats.reading import iter_graphs, read_graphs
from graphmetric.formats.registry import formats
from graphmetric.formats.source import Limits
from graphmetric.formats.writing import write_graphs

__all__ = ["FileFormat", "Limits", "formats", "iter_graphs", "read_graphs", "write_graphs"]

"""Our own format for collections: compact, quick, streaming, without loss."""

from __future__ import annotations

from graphmetric.graphs.files.binary_reader import read_binary
from graphmetric.graphs.files.binary_writer import write_binary
from graphmetric.graphs.files.file_format import EVERYTHING, FileFormat

BINARY = FileFormat(
    name="graphmetric",
    suffixes=(".gmg",),
    description="our own compact binary format; holds everything; streams",
    holds=EVERYTHING,
    read=read_binary,
    write=write_binary,
)

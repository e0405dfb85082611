"""The file, folder or stream that a reader reads: gzip, size limits, text lines, and errors that name the place."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from graphmetric.errors import ConversionWarning, FileError, InvalidGraph, LimitExceeded

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MIB = 2**20
_WORDS = {
    "node_values": "values per node",
    "filler_bytes": "bytes for columns that only some of the graphs have",
}
"""The unit of a limit, if its name does not contain it."""
_BUFFER = 1 << 18
_MOST_NAMES = 12
_RATIO_FROM = 1 << 24
_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Bounds that protect the reader's memory and time; raise them for data you trust.

    Counts that a file announces are checked before anything of that size is allocated.
    """

    max_bytes: int = 8192 * _MIB
    """Size of one file as stored."""
    max_decompressed_bytes: int = 4096 * _MIB
    """Size of one gzip file after decompression."""
    max_compression_ratio: int = 200
    """Bytes that one byte of a gzip file may become, beyond the first 16 MiB; text of graphs has ratios of 5 to 50."""
    max_document_bytes: int = 256 * _MIB
    """Size of a file, or of a block of one, that must be held whole (JSON, XML, TUDataset); as Python objects it takes
    about twenty times as much."""
    max_line_bytes: int = 64 * _MIB
    """Length of one line of a format that is read line by line."""
    max_graphs: int = 10_000_000
    """Graphs in all files of one call."""
    max_nodes: int = 10_000_000
    """Nodes of one graph."""
    max_edges: int = 50_000_000
    """Edges of one graph."""
    max_node_values: int = 2**24
    """Features of one node, or pixels times channels of its image."""
    max_filler_bytes: int = 1024 * _MIB
    """Memory of a collection for the empty rows of columns that only some of its graphs have; without it, a small file
    that announces many nodes beside a graph with many features would fill the memory."""

    def check(self, **counts: int) -> None:
        """Raise unless each count is allowed, as in ``check(nodes=5, edges=4)``."""
        for name, count in counts.items():
            if count > getattr(self, _LIMIT_OF[name]):
                raise self.exceeded(_LIMIT_OF[name], f"{count:,} {_WORDS.get(name, name)}")

    def exceeded(self, name: str, found: str) -> LimitExceeded:
        """The error for something beyond a limit; the place is added by whoever knows it."""
        return LimitExceeded(
            f"{found}; the limit is {getattr(self, name):,} (for data you trust: limits=ReadLimits({name}=...), "
            f"or --reading-limits {name}=... on the command line)"
        )


DEFAULT_LIMITS = ReadLimits()
_LIMIT_OF = {limit.name.removeprefix("max_"): limit.name for limit in fields(ReadLimits)}
"""A table, since to put names together for each graph takes longer than to compare."""


@dataclass(slots=True, eq=False)
class ReadingCall:
    """State shared by the files of one call of a reader."""

    limits: ReadLimits
    skips: bool = False
    """Whether graphs that cannot be read are skipped."""
    skipped: int = 0
    """Number of graphs, or of whole files, that were skipped."""
    first_error: FileError | None = None
    """Why the first of them was."""
    noticed: set[str] = field(default_factory=set)
    """Warnings given so far, without the name of the file."""


class FileSource:
    """One file, folder or open stream to read graphs from."""

    def __init__(self, given: Path | BinaryIO, call: ReadingCall, name: str | None = None) -> None:
        self.path = given if isinstance(given, Path) else None
        self.call, self.limits = call, call.limits
        self.name = name or str(given if self.path else getattr(given, "name", "<stream>"))
        self._stream = None if isinstance(given, Path) else given

    @property
    def is_folder(self) -> bool:
        """Return whether this is a folder; a name that the system rejects is not one."""
        return self.path is not None and os.path.isdir(self.path)

    def beside(self, name: str) -> FileSource:
        """Another file of the same folder, or a file in this one if this is a folder."""
        assert self.path is not None
        return FileSource((self.path if self.is_folder else self.path.parent) / name, self.call)

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader[Any]]:
        """The bytes, decompressed if they are gzip; every read is counted against the limits."""
        with self._opened() as raw:
            counted = _Counted(raw, self)
            stored = io.BufferedReader(counted, _BUFFER)
            if stored.peek(2)[:2] != _GZIP_MAGIC:
                yield stored
                return
            with gzip.GzipFile(fileobj=stored) as unzipped:
                yield io.BufferedReader(_Counted(unzipped, self, stored=counted), _BUFFER)

    def _opened(self) -> AbstractContextManager[BinaryIO]:
        try:
            return nullcontext(self._stream) if self._stream is not None else Path(self.name).open("rb")
        except (OSError, ValueError) as error:
            raise self.error(f"cannot be opened: {getattr(error, 'strerror', error)}") from None

    def read_bytes(self) -> bytes:
        """The whole content, for formats that cannot be read piece by piece."""
        allowed = self.limits.max_document_bytes
        with self.open() as stream, self.located():
            pieces: list[bytes] = []
            while piece := stream.read(1 << 22):
                pieces.append(piece)
                if sum(map(len, pieces)) > allowed:
                    raise self.limits.exceeded("max_document_bytes", f"more than {allowed:,} bytes")
        return b"".join(pieces)

    def read_text(self) -> str:
        """The whole content as text."""
        return self._decoded(self.read_bytes().removeprefix(codecs.BOM_UTF8))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines, from 1, without their line ends; empty lines are left out."""
        for first, text in self.texts():
            for number, line in enumerate(text.split("\n"), first):
                if line:
                    yield number, line

    def texts(self, *, keep_empty: bool = False) -> Iterator[tuple[int, str]]:
        """The lines by the hundred, each time as one text with the number of its first line.

        Empty lines at the start of a text are left out unless they mean something.
        """
        number = 1
        begun: list[bytes] = []
        with self.open() as stream:
            while piece := stream.read1(_BUFFER):
                whole, end, rest = piece.rpartition(b"\n")
                begun.append(whole if end else rest)
                if not end:
                    self._check_length(number, sum(map(len, begun)))
                    continue
                block = b"".join(begun)
                begun = [rest]
                yield from self._decoded_lines(number, block, keep_empty)
                number += block.count(b"\n") + 1
        yield from self._decoded_lines(number, b"".join(begun), keep_empty)

    def _decoded_lines(self, number: int, block: bytes, keep_empty: bool) -> Iterator[tuple[int, str]]:
        if number == 1:
            block = block.removeprefix(codecs.BOM_UTF8)
        # A gzip file of empty lines alone is small, and has millions of them.
        lines = block if keep_empty else block.lstrip(b"\n")
        number += len(block) - len(lines)
        if len(lines) > self.limits.max_line_bytes:
            for k, line in enumerate(lines.split(b"\n"), number):
                self._check_length(k, len(line))
        if not lines and not keep_empty:
            return
        try:
            yield number, lines.decode("utf-8")
        except UnicodeDecodeError:
            for k, line in enumerate(lines.split(b"\n"), number):
                yield k, self._decoded(line, k)

    def _check_length(self, number: int, length: int) -> None:
        """Raise if a line is too long."""
        allowed = self.limits.max_line_bytes
        if length > allowed:
            with self.located(number):
                raise self.limits.exceeded("max_line_bytes", f"more than {allowed:,} bytes in one line")

    def _decoded(self, data: bytes, line: int | None = None) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            if line is None:
                line = data.count(b"\n", 0, error.start) + 1
            looks_like_utf16 = data.startswith(_UTF16_MARKS)
            found = "this looks like UTF-16" if looks_like_utf16 else f"byte 0x{data[error.start]:02x} is not UTF-8"
            raise self.error(f"{found}; save the file as UTF-8", line) from None

    def located(self, where: str | int | None = None) -> AbstractContextManager[None]:
        """Turn errors about a graph into errors about this place in this file."""
        return located(self.name, where)

    def check(self, where: str | int | None = None, **counts: int) -> None:
        """:meth:`ReadLimits.check`, with an error that names the place."""
        with self.located(where):
            self.limits.check(**counts)

    @contextmanager
    def record(self, where: str | int | None = None) -> Iterator[None]:
        """Read one graph within: errors name its place, and where bad graphs are skipped it is passed over."""
        try:
            with self.located(where):
                yield
        except LimitExceeded:  # a limit protects the reader, not the graph
            raise
        except FileError as error:
            if not self.call.skips:
                raise
            self.call.skipped += 1
            self.call.first_error = self.call.first_error or error

    def error(self, problem: str, where: str | int | None = None) -> FileError:
        """An error about this file."""
        return FileError(problem, self.name, where)

    def notice(self, message: str) -> None:
        """Warn that something was left out, once per call however many files say the same."""
        if message not in self.call.noticed:
            self.call.noticed.add(message)
            warnings.warn(ConversionWarning(f"{self.name}: {message}"), stacklevel=2)

    def notice_left_out(self, what: str, names: Iterable[str], advice: str) -> None:
        """Warn that attributes of this kind have no place in a graph."""
        ordered = sorted(set(names), key=natural_key)
        if ordered:
            more = f" and {len(ordered) - _MOST_NAMES} more" if len(ordered) > _MOST_NAMES else ""
            self.notice(f"{what} {', '.join(map(repr, ordered[:_MOST_NAMES]))}{more} left out{advice}")


@contextmanager
def located(path: str | None, where: str | int | None = None) -> Iterator[None]:
    """Add the file, the place or both to errors that do not name them yet."""
    try:
        yield
    except InvalidGraph as error:
        raise FileError(str(error), path, where) from error
    except FileError as error:
        if error.path is not None or (path is None and error.where is not None):
            raise
        raise type(error)(error.problem, path, error.where or where) from None


class _Counted(io.RawIOBase):
    """A stream that refuses to give more than the limits allow, and whose errors are ours.

    A decompressed stream, which knows the one that is ``stored``, may also not be too many times larger than that.
    """

    def __init__(self, stream: BinaryIO | gzip.GzipFile, source: FileSource, stored: _Counted | None = None) -> None:
        self._source, self._stored = source, stored
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)  # of a pipe what has come so far
        self.total = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._read(len(view))
        except EOFError:
            raise self._source.error("the gzip data ends too early; the file is truncated") from None
        except (zlib.error, gzip.BadGzipFile) as cause:
            raise self._source.error(f"damaged gzip data: {cause}") from None
        except OSError as cause:
            raise self._source.error(f"cannot be read: {cause.strerror or cause}") from None
        self.total += len(data)
        with self._source.located():
            self._check(self._source.limits)
        view[: len(data)] = data
        return len(data)

    def _check(self, limits: ReadLimits) -> None:
        name = "max_bytes" if self._stored is None else "max_decompressed_bytes"
        if self.total > getattr(limits, name):
            raise limits.exceeded(name, f"more than {getattr(limits, name):,} bytes")
        ratio = limits.max_compression_ratio
        if self._stored is not None and self.total > max(_RATIO_FROM, ratio * self._stored.total):
            found = f"{self._stored.total:,} bytes became more than {self.total:,} when decompressed"
            raise limits.exceeded("max_compression_ratio", f"{found}, which is more than {ratio} to 1")


def natural_key(text: str | os.PathLike[str]) -> list[tuple[int, int, str]]:
    """A sorting key under which ``g2`` comes before ``g10``."""
    parts = (part for part in re.split("([0-9]+)", os.fspath(text)) if part)
    # Numbers compare by length, then digits: no conversion, so a name of ten thousand digits does no harm.
    return [(0, len(p.lstrip("0")), p.lstrip("0")) if p[0] in "0123456789" else (1, 0, p) for p in parts]

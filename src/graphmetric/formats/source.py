"""Bytes from a file or stream: gzip, size limits, text lines, and errors that name the place.

How much a reader accepts before it refuses.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from graphmetric.errors import ConversionWarning, FileError, InvalidGraph, LimitExceeded

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
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

    def check_graphs(self, count: int) -> None:
        """Raise unless ``count`` graphs are allowed."""
        self._check(count, "max_graphs", "graphs")

    def check_nodes(self, count: int) -> None:
        """Raise unless one graph may have ``count`` nodes."""
        self._check(count, "max_nodes", "nodes")

    def check_edges(self, count: int) -> None:
        """Raise unless one graph may have ``count`` edges."""
        self._check(count, "max_edges", "edges")

    def check_node_values(self, count: int) -> None:
        """Raise unless one node may have ``count`` features or image values."""
        self._check(count, "max_node_values", "values per node")

    def check_filler(self, count: int) -> None:
        """Raise unless ``count`` bytes may be spent on empty rows."""
        self._check(count, "max_filler_bytes", "bytes for columns that only some of the graphs have")

    def _check(self, count: int, field: str, what: str) -> None:
        allowed = getattr(self, field)
        if count > allowed:
            raise too_large(f"{count:,} {what}", field, f"{allowed:,}")


DEFAULT_LIMITS = Limits()


def too_large(found: str, field: str, allowed: str) -> LimitExceeded:
    """The error for something beyond a limit; the place is added by whoever knows it."""
    return LimitExceeded(
        f"{found}; the limit is {allowed} (for data you trust: limits=Limits({field}=...), "
        f"or --limits {field}=... on the command line)"
    )


_BUFFER = 1 << 18
_MOST_NAMES = 12
_RATIO_FROM = 1 << 24
_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Skipped:
    """Graphs that could not be read and were passed over: how many, and why the first."""

    def __init__(self) -> None:
        self.count = 0
        self.first: FileError | None = None

    def add(self, error: FileError) -> None:
        """Pass over the graph, or the whole file, that gave this error."""
        self.count += 1
        self.first = self.first or error


class Source:
    """One file, folder or open stream to read graphs from."""

    def __init__(
        self,
        given: Path | BinaryIO,
        limits: Limits,
        *,
        name: str | None = None,
        noticed: set[str] | None = None,
        skipped: Skipped | None = None,
    ) -> None:
        self.path = given if isinstance(given, Path) else None
        self.limits = limits
        self.name = name or str(given if self.path else getattr(given, "name", "<stream>"))
        self._stream = None if isinstance(given, Path) else given
        self._noticed = set() if noticed is None else noticed
        self._skipped = skipped

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder; a name that the system refuses is none."""
        try:
            return self.path is not None and self.path.is_dir()
        except OSError:
            return False

    def beside(self, name: str) -> Source:
        """Another file of the same folder, or a file in this one if this is a folder."""
        assert self.path is not None
        folder = self.path if self.is_folder else self.path.parent
        return Source(folder / name, self.limits, noticed=self._noticed, skipped=self._skipped)

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader[Any]]:
        """The bytes, decompressed if they are gzip; every read is counted against the limits."""
        with self._opened() as raw:
            counted = _Counted(raw, self.name, self.limits)
            stored = io.BufferedReader(counted, _BUFFER)
            if stored.peek(2)[:2] != _GZIP_MAGIC:
                yield stored
                return
            with gzip.GzipFile(fileobj=stored) as unzipped:
                yield io.BufferedReader(_Unzipped(unzipped, self.name, self.limits, counted), _BUFFER)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self._stream is not None:
            yield self._stream
            return
        assert self.path is not None
        try:
            stream = self.path.open("rb")
        except (OSError, ValueError) as error:
            raise FileError(f"cannot be opened: {getattr(error, 'strerror', error)}", self.path) from None
        with stream:
            yield stream

    def read_bytes(self) -> bytes:
        """The whole content, for formats that cannot be read piece by piece."""
        allowed = self.limits.max_document_bytes
        with self.open() as stream:
            pieces: list[bytes] = []
            total = 0
            while piece := stream.read(1 << 22):
                total += len(piece)
                if total > allowed:
                    with self.located():
                        raise too_large(f"more than {allowed:,} bytes", "max_document_bytes", f"{allowed:,}")
                pieces.append(piece)
        return b"".join(pieces)

    def read_text(self) -> str:
        """The whole content as text."""
        return self._decoded(self.read_bytes().removeprefix(codecs.BOM_UTF8), None)

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
                    self._check_lines(number, b"", begun)
                    continue
                block = b"".join(begun)
                begun = [rest]
                yield from self._decoded_lines(number, block, keep_empty)
                number += block.count(b"\n") + 1
        yield from self._decoded_lines(number, b"".join(begun), keep_empty)

    def _decoded_lines(self, number: int, block: bytes, keep_empty: bool) -> Iterator[tuple[int, str]]:
        if number == 1:
            block = block.removeprefix(codecs.BOM_UTF8)
        lines = (
            block if keep_empty else block.lstrip(b"\n")
        )  # a gzip file of empty lines alone is small, and has millions of them
        number += len(block) - len(lines)
        self._check_lines(number, lines, ())
        if not lines and not keep_empty:
            return
        try:
            yield number, lines.decode("utf-8")
        except UnicodeDecodeError:
            for k, line in enumerate(lines.split(b"\n"), number):
                yield k, self._decoded(line, k)

    def _check_lines(self, number: int, lines: bytes, begun: Sequence[bytes]) -> None:
        """Raise if one of these whole lines, or the line that has begun, is too long."""
        allowed = self.limits.max_line_bytes
        if len(lines) <= allowed and sum(map(len, begun)) <= allowed:
            return
        wrong = next((k for k, line in enumerate(lines.split(b"\n")) if len(line) > allowed), None)
        if wrong is not None or begun:
            with self.located(number + (wrong or 0)):
                raise too_large(f"more than {allowed:,} bytes in one line", "max_line_bytes", f"{allowed:,}")

    def _decoded(self, data: bytes, line: int | None) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            if line is None:
                line = data.count(b"\n", 0, error.start) + 1
            found = f"byte 0x{data[error.start]:02x} is not UTF-8"
            if data.startswith(_UTF16_MARKS):
                found = "this looks like UTF-16"
            raise FileError(f"{found}; save the file as UTF-8", self.name, line) from None

    def located(self, where: str | int | None = None) -> AbstractContextManager[None]:
        """Turn errors about a graph into errors about this place in this file."""
        return located(self.name, where)

    @contextmanager
    def record(self, where: str | int | None = None) -> Iterator[None]:
        """Read one graph within: errors name its place, and where bad graphs are skipped it is passed over."""
        try:
            with self.located(where):
                yield
        except LimitExceeded:  # a limit protects the reader, not the graph
            raise
        except FileError as error:
            if self._skipped is None:
                raise
            self._skipped.add(error)

    def error(self, problem: str, where: str | int | None = None) -> FileError:
        """An error about this file."""
        return FileError(problem, self.name, where)

    def notice(self, message: str) -> None:
        """Warn that something was left out, once per call however many files say the same."""
        if message not in self._noticed:
            self._noticed.add(message)
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
    """A stream that refuses to give more than a limit and speaks our errors."""

    _limit = "max_bytes"

    def __init__(self, stream: BinaryIO | gzip.GzipFile, name: str, limits: Limits) -> None:
        self._name, self._limits = name, limits
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)  # of a pipe what has come so far
        self.total = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._read(len(view))
        except EOFError:
            raise FileError("the gzip data ends too early; the file is truncated", self._name) from None
        except (zlib.error, gzip.BadGzipFile) as cause:
            raise FileError(f"damaged gzip data: {cause}", self._name) from None
        except OSError as cause:
            raise FileError(f"cannot be read: {cause.strerror or cause}", self._name) from None
        self.total += len(data)
        with located(self._name):
            self._check()
        view[: len(data)] = data
        return len(data)

    def _check(self) -> None:
        allowed = getattr(self._limits, self._limit)
        if self.total > allowed:
            raise too_large(f"more than {allowed:,} bytes", self._limit, f"{allowed:,}")


class _Unzipped(_Counted):
    """A decompressed stream that also keeps an eye on how much larger it is than what is stored."""

    _limit = "max_decompressed_bytes"

    def __init__(self, stream: gzip.GzipFile, name: str, limits: Limits, stored: _Counted) -> None:
        super().__init__(stream, name, limits)
        self._stored = stored

    def _check(self) -> None:
        super()._check()
        ratio = self._limits.max_compression_ratio
        if self.total > max(_RATIO_FROM, ratio * self._stored.total):
            found = f"{self._stored.total:,} bytes became more than {self.total:,} when decompressed"
            raise too_large(found, "max_compression_ratio", f"{ratio} to 1")


def natural_key(text: str | os.PathLike[str]) -> list[tuple[int, int, str]]:
    """A sorting key under which ``g2`` comes before ``g10``."""
    parts = (part for part in re.split("([0-9]+)", os.fspath(text)) if part)
    # Numbers compare by length, then digits: no conversion, so a name of ten thousand digits does no harm.
    return [(0, len(p.lstrip("0")), p.lstrip("0")) if p[0] in "0123456789" else (1, 0, p) for p in parts]

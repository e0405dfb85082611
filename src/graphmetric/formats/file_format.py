"""The record that describes a file format, and the warning about what a file or a conversion could not keep."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, ParamSpec, TypeAlias, TypeVar

from graphmetric.errors import ConversionWarning, InvalidArgument
from graphmetric.formats.file_source import FileSource, located
from graphmetric.graphs.columns import COLUMNS, Columns
from graphmetric.graphs.graph import Graph

Part: TypeAlias = Graph | Columns
"""The items of a reader: one graph, or many already packed."""

Writer: TypeAlias = "Callable[[Iterable[Graph], BinaryIO, ConversionLosses], None]"
"""Writes graphs as one file, and remembers what the file does not keep."""

EVERYTHING = frozenset({"directed", "id", "metadata", *COLUMNS})
"""The parts of a graph besides its nodes and edges."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """For formats whose reader has nothing to choose."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format by which graphs are read and perhaps written."""

    name: str
    """The value for ``format=``."""
    suffixes: tuple[str, ...]
    """File name endings that choose this format, lower case, without ``.gz``."""
    description: str
    """One line for listings."""
    holds: frozenset[str]
    """The members of :data:`EVERYTHING` that a file of this format can hold."""
    read: Callable[[FileSource, Any], Iterator[Part]]
    """Graphs of one source, lazily where the format permits."""
    write: Writer | None = None
    """Write graphs as one file; None if such files are only read, or are folders."""
    options: type = NoOptions
    """Dataclass of the reader's options."""
    one_graph_per_file: bool = False
    """Whether a file holds exactly one graph, so that several need a folder."""
    names_nodes: bool = False
    """Whether nodes have names in such files, so that ``metadata["node_names"]`` needs no place of its own."""
    claims_folder: Callable[[Path], bool] | None = None
    """Tests whether a folder as a whole is of this format; None if the format has no folder layout."""
    write_folder: Callable[[Iterable[Graph], Path, str, ConversionLosses], None] | None = None
    """Fill an empty folder with graphs; the text is the folder's final name."""

    def parsed_options(self, given: dict[str, Any], directed: bool | None = None, defaults: Any = None) -> Any:
        """The options as a record; raises :class:`InvalidArgument` for unknown names.

        ``directed`` is for every format: readers of files that may not say it take it as an option. ``defaults`` are
        options of any format; they are ignored unless it is this one.
        """
        known = [field.name for field in fields(self.options)]
        if isinstance(defaults, self.options):
            given = {name: getattr(defaults, name) for name in known} | given
        if "directed" in known:
            given = given | {"directed": directed}
        unknown = sorted(set(given) - set(known))
        if unknown:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            raise InvalidArgument(f"format {self.name!r} has no option {unknown[0]!r}; {has}")
        return self.options(**given)


def writer_of_lines(lines: Callable[[Graph, int, ConversionLosses], Iterable[str]]) -> Writer:
    """The writer of a format that has one graph after the other; ``lines`` gives those of one graph, given its place.

    Errors name the graph.
    """

    def write(graphs: Iterable[Graph], stream: BinaryIO, not_kept: ConversionLosses) -> None:
        for k, graph in enumerate(graphs):
            with located(None, f"graphs[{k}]"):
                text = "\n".join(lines(graph, k, not_kept))
            stream.write(text.encode("utf-8") + b"\n")

    return write


_P = ParamSpec("_P")
_T = TypeVar("_T")

MOLECULE_FACTS = {"charge": "charges", "stereo": "stereochemistry", "isotope": "isotopes"}
"""Facts about atoms and bonds that a warning names when they do not count. Hydrogens and aromatic atoms are not among
them, since they mostly follow from the rest."""


class ConversionLosses:
    """Everything that was left out or changed, however many graphs had it; warns of it when its block ends."""

    def __init__(self, function: str = "", advice: str = "") -> None:
        """``function`` is what leaves things out, ``advice`` what to do about it."""
        self._function = function
        self._advice = f"; {advice}" if advice else ""
        self._left_out: dict[str, None] = {}
        self._changes: set[str] = set()
        self.molecule_facts: set[str] = set()
        """Keys of :data:`MOLECULE_FACTS` that some molecule had and that do not count."""

    def leave_out(self, names: Iterable[object], kind: str = "") -> None:
        """Remember names of what was left out, such as attributes with ``kind="node attribute"``."""
        self._left_out.update(dict.fromkeys(f"{kind} {name!r}" if kind else str(name) for name in names))

    def change(self, sentence: str) -> None:
        """Remember a sentence about something that comes back differently."""
        self._changes.add(sentence)

    def sentences(self) -> list[str]:
        """All that there is to say."""
        sentences = sorted(self._changes)
        if self._left_out:
            sentences.append(f"{self._function} left out {', '.join(self._left_out)}{self._advice}")
        if self.molecule_facts:
            sentences.append(_sentence_on_molecules([name for name in MOLECULE_FACTS if name in self.molecule_facts]))
        return sentences

    def __enter__(self) -> ConversionLosses:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            for sentence in self.sentences():  # they point at the line that called the function with the block
                warnings.warn(ConversionWarning(sentence), stacklevel=3)


def warns_at_the_end(advice: str = "") -> Callable[[Callable[Concatenate[ConversionLosses, _P], _T]], Callable[_P, _T]]:
    """Give a conversion its :class:`ConversionLosses` as first argument, and warn when it is done.

    The conversion itself, for those who gather over many graphs, is the attribute ``__wrapped__``.
    """

    def decorate(function: Callable[Concatenate[ConversionLosses, _P], _T]) -> Callable[_P, _T]:
        @wraps(function)
        def warned(*arguments: _P.args, **options: _P.kwargs) -> _T:
            with ConversionLosses(function.__name__, advice) as not_kept:
                return function(not_kept, *arguments, **options)

        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())[1:]
        warned.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return warned

    return decorate


def _sentence_on_molecules(names: list[str]) -> str:
    *others, last = (MOLECULE_FACTS[name] for name in names)
    listed = f"{', '.join(others)} and {last}" if others else last
    python = repr(tuple(names) if others else names[0])
    return (
        f"{listed} of molecules {'does' if names == ['stereo'] else 'do'} not count: distances are 0 between molecules "
        f"that differ in nothing else (distinguish={python}, or --distinguish {','.join(names)} on the command line, "
        "makes them count)"
    )

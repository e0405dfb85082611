"""Where graphs come from on the command line, and the options that every command has that reads them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from graphmetric.datasets import Dataset, dataset_names, load_dataset, recognize_dataset
from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.formats import Limits, formats, iter_graphs, read_graphs
from graphmetric.formats.conversion import from_smiles
from graphmetric.formats.file_source import DEFAULT_LIMITS
from graphmetric.formats.molecules import DISTINCTIONS, checked_distinctions
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.summary import unequal_numbers

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Reading:
    """How graphs are read: what the shared options of the command line say."""

    root: str | None = None
    """Folder of the benchmark data sets."""
    file_format: str | None = None
    node_label: str | None = None
    edge_label: str | None = None
    directed: bool | None = None
    distinguish: tuple[str, ...] = ()
    skip_bad: bool = False
    limits: Limits = DEFAULT_LIMITS

    def options_of_files(self) -> dict[str, Any]:
        """The options that :func:`read_graphs` takes and that were given."""
        given: dict[str, Any] = {"node_label": self.node_label, "edge_label": self.edge_label}
        given |= {"directed": self.directed, "on_error": "skip" if self.skip_bad else None}
        given |= {"distinguish": self.distinguish or None}
        return {name: value for name, value in given.items() if value is not None}


def _limits(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> Limits:
    """``--limits max_nodes=1000,max_graphs=10``, or ``--limits none`` for data that is trusted."""
    known = [field.name for field in fields(Limits)]
    changes: dict[str, int] = {}
    for item in ",".join(given).split(",") if given else ():
        name, _, value = item.strip().partition("=")
        if item.strip() == "none":
            changes |= dict.fromkeys(known, 2**62)
        elif name in known and value.replace("_", "").isdecimal():
            changes[name] = int(value)
        else:
            raise click.BadParameter(f"{item!r} is not NAME=NUMBER or none; names are {', '.join(known)}")
    return replace(DEFAULT_LIMITS, **changes)


def _distinctions(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return checked_distinctions(name.strip() for name in ",".join(given).split(",") if name.strip())
    except InvalidArgument as error:
        raise click.BadParameter(str(error)) from None


_OPTIONS = (
    click.option(
        "--format",
        "file_format",
        metavar="NAME",
        help=f"Format of the files, where the suffix does not tell: {', '.join(known.name for known in formats())}.",
    ),
    click.option("--node-label", metavar="ATTR", help="Attribute of the nodes that is their label."),
    click.option("--edge-label", metavar="ATTR", help="Attribute of the edges that is their label."),
    click.option(
        "--directed/--undirected",
        default=None,
        help="Make all graphs directed or undirected; else they are as the files say.",
    ),
    click.option(
        "--distinguish",
        multiple=True,
        callback=_distinctions,
        metavar="NAMES",
        help=f"Facts that tell atoms and bonds of SMILES and SDF apart, too: {', '.join(DISTINCTIONS)}, or all.",
    ),
    click.option("--skip-bad", is_flag=True, help="Pass over graphs that cannot be read, and say how many."),
    click.option(
        "--limits",
        multiple=True,
        callback=_limits,
        metavar="NAME=N",
        help="Limits of the readers, such as max_nodes=1000; none for files you trust.",
    ),
    click.option("--root", type=click.Path(file_okay=False), help="Folder that holds the benchmark data sets."),
)


def reading_options(command: _Command) -> _Command:
    """Give a command the options of reading graphs; it gets them as one argument ``reading``."""

    @wraps(command)
    def with_reading(*arguments: Any, **parameters: Any) -> Any:
        chosen = {field.name: parameters.pop(field.name) for field in fields(Reading)}
        return command(*arguments, reading=Reading(**chosen), **parameters)

    decorated: Any = with_reading
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Source:
    """Graphs and how they were understood."""

    graphs: GraphCollection
    read_as: str
    dataset: Dataset | None = None
    """With its split and distances, where it is one that is known by name."""


def open_source(source: str, reading: Reading = Reading(), *, edge_labels: bool | None = None) -> Source:  # noqa: B008
    """Read graphs from a data set's name or from a path; raises where there is no graph at all.

    A file in the layout of a known benchmark is read as that benchmark, so that AIDS700nef comes without bond labels
    from its file as it does from its name; name a format to read it plainly.
    """
    path = Path(source)
    options = reading.options_of_files()
    if reading.file_format is None and not path.exists() and source in dataset_names():
        _refuse_options(options, f"{source} is a data set, which is read as it is")
        dataset = load_dataset(source, root=reading.root, edge_labels=edge_labels)
        return Source(dataset.graphs, "data set", dataset)
    if reading.file_format is None and (name := recognize_dataset(path)) is not None:
        _refuse_options(options, f"{source} is the benchmark {name}; add --format to read the file plainly")
        dataset = load_dataset(name, root=path.parent, edge_labels=edge_labels)
        return Source(dataset.graphs, f"the benchmark {name}", dataset)
    graphs = read_graphs(source, format=reading.file_format, limits=reading.limits, **options)
    if not len(graphs):
        raise InvalidArgument(f"{source} holds no graphs")
    return Source(graphs, reading.file_format or "files")


def _refuse_options(options: dict[str, Any], reason: str) -> None:
    for name, value in options.items():
        typed = {"on_error": "--skip-bad", "directed": "--directed" if value else "--undirected"}
        raise InvalidArgument(f"{typed.get(name) or '--' + name.replace('_', '-')} is for files; {reason}")


def warn_of_unequal_numbers(graphs: Iterable[Graph], ignored: Collection[str] = ()) -> None:
    """Warn of attributes that make nearly everything different, so that an edit distance says nothing."""
    try:
        together = GraphCollection(graphs)
    except InvalidGraph:  # features of different lengths, of which the distance itself tells
        return
    for sentence in unequal_numbers(together, ignored):
        warnings.warn(sentence, stacklevel=2)


def stream_source(source: str, reading: Reading = Reading()) -> tuple[Iterator[Graph], int | None]:  # noqa: B008
    """The graphs one by one, so that a file or standard input may be longer than memory, and their number if known."""
    if _split_position(source) is not None:
        return iter([open_graph(source, reading)]), 1
    path = Path(source)
    is_dataset = not path.exists() and source in dataset_names()
    if reading.file_format is None and (is_dataset or recognize_dataset(path) is not None):
        graphs = open_source(source, reading).graphs
        return iter(graphs), len(graphs)
    options = reading.options_of_files()
    return iter_graphs(source, format=reading.file_format, limits=reading.limits, **options), None


def _split_position(text: str) -> tuple[str, int] | None:
    """``SOURCE:POSITION`` in its parts; None if it is not one."""
    source, colon, position = text.rpartition(":")
    return (source, int(position)) if colon and position.isdecimal() and not Path(text).exists() else None


def open_graph(text: str, reading: Reading = Reading(), *, smiles: bool = False, advice: str = "") -> Graph:  # noqa: B008
    """One graph: a file that holds one, ``SOURCE:POSITION``, or a SMILES.

    ``advice`` is what else the command can do with a file that holds many.
    """
    if smiles:
        return from_smiles(text, id=text, distinguish=reading.distinguish)
    chosen = _split_position(text)
    if chosen is None:
        graphs = open_source(text, reading).graphs
        if len(graphs) != 1:
            raise InvalidArgument(f"{text} holds {len(graphs)} graphs; choose one as {text}:0, {text}:1, ...{advice}")
        return graphs[0]
    source, position = chosen
    graphs = open_source(source, reading).graphs
    if position >= len(graphs):
        raise InvalidArgument(f"{source} holds {len(graphs)} graphs, so {text} does not exist; the first is {source}:0")
    return graphs[position]

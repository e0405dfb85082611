"""Graphs that are named on the command line, and the options for reading them that many commands share."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmetric.cli.options import FOLDER, gathered
from graphmetric.datasets import Dataset, dataset_names, dataset_reading, load_dataset, recognize_dataset
from graphmetric.edit_distance import EditCosts
from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.formats import ReadLimits, available_formats, iter_graphs, read_graphs
from graphmetric.formats.conversion import from_smiles
from graphmetric.formats.file_source import DEFAULT_LIMITS
from graphmetric.formats.files import molecule_options
from graphmetric.formats.molecules import DISTINCTIONS, MoleculeOptions, checked_distinctions
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.summary import nearly_unique_attributes
from graphmetric.index.building import check_reading

if TYPE_CHECKING:
    from graphmetric.search import GraphIndex

TYPED = "graphmetric.typed"
"""Key in the context of a command: the whole command, as a shell takes it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Reader of graphs, according to the shared options."""

    root: str | None = None
    """Folder of the benchmark data sets."""
    file_format: str | None = None
    limits: ReadLimits = DEFAULT_LIMITS
    options: dict[str, Any] = field(default_factory=dict)
    """Arguments of :func:`~graphmetric.read_graphs` that were given, by name."""
    molecules: MoleculeOptions | None = None
    """Options for reading molecules, unless given on the command line."""

    @classmethod
    def of(cls, root: str | None, file_format: str | None, reading_limits: ReadLimits, **options: Any) -> Reading:
        """From the values of all options, given or not."""
        given = {name: value for name, value in options.items() if value not in (None, ())}
        return cls(root, file_format, reading_limits, given)

    def like(self, index: GraphIndex) -> Reading:
        """Return a reader of molecules as those of an index; ``--distinguish`` must agree with the index."""
        if "distinguish" in self.options and index.reading is not None:
            check_reading(MoleculeOptions(self.options["distinguish"]), index.reading, "graphs")
        return replace(self, molecules=index.reading)

    def molecule_options(self, source: str) -> MoleculeOptions | None:
        """Return the options by which molecules of a source are read; None if it has none or they are not recorded."""
        path = source if (chosen := _split_position(source)) is None else chosen[0]
        if (known := _dataset_of(path, self)) is not None:
            return dataset_reading(known[0])
        return molecule_options(path, self.file_format, self.molecules, self.distinguish_option)

    @property
    def distinguish_option(self) -> dict[str, Any]:
        """The ``distinguish`` argument if it was given: of all options the one that is for molecules."""
        return {name: value for name, value in self.options.items() if name == "distinguish"}


def _limits(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> ReadLimits:
    """``--reading-limits max_nodes=1000,max_graphs=10``, or ``none`` for data that is trusted."""
    known = [field.name for field in fields(ReadLimits)]
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


_FORMATS = (
    f"Format of the files, if their suffix does not say it: {', '.join(known.name for known in available_formats())}."
)
_FACTS = f"Also distinguish atoms and bonds of SMILES and SDF by these: {', '.join(DISTINCTIONS)}, or all."
_DIRECTIONS = "Make all graphs directed or undirected. By default they are as in the files."
_SKIP = "Skip graphs that cannot be read, and report how many."
_LIMITS = "Limits of the readers, such as max_nodes=1000, or none for files that you trust."
_OPTIONS = {
    "file_format": click.option("--format", "file_format", metavar="NAME", help=_FORMATS),
    "node_label": click.option("--node-label", metavar="ATTR", help="Take this node attribute as the node label."),
    "edge_label": click.option("--edge-label", metavar="ATTR", help="Take this edge attribute as the edge label."),
    "directed": click.option("--directed/--undirected", default=None, help=_DIRECTIONS),
    "distinguish": click.option("--distinguish", multiple=True, callback=_distinctions, metavar="NAMES", help=_FACTS),
    "on_error": click.option("--skip-bad", "on_error", flag_value="skip", help=_SKIP),
    "reading_limits": click.option(
        "--reading-limits",
        multiple=True,
        callback=_limits,
        metavar="NAME=N",
        help=_LIMITS,
    ),
    "root": click.option("--root", type=FOLDER, help="Folder that holds the benchmark data sets."),
}
"""The options for reading graphs, by the names of their parameters."""

reading_options = gathered("reading", Reading.of, _OPTIONS)


class GraphCommand(click.Command):
    """A command that keeps its given options, and whose help lists the options for reading graphs last."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[TYPED] = shlex.join(["graphmetric", str(ctx.info_name), *args])
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own, shared = list[tuple[str, str]](), list[tuple[str, str]]()
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                (shared if parameter.name in _OPTIONS else own).append(record)
        for title, records in (("Options", own), ("Options for reading graphs", shared)):
            with formatter.section(title):
                formatter.write_dl(records)


@dataclass(frozen=True, slots=True)
class Source:
    """The graphs of a source, and how it was understood."""

    graphs: GraphCollection
    read_as: str
    dataset: Dataset | None = None
    """The data set with its split and distances, if the source is one."""


def open_source(source: str, reading: Reading = Reading(), *, edge_labels: bool | None = None) -> Source:  # noqa: B008
    """Read graphs from a path or the name of a data set; raises if there is no graph.

    A file in the layout of a supported benchmark is read as that benchmark, so that AIDS700nef comes without bond
    labels from its file as it does from its name; name a format to read it plainly.
    """
    if (known := _dataset_of(source, reading)) is not None:
        name, root, read_as = known
        dataset = load_dataset(name, root=root, edge_labels=edge_labels)
        check_reading(dataset.graphs.reading, reading.molecules, f"the graphs of {source}")
        return Source(dataset.graphs, read_as, dataset)
    graphs = read_graphs(
        source, format=reading.file_format, limits=reading.limits, reading=reading.molecules, **reading.options
    )
    if not len(graphs):
        raise InvalidArgument(f"{source} holds no graphs")
    return Source(graphs, reading.file_format or "files")


def stream_source(source: str, reading: Reading = Reading()) -> tuple[Iterator[Graph], int | None]:  # noqa: B008
    """Return the graphs one by one, so that a source may be larger than memory, and their number if known."""
    if _split_position(source) is not None:
        return iter([open_graph(source, reading)]), 1
    if _dataset_of(source, reading) is not None:
        graphs = open_source(source, reading).graphs
        return iter(graphs), len(graphs)
    options = {"limits": reading.limits, "reading": reading.molecules, **reading.options}
    return iter_graphs(source, format=reading.file_format, **options), None


def open_graph(text: str, reading: Reading = Reading(), *, smiles: bool = False, advice: str = "") -> Graph:  # noqa: B008
    """Read one graph: a file that holds one, ``SOURCE:POSITION``, or a SMILES.

    ``advice`` names the alternative for a file that holds many.
    """
    if smiles:
        options = asdict(reading.molecules or MoleculeOptions()) | reading.distinguish_option
        return from_smiles(text, id=text, **options)
    chosen = _split_position(text)
    source, position = (text, 0) if chosen is None else chosen
    graphs = open_source(source, reading).graphs
    if chosen is None and len(graphs) != 1:
        raise InvalidArgument(f"{text} holds {len(graphs)} graphs; choose one as {text}:0, {text}:1, ...{advice}")
    if position >= len(graphs):
        raise InvalidArgument(f"{source} holds {len(graphs)} graphs, so {text} does not exist; the first is {source}:0")
    return graphs[position]


def _dataset_of(source: str, reading: Reading) -> tuple[str, Any, str] | None:
    """The name, folder and description of the data set that ``source`` stands for; None for plain files."""
    if reading.file_format is not None:
        return None
    path = Path(source)
    if not path.exists() and source in dataset_names():
        known: tuple[str, Any, str] = (source, reading.root, "data set")
        reason = f"{source} is a data set, which is read as it is"
    elif (name := recognize_dataset(path)) is not None:
        known = (name, path.parent, f"the benchmark {name}")
        reason = f"{source} is the benchmark {name}; add --format to read the file plainly"
    else:
        return None
    for option, value in reading.options.items():
        typed = {"on_error": "skip-bad", "directed": "directed" if value else "undirected"}
        raise InvalidArgument(f"--{typed.get(option, option.replace('_', '-'))} is for files; {reason}")
    return known


def _split_position(text: str) -> tuple[str, int] | None:
    """The two parts of ``SOURCE:POSITION``; None if the text has another form."""
    source, colon, position = text.rpartition(":")
    return (source, int(position)) if colon and position.isdecimal() and not Path(text).exists() else None


def warn_of_nearly_unique_attributes(graphs: Iterable[Graph], costs: EditCosts | None) -> None:
    """Warn of attributes that make nearly all nodes or edges different, so that edit distances are uninformative."""
    try:
        together = GraphCollection(graphs)
    except InvalidGraph:  # features of different lengths, which the distance itself reports
        return
    for sentence in nearly_unique_attributes(together, (costs or EditCosts()).not_compared):
        warnings.warn(sentence, stacklevel=2)

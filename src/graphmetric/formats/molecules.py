"""Molecules through RDKit (the extra ``molecules``): SMILES, RDKit's own objects, and files of SMILES, SDF or MOL.

Nodes are atoms with their element symbols as labels, edges are bonds labeled ``"1"``, ``"2"``, ``"3"`` or
``"aromatic"`` (rarer kinds by RDKit's name in lower case, such as ``"dative"``). Hydrogens that RDKit keeps implicit
are not nodes. Charges, stereochemistry and isotopes do not count unless ``distinguish`` names them, which a
:class:`~graphmetric.errors.ConversionWarning` says; hydrogen counts, radicals and coordinates are not carried over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from threading import Lock
from typing import TYPE_CHECKING, Any

from graphmetric.errors import InvalidArgument, InvalidGraph, needs_extra
from graphmetric.formats.file_format import MOLECULE_FACTS, ConversionLosses, FileFormat, warns_at_the_end
from graphmetric.formats.file_source import FileSource
from graphmetric.formats.values import id_from_text, shortened, value_from_text
from graphmetric.graphs.columns import COLUMNS
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from rdkit.Chem import Mol

DISTINCTIONS = ("charge", "stereo", "aromaticity", "isotope", "hydrogens")
"""Optional properties that distinguish atoms and bonds, besides elements and bond types."""

_MAY_HAVE_FACTS = re.compile(r"[@/\\]|\[\d|\[[^\]]*[+-]")
"""A SMILES without any of these has no stereochemistry, isotope or charge. Checking its atoms takes longer."""
LONGEST_SMILES = 5_000
"""Characters. RDKit's time grows faster than the square of the length: some texts of 50,000 take minutes."""

LARGEST_RECORD = 1 << 20
"""Characters of one molecule of an SDF file: about ten thousand atoms."""

_READING_VERSION = 1
"""The version of recorded options; it rises when an option is added."""
_MOST_COMPARISONS = 1_250_000
"""Comparisons of branches to tell R from S; about a second. Molecules need a few hundred."""

_BOND_LABELS = {"SINGLE": "1", "DOUBLE": "2", "TRIPLE": "3", "QUADRUPLE": "4"}
_BOND_TYPES = {label: name for name, label in _BOND_LABELS.items()}
_ATOM_LABEL = re.compile(
    r"(?P<isotope>\d+)?(?:[A-Z][a-z]?|(?P<aromaticity>as|se|si|te|[bcnops]))(?P<hydrogens>H\d*)?(?P<charge>[+-]\d*)?"
    r"(?P<stereo>\([EZRSMPrsmp]\))?"
)
_DISTINGUISHED_BOND_LABEL = re.compile(r"[\da-z]+(?P<stereo>\([EZRSMPrsmp]\))")
_FIELD = re.compile(r"^> [^<\n]*<([^>\n]*)>.*\n((?:.*\S.*\n)*)", re.MULTILINE)
"""A line ``> <NAME>``, then values up to an empty line."""

_rdkit_log = Lock()
"""RDKit's log is one for the whole process; two threads that silence it at once could leave it silent."""


def checked_distinctions(given: str | Iterable[str]) -> tuple[str, ...]:
    """The names of :data:`DISTINCTIONS` that were asked for; ``"all"`` is all of them."""
    names = [given] if isinstance(given, str) else list(given)
    unknown = next((name for name in names if name not in (*DISTINCTIONS, "all")), None)
    if unknown is not None:
        raise InvalidArgument(f"distinguish takes {', '.join(DISTINCTIONS)} or all; got {unknown!r}")
    return tuple(name for name in DISTINCTIONS if name in names or "all" in names)


def distinctions_in_labels(
    node_labels: Iterable[Hashable] | None, edge_labels: Iterable[Hashable] | None
) -> dict[str, str]:
    """The :data:`DISTINCTIONS` that labels show if they are those of molecules, each with an example label."""
    found: dict[str, str] = {}
    for pattern, labels in ((_ATOM_LABEL, node_labels), (_DISTINGUISHED_BOND_LABEL, edge_labels)):
        for label in labels or ():
            match = pattern.fullmatch(label) if isinstance(label, str) else None
            if match is None:
                continue
            for name, part in match.groupdict().items():
                if part:
                    found.setdefault(name, match[0])
    return {name: found[name] for name in DISTINCTIONS if name in found}


@warns_at_the_end()
def from_smiles(
    not_kept: ConversionLosses,
    smiles: str,
    *,
    kekulize: bool = False,
    distinguish: str | Iterable[str] = (),
    id: Hashable = None,
) -> Graph:
    """The molecule that a SMILES text describes; a title after a blank becomes the ``id`` unless one is given.

    The text is kept as ``metadata["smiles"]``.

    ``kekulize=True`` writes aromatic bonds as alternating ``"1"`` and ``"2"``, as the AIDS benchmark does. Which bond
    is which is then arbitrary, so equal molecules may become different graphs.

    ``distinguish`` names what else tells atoms and bonds apart: ``"charge"`` (labels such as ``N+``, ``O-``),
    ``"stereo"`` (``C(R)``, ``C(S)``; double bonds ``2(E)``, ``2(Z)``), ``"aromaticity"`` (aromatic atoms in lower
    case), ``"isotope"`` (``13C``), ``"hydrogens"`` (``NH2``), several of them, or ``"all"``.

    Example:
        >>> from_smiles("CCO ethanol")
        Graph('ethanol', 3 nodes, 2 edges, labels C:2 O, edge labels 1:2)
    """
    if not isinstance(smiles, str):
        raise InvalidArgument(f"a SMILES is a string; got a {type(smiles).__name__}")
    if not smiles.strip():
        raise InvalidGraph("the SMILES is empty")
    if len(smiles) > LONGEST_SMILES:
        raise InvalidGraph(f"the SMILES has {len(smiles):,} characters; {LONGEST_SMILES:,} are allowed, see from_rdkit")
    if not smiles.isascii() or not smiles.replace("\t", " ").isprintable():
        raise InvalidGraph(f"SMILES {shortened(smiles, 80)} has characters outside printable ASCII")
    chem = _chem("reading SMILES")
    with _silent_rdkit():
        molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise InvalidGraph(f"SMILES {shortened(smiles, 80)} cannot be read: {_problem_of_smiles(smiles)}")
    distinguish = checked_distinctions(distinguish)
    if _MAY_HAVE_FACTS.search(smiles):
        not_kept.molecule_facts |= _facts_that_do_not_count(molecule, distinguish, not_kept.molecule_facts)
    return _as_graph(molecule, kekulize, distinguish, id).replace(metadata={"smiles": smiles.split()[0]})


@warns_at_the_end()
def from_rdkit(
    not_kept: ConversionLosses,
    molecule: Mol,
    *,
    kekulize: bool = False,
    distinguish: str | Iterable[str] = (),
    id: Hashable = None,
) -> Graph:
    """An RDKit molecule; it is not changed. Its name, where it has one, becomes the ``id`` unless one is given.

    Hydrogens that are atoms of the molecule, as after ``AddHs``, are nodes. ``kekulize`` and ``distinguish`` as in
    :func:`from_smiles`.
    """
    if not hasattr(molecule, "GetAtoms"):
        raise InvalidArgument(f"from_rdkit takes an rdkit Mol; got a {type(molecule).__name__}")
    distinguish = checked_distinctions(distinguish)
    not_kept.molecule_facts |= _facts_that_do_not_count(molecule, distinguish, not_kept.molecule_facts)
    return _as_graph(molecule, kekulize, distinguish, id)


def _as_graph(molecule: Mol, kekulize: bool, distinguish: tuple[str, ...], id: Hashable) -> Graph:
    if kekulize:
        molecule = _chem().Mol(molecule)
        with _refused("the molecule cannot be kekulized"):
            _chem().Kekulize(molecule, clearAromaticFlags=True)
    if "stereo" in distinguish:  # R or S, E or Z do not depend on how atoms are numbered
        from rdkit.Chem import rdCIPLabeler

        molecule = _chem().Mol(molecule)
        with _refused("the stereochemistry of the molecule cannot be determined"):
            rdCIPLabeler.AssignCIPLabels(molecule, maxRecursiveIterations=_MOST_COMPARISONS)
    bonds = [molecule.GetBondWithIdx(k) for k in range(molecule.GetNumBonds())]
    if id is None and molecule.HasProp("_Name"):
        id = molecule.GetProp("_Name") or None
    return Graph(
        molecule.GetNumAtoms(),
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        node_labels=[_atom_label(molecule.GetAtomWithIdx(k), distinguish) for k in range(molecule.GetNumAtoms())],
        edge_labels=[_bond_label(bond) + _stereo(bond, distinguish) for bond in bonds],
        id=id,
    )


_converted: Callable[..., Graph] = from_rdkit.__wrapped__  # type: ignore[attr-defined]
"""The conversion without its warning, for those who gather what does not count over many molecules."""


def _facts_that_do_not_count(molecule: Mol, distinguish: Sequence[str], known: set[str]) -> set[str]:
    """Return those of :data:`MOLECULE_FACTS` in this molecule that are neither distinguished nor known already."""
    wanted = [name for name in MOLECULE_FACTS if name not in distinguish and name not in known]
    chem, atoms = _chem(), molecule.GetAtoms()
    found = {
        "charge": lambda: any(atom.GetFormalCharge() for atom in atoms),
        "isotope": lambda: any(atom.GetIsotope() for atom in atoms),
        "stereo": lambda: (
            any(atom.GetChiralTag() != chem.ChiralType.CHI_UNSPECIFIED for atom in atoms)
            or any(bond.GetStereo() > chem.BondStereo.STEREOANY for bond in molecule.GetBonds())
        ),
    }
    return {name for name in wanted if found[name]()}


def _atom_label(atom: Any, distinguish: Sequence[str]) -> str:
    """As in the brackets of a SMILES: isotope, symbol, hydrogens, charge; then R or S."""
    symbol: str = atom.GetSymbol()
    if not distinguish:
        return symbol
    if "aromaticity" in distinguish and atom.GetIsAromatic():
        symbol = symbol.lower()
    if "isotope" in distinguish and atom.GetIsotope():
        symbol = f"{atom.GetIsotope()}{symbol}"
    if "hydrogens" in distinguish and (count := atom.GetTotalNumHs()):
        symbol += "H" if count == 1 else f"H{count}"
    if "charge" in distinguish and (charge := atom.GetFormalCharge()):
        symbol += ("+" if charge > 0 else "-") + ("" if abs(charge) == 1 else str(abs(charge)))
    return symbol + _stereo(atom, distinguish)


def _bond_label(bond: Any) -> str:
    name = bond.GetBondType().name
    return _BOND_LABELS.get(name) or name.lower()


def _stereo(atom_or_bond: Any, distinguish: Sequence[str]) -> str:
    known = "stereo" in distinguish and atom_or_bond.HasProp("_CIPCode")
    return f"({atom_or_bond.GetProp('_CIPCode')})" if known else ""


@warns_at_the_end()
def to_rdkit(not_kept: ConversionLosses, graph: Graph, *, sanitize: bool = True) -> Mol:
    """The neutral molecule with these atoms and bonds, its hydrogens filled in by RDKit's valence rules.

    A graph has no charges and no hydrogen counts, so some graphs of real molecules (the charged N of a nitro group,
    the N-H of pyrrole) have no such molecule and raise :class:`InvalidGraph`; ``sanitize=False`` gives their bare
    atoms and bonds, good enough to draw. Where a graph has no edge labels all bonds are single.
    """
    chem = _chem("to_rdkit")
    if graph.node_labels is None:
        raise InvalidGraph("a molecule needs element symbols as node labels; the graph has none")
    if graph.directed:
        raise InvalidGraph("a molecule is undirected; the graph is directed")
    molecule = chem.RWMol()
    for node, symbol in enumerate(graph.node_labels):
        with _refused(f"node {node} has label {symbol!r}, which is not an element symbol"):
            molecule.AddAtom(chem.Atom(symbol if isinstance(symbol, str) else ""))
    for (u, v), label in zip(graph.edges.tolist(), graph.edge_labels or ["1"] * graph.num_edges, strict=True):
        _add_bond(molecule, u, v, label)
    if graph.id is not None:
        molecule.SetProp("_Name", str(graph.id))
    if sanitize:
        with _refused("no neutral molecule has these atoms and bonds"):
            chem.SanitizeMol(molecule)
    others = [name for name in COLUMNS if not name.endswith("labels")]
    not_kept.leave_out(name for name in others if graph.column(name) is not None)
    not_kept.leave_out(["metadata"] if graph.metadata.keys() - {"smiles"} else [])
    return molecule.GetMol()  # type: ignore[no-any-return]


def to_smiles(graph: Graph) -> str:
    """The canonical SMILES of :func:`to_rdkit`."""
    smiles: str = _chem("to_smiles").MolToSmiles(to_rdkit(graph.replace(metadata=None)))
    return smiles


def _add_bond(molecule: Any, u: int, v: int, label: Hashable) -> None:
    types = _chem().BondType
    kind = types.names.get(_BOND_TYPES.get(label) or str(label).upper())  # type: ignore[call-overload]
    if kind is None or u == v:
        known = ", ".join(map(repr, _BOND_TYPES))
        problem = "is a self-loop" if u == v else f"has label {label!r}; bonds are {known}, 'aromatic', ..."
        raise InvalidGraph(f"edge ({u}, {v}) {problem}")
    molecule.AddBond(u, v, kind)
    if kind == types.AROMATIC:
        molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(True)
        for end in (u, v):
            molecule.GetAtomWithIdx(end).SetIsAromatic(True)


def _chem(purpose: str = "a molecule") -> Any:
    """RDKit's module of molecules."""
    with needs_extra("molecules", purpose):
        from rdkit import Chem
    return Chem


@contextmanager
def _silent_rdkit() -> Iterator[None]:
    from rdkit import rdBase

    with _rdkit_log, rdBase.BlockLogs():
        yield


@contextmanager
def _refused(problem: str) -> Iterator[None]:
    """Within, RDKit is silent, and what it refuses is an :class:`InvalidGraph`."""
    try:
        with _silent_rdkit():
            yield
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip()  # several lines are about RDKit's own assumptions
        raise InvalidGraph(problem if "\n" in reason else f"{problem}: {reason}") from None


def _problem_of_smiles(smiles: str) -> str:
    """Why RDKit refused it. Problems of chemistry raise an exception; those of syntax are only in the log."""
    from rdkit import rdBase

    chem = _chem()
    with _silent_rdkit():
        molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is not None and (problem := _problem_of_chemistry(molecule)):
        return problem
    if not hasattr(rdBase, "CaptureErrorLog"):  # RDKit before 2026.3
        return "it does not follow the SMILES syntax"
    with _rdkit_log, rdBase.CaptureErrorLog() as log:
        chem.MolFromSmiles(smiles, sanitize=False)
    found = re.search(r"SMILES Parse Error: (.*?)(?: while parsing| for input|$)", log.messages, re.MULTILINE)
    place = re.search(r"around position (\d+)", log.messages)
    words = found[1] if found else "it does not follow the SMILES syntax"
    return f"{words} around position {place[1]}" if place else words


def _problem_of_chemistry(molecule: Any) -> str:
    """Return RDKit's objection to these atoms and bonds; empty if it has none that is about the molecule."""
    try:
        with _silent_rdkit():
            _chem().SanitizeMol(molecule)
    except ValueError as error:
        return str(error)
    except RuntimeError:  # of RDKit's own assumptions, in words that say nothing about the molecule
        pass
    return ""


@dataclass(frozen=True, slots=True)
class MoleculeOptions:
    """Reading options of molecules. An index stores them, so that queries are read like its graphs."""

    distinguish: str | Sequence[str] = ()
    """Properties that distinguish atoms and bonds, besides elements and bond types: ``"charge"``, ``"stereo"``,
    ``"aromaticity"``, ``"isotope"``, ``"hydrogens"``, several of them, or ``"all"``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "distinguish", checked_distinctions(self.distinguish))

    def __str__(self) -> str:
        *others, last = ("elements", "bond types", *self.distinguish)
        return f"{', '.join(others)} and {last}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, with the version of this record."""
        return {"version": _READING_VERSION, **{name: list(value) for name, value in asdict(self).items()}}

    @classmethod
    def from_dict(cls, data: Any) -> MoleculeOptions:
        """The options that :meth:`to_dict` wrote."""
        known = {"version", *(field.name for field in fields(cls))}
        version = data.get("version") if isinstance(data, dict) else None
        if version != _READING_VERSION or data.keys() != known:
            raise InvalidArgument(
                f"how the molecules were read is recorded as {shortened(data)}; this graphmetric reads version "
                f"{_READING_VERSION} of such records: install the one that wrote it"
            )
        return cls(**{name: value for name, value in data.items() if name != "version"})


def read_smiles_lines(source: FileSource, options: MoleculeOptions) -> Iterator[Graph]:
    """Heavy-atom graphs, line by line; a first line that is a header is skipped."""
    _chem("reading SMILES")
    convert: Callable[..., Graph] = from_smiles.__wrapped__  # type: ignore[attr-defined]
    with _noticed(source) as not_kept:
        for number, line in source.lines():
            smiles, *name = line.split(maxsplit=1) or [""]
            if not smiles or line.startswith("#") or (number == 1 and smiles.lower() == "smiles"):
                continue
            with source.record(number):
                id = id_from_text(name[0].strip()) if name else None
                graph = convert(not_kept, smiles, distinguish=options.distinguish, id=id)
                source.limits.check(nodes=graph.num_nodes, edges=graph.num_edges)
                yield graph


def read_sdf(source: FileSource, options: MoleculeOptions) -> Iterator[Graph]:
    """Heavy-atom graphs, record by record; the title is the id, the data fields and the SMILES are metadata."""
    _chem("reading SDF")
    with _noticed(source) as not_kept:
        for number, lines in _records(source):
            with source.record(number):
                if not any(lines):
                    raise InvalidGraph("the record is empty")
                block, metadata = _parts(lines)
                id = id_from_text(lines[0].strip())
                molecule = _molecule_of_block(block)
                graph = _converted(not_kept, molecule, distinguish=options.distinguish, id=id)
                source.limits.check(nodes=graph.num_nodes, edges=graph.num_edges)
                if not any(name.lower() == "smiles" for name in metadata):
                    metadata["smiles"] = _chem().MolToSmiles(molecule)
                yield graph.replace(metadata=metadata)


@contextmanager
def _noticed(source: FileSource) -> Iterator[ConversionLosses]:
    """Gathers what does not count over all molecules of a file, and says it as the file's."""
    not_kept = ConversionLosses()
    yield not_kept
    for sentence in not_kept.sentences():
        source.notice(sentence)


def _molecule_of_block(block: str) -> Any:
    """The molecule of a MOL block, the part of an SDF record before its data fields."""
    chem = _chem()
    if not block.isascii() or "\0" in block:
        block = block.encode("ascii", "replace").decode().replace("\0", "?")  # only titles and comments can hold others
    try:
        with _silent_rdkit():
            molecule = chem.MolFromMolBlock(block)
    except RuntimeError:
        molecule = None
    if molecule is None:
        with _silent_rdkit():
            unchecked = chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
        syntax = "it does not follow the MOL format (V2000 or V3000)"
        reason = syntax if unchecked is None else _problem_of_chemistry(unchecked) or "RDKit refuses it"
        raise InvalidGraph(f"the molecule cannot be read: {reason}")
    molecule.ClearProp("_Name")
    return molecule


def _records(source: FileSource) -> Iterator[tuple[int, list[str]]]:
    """The lines of each molecule with the number of the first."""
    start, lines, size = 1, [], 0  # type: int, list[str], int
    for first, text in source.texts(keep_empty=True):
        for number, line in enumerate(text.split("\n"), first):
            if line.startswith("$$$$"):
                yield start, lines
                start, lines, size = number + 1, [], 0
                continue
            lines.append(line.rstrip("\r"))
            size += len(line) + 1
            if size > LARGEST_RECORD:
                raise source.error(f"a molecule of more than {LARGEST_RECORD:,} characters", start)
    if any(line.strip() for line in lines):
        yield start, lines


def _parts(lines: list[str]) -> tuple[str, dict[str, str | int | float]]:
    """The molecule itself, and the data fields after it."""
    end = next((k for k, line in enumerate(lines) if line.startswith("M  END")), len(lines) - 1) + 1
    fields = _FIELD.findall("\n".join([*lines[end:], ""]))
    return "\n".join(lines[:end]), {name: value_from_text(values[:-1]) for name, values in fields}


SMILES = FileFormat(
    "smiles",
    (".smi", ".smiles"),
    "SMILES, one molecule per line (needs the extra 'molecules'); read only; streams",
    holds=frozenset({"node_labels", "edge_labels", "id", "metadata"}),
    read=read_smiles_lines,
    options=MoleculeOptions,
)

SDF = FileFormat(
    "sdf",
    (".sdf", ".sd", ".mol", ".mdl"),
    "SDF and MOL, molecules with data fields (needs the extra 'molecules'); read only; streams",
    holds=frozenset({"node_labels", "edge_labels", "id", "metadata"}),
    read=read_sdf,
    options=MoleculeOptions,
)

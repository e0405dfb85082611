"""Molecules, through RDKit (the extra ``molecules``).

Nodes are atoms with their element symbols as labels, edges are bonds labelled ``"1"``, ``"2"``, ``"3"`` or
``"aromatic"`` (rarer kinds by RDKit's name in lower case, such as ``"dative"``). Hydrogens that RDKit keeps implicit
are not nodes. Charges, stereochemistry and isotopes do not count unless ``distinguish`` names them, which a
:class:`~graphmetric.errors.ConversionWarning` says; hydrogen counts, radicals and coordinates are not carried over.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph, MissingExtra
from graphmetric.formats.attributes import graph_columns
from graphmetric.formats.losses import LeftOut, LeftOutOfMolecules
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from rdkit.Chem import Mol

_BOND_LABELS = {"SINGLE": "1", "DOUBLE": "2", "TRIPLE": "3", "QUADRUPLE": "4"}
_BOND_TYPES = {label: name for name, label in _BOND_LABELS.items()}

LONGEST_SMILES = 5_000
"""Characters. RDKit's time grows faster than the square of the length: some texts of 50,000 take minutes."""

_rdkit_log = Lock()
"""RDKit's log is one for the whole process; two threads that silence it at once could leave it silent."""


DISTINCTIONS = ("charge", "stereo", "aromaticity", "isotope", "hydrogens")
"""What can tell atoms and bonds apart besides elements and bond types."""

_MOST_COMPARISONS = 1_250_000
"""Of branches, to tell R from S; about a second. Molecules need a few hundred."""


def checked_distinctions(given: str | Iterable[str]) -> tuple[str, ...]:
    """The names of :data:`DISTINCTIONS` that were asked for; ``"all"`` is all of them."""
    names = [given] if isinstance(given, str) else list(given)
    unknown = next((name for name in names if name not in (*DISTINCTIONS, "all")), None)
    if unknown is not None:
        raise InvalidArgument(f"distinguish takes {', '.join(DISTINCTIONS)} or all; got {unknown!r}")
    return tuple(name for name in DISTINCTIONS if name in names or "all" in names)


def from_smiles(
    smiles: str, *, kekulize: bool = False, distinguish: str | Iterable[str] = (), id: Hashable = None
) -> Graph:
    """The molecule that a SMILES text describes; a title after a blank becomes the ``id`` unless one is given.

    ``kekulize=True`` writes aromatic bonds as alternating ``"1"`` and ``"2"``, as the AIDS benchmark does. Which bond
    is which is then arbitrary, so equal molecules may become different graphs.

    ``distinguish`` names what else tells atoms and bonds apart: ``"charge"`` (labels such as ``N+``, ``O-``),
    ``"stereo"`` (``C(R)``, ``C(S)``; double bonds ``2(E)``, ``2(Z)``), ``"aromaticity"`` (aromatic atoms in lower
    case), ``"isotope"`` (``13C``), ``"hydrogens"`` (``NH2``), several of them, or ``"all"``.

    Example:
        >>> from_smiles("CCO ethanol")
        Graph('ethanol', 3 nodes, 2 edges, labels C:2 O, edge labels 1:2)
    """
    left_out = LeftOutOfMolecules()
    graph = read_smiles(smiles, checked_distinctions(distinguish), left_out, kekulize=kekulize, id=id)
    _warn(left_out)
    return graph


def from_rdkit(
    molecule: Mol, *, kekulize: bool = False, distinguish: str | Iterable[str] = (), id: Hashable = None
) -> Graph:
    """An RDKit molecule; it is not changed. Its name, where it has one, becomes the ``id`` unless one is given.

    Hydrogens that are atoms of the molecule, as after ``AddHs``, are nodes. ``kekulize`` and ``distinguish`` as in
    :func:`from_smiles`.
    """
    left_out = LeftOutOfMolecules()
    graph = convert_rdkit(molecule, checked_distinctions(distinguish), left_out, kekulize=kekulize, id=id)
    _warn(left_out)
    return graph


def read_smiles(
    smiles: str,
    distinguish: Sequence[str],
    left_out: LeftOutOfMolecules,
    *,
    kekulize: bool = False,
    id: Hashable = None,
) -> Graph:
    """:func:`from_smiles` that gathers what does not count instead of warning."""
    if not isinstance(smiles, str):
        raise InvalidArgument(f"a SMILES is a string; got a {type(smiles).__name__}")
    _check_characters(smiles)
    _require_rdkit("reading SMILES")
    from rdkit import Chem

    with _silent_rdkit():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise InvalidGraph(f"SMILES {_shortened(smiles)} cannot be read: {_reason(smiles)}")
    return convert_rdkit(molecule, distinguish, left_out, kekulize=kekulize, id=id)


def read_mol_block(
    block: str,
    distinguish: Sequence[str],
    left_out: LeftOutOfMolecules,
    *,
    id: Hashable = None,
    metadata: Mapping[str, Any] | None = None,
) -> Graph:
    """The molecule of a MOL block, the part of an SDF record before its data fields."""
    _require_rdkit("reading SDF")
    from rdkit import Chem

    if not block.isascii() or "\0" in block:
        block = block.encode("ascii", "replace").decode().replace("\0", "?")  # only titles and comments can hold others
    try:
        with _silent_rdkit():
            molecule = Chem.MolFromMolBlock(block)
    except RuntimeError:  # as below
        molecule = None
    if molecule is None:
        raise InvalidGraph(f"the molecule cannot be read: {_reason_of_block(block)}")
    molecule.ClearProp("_Name")
    graph = convert_rdkit(molecule, distinguish, left_out, id=id)
    return graph.replace(metadata=metadata) if metadata else graph


def convert_rdkit(
    molecule: Mol,
    distinguish: Sequence[str],
    left_out: LeftOutOfMolecules,
    *,
    kekulize: bool = False,
    id: Hashable = None,
) -> Graph:
    """:func:`from_rdkit` that gathers what does not count instead of warning."""
    if not hasattr(molecule, "GetAtoms"):
        raise InvalidArgument(f"from_rdkit takes an rdkit Mol; got a {type(molecule).__name__}")
    left_out.note(molecule, distinguish)
    if kekulize:
        molecule = _kekulized(molecule)
    if "stereo" in distinguish:
        molecule = _with_stereo_labels(molecule)
    bonds = list(molecule.GetBonds())
    if id is None and molecule.HasProp("_Name"):
        id = molecule.GetProp("_Name") or None
    return Graph(
        molecule.GetNumAtoms(),
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        node_labels=[_atom_label(atom, distinguish) for atom in molecule.GetAtoms()],
        edge_labels=[_bond_label(bond.GetBondType().name) + _stereo(bond, distinguish) for bond in bonds],
        id=id,
    )


def _warn(left_out: LeftOutOfMolecules) -> None:
    if left_out:
        warnings.warn(ConversionWarning(left_out.sentence()), stacklevel=3)


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


def _stereo(atom_or_bond: Any, distinguish: Sequence[str]) -> str:
    known = "stereo" in distinguish and atom_or_bond.HasProp("_CIPCode")
    return f"({atom_or_bond.GetProp('_CIPCode')})" if known else ""


def _with_stereo_labels(molecule: Mol) -> Mol:
    """A copy whose atoms and bonds know their R or S, E or Z, which do not depend on how atoms are numbered."""
    from rdkit import Chem
    from rdkit.Chem import rdCIPLabeler

    copy = Chem.Mol(molecule)
    try:
        with _silent_rdkit():
            rdCIPLabeler.AssignCIPLabels(copy, maxRecursiveIterations=_MOST_COMPARISONS)
    except RuntimeError as error:
        raise InvalidGraph(f"the stereochemistry of the molecule cannot be told: {error}") from None
    return copy


def to_rdkit(graph: Graph, *, sanitize: bool = True) -> Mol:
    """The neutral molecule with these atoms and bonds, its hydrogens filled in by RDKit's valence rules.

    A graph has no charges and no hydrogen counts, so some graphs of real molecules (the charged N of a nitro group,
    the N-H of pyrrole) have no such molecule and raise :class:`InvalidGraph`; ``sanitize=False`` gives their bare
    atoms and bonds, good enough to draw. Where a graph has no edge labels all bonds are single.
    """
    _require_rdkit("to_rdkit")
    from rdkit import Chem

    if graph.node_labels is None:
        raise InvalidGraph("a molecule needs element symbols as node labels; the graph has none")
    if graph.directed:
        raise InvalidGraph("a molecule is undirected; the graph is directed")
    molecule = Chem.RWMol()
    for node, symbol in enumerate(graph.node_labels):
        molecule.AddAtom(_atom(node, symbol))
    for (u, v), label in zip(graph.edges.tolist(), graph.edge_labels or ["1"] * graph.num_edges, strict=True):
        _add_bond(molecule, u, v, label)
    if graph.id is not None:
        molecule.SetProp("_Name", str(graph.id))
    if sanitize:
        _sanitize(molecule)
    left_out = LeftOut()
    without = {name: column for name, column in graph_columns(graph).items() if not name.endswith("labels")}
    left_out.note_columns(without | {"metadata": dict(graph.metadata) or None})
    left_out.warn("to_rdkit")
    return molecule.GetMol()


def to_smiles(graph: Graph) -> str:
    """The canonical SMILES of :func:`to_rdkit`."""
    _require_rdkit("to_smiles")
    from rdkit import Chem

    smiles: str = Chem.MolToSmiles(to_rdkit(graph.replace(metadata=None)))
    return smiles


def _require_rdkit(purpose: str) -> None:
    try:
        import rdkit  # noqa: F401
    except ImportError:
        raise MissingExtra("rdkit", "molecules", purpose) from None


@contextmanager
def _silent_rdkit() -> Iterator[None]:
    from rdkit import rdBase

    with _rdkit_log, rdBase.BlockLogs():
        yield


def _check_characters(smiles: str) -> None:
    if not smiles.strip():
        raise InvalidGraph("the SMILES is empty")
    if len(smiles) > LONGEST_SMILES:
        raise InvalidGraph(f"the SMILES has {len(smiles):,} characters; {LONGEST_SMILES:,} are allowed, see from_rdkit")
    if not smiles.isascii() or not smiles.replace("\t", " ").isprintable():
        raise InvalidGraph(f"SMILES {_shortened(smiles)} has characters outside printable ASCII")


def _reason(smiles: str) -> str:
    """Why RDKit refused it: an exception tells about chemistry, only the log about syntax."""
    from rdkit import Chem, rdBase

    with _silent_rdkit():
        molecule = Chem.MolFromSmiles(smiles, sanitize=False)
        if molecule is not None:
            try:
                Chem.SanitizeMol(molecule)
            except ValueError as error:
                return str(error)
    if not hasattr(rdBase, "CaptureErrorLog"):  # RDKit before 2026.3
        return "it does not follow the SMILES syntax"
    with _rdkit_log, rdBase.CaptureErrorLog() as log:
        Chem.MolFromSmiles(smiles, sanitize=False)
    problem = re.search(r"SMILES Parse Error: (.*?)(?: while parsing| for input|$)", log.messages, re.MULTILINE)
    place = re.search(r"around position (\d+)", log.messages)
    words = problem[1] if problem else "it does not follow the SMILES syntax"
    return f"{words} around position {place[1]}" if place else words


def _reason_of_block(block: str) -> str:
    from rdkit import Chem

    with _silent_rdkit():
        molecule = Chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
        if molecule is None:
            return "it does not follow the MOL format (V2000 or V3000)"
        try:
            Chem.SanitizeMol(molecule)
        except ValueError as error:
            return str(error)
        except RuntimeError:  # of RDKit's own assumptions, in words that say nothing about the molecule
            pass
    return "RDKit refuses it"


def _shortened(smiles: str, limit: int = 80) -> str:
    return repr(smiles) if len(smiles) <= limit else repr(smiles[:limit]) + "..."


def _bond_label(bond_type: str) -> str:
    return _BOND_LABELS.get(bond_type) or bond_type.lower()


def _kekulized(molecule: Mol) -> Mol:
    from rdkit import Chem

    copy = Chem.Mol(molecule)
    try:
        with _silent_rdkit():
            Chem.Kekulize(copy, clearAromaticFlags=True)
    except ValueError as error:
        raise InvalidGraph(f"the molecule cannot be kekulized: {error}") from None
    return copy


def _atom(node: int, symbol: Hashable) -> Any:
    from rdkit import Chem

    try:
        with _silent_rdkit():
            return Chem.Atom(symbol if isinstance(symbol, str) else "")
    except RuntimeError:
        raise InvalidGraph(f"node {node} has label {symbol!r}, which is no element symbol") from None


def _add_bond(molecule: Any, u: int, v: int, label: Hashable) -> None:
    from rdkit import Chem

    kind = Chem.BondType.names.get(_BOND_TYPES.get(label) or str(label).upper())  # type: ignore[call-overload]
    if kind is None or u == v:
        known = ", ".join(map(repr, _BOND_TYPES))
        problem = "is a self-loop" if u == v else f"has label {label!r}; bonds are {known}, 'aromatic', ..."
        raise InvalidGraph(f"edge ({u}, {v}) {problem}")
    molecule.AddBond(u, v, kind)
    if kind == Chem.BondType.AROMATIC:
        molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(True)
        for end in (u, v):
            molecule.GetAtomWithIdx(end).SetIsAromatic(True)


def _sanitize(molecule: Any) -> None:
    from rdkit import Chem

    try:
        with _silent_rdkit():
            Chem.SanitizeMol(molecule)
    except ValueError as error:
        raise InvalidGraph(f"no neutral molecule has these atoms and bonds: {error}") from None

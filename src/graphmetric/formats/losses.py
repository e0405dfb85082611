"""What a conversion could not carry over, gathered so that it is said once and never dropped in silence.

What a written file could not keep.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graphmetric.errors import ConversionWarning

if TYPE_CHECKING:
    from rdkit.Chem import Mol


class Notes:
    """What the format could not keep, gathered while writing and said once."""

    def __init__(self) -> None:
        self._messages: set[str] = set()

    def add(self, message: str) -> None:
        """Remember to say this."""
        self._messages.add(message)

    def warn(self) -> None:
        """Say everything."""
        for message in sorted(self._messages):
            warnings.warn(ConversionWarning(message), stacklevel=3)


_UNLESS_DISTINGUISHED = {"charge": "charges", "stereo": "stereochemistry", "isotope": "isotopes"}
"""What is said to be left out where a molecule has it. Hydrogens and aromatic atoms mostly follow from the rest."""


class LeftOut:
    """Names of the things left out, in order of first appearance, however many graphs had them."""

    def __init__(self) -> None:
        self._things: dict[str, None] = {}
        self.molecules = LeftOutOfMolecules()

    def note(self, kind: str, names: Iterable[object]) -> None:
        """Remember e.g. ``kind="node attribute"`` with the names of such attributes."""
        for name in names:
            self._things[f"{kind} {name!r}"] = None

    def note_columns(self, columns: dict[str, object]) -> None:
        """Remember the columns of a graph that are there but have no place in the target."""
        for name, column in columns.items():
            if column is not None:
                self._things[name] = None

    def warn(self, function: str, advice: str = "") -> None:
        """One warning that names everything, pointing at the line that called the public function."""
        if self._things:
            message = f"{function} left out {', '.join(self._things)}" + (f"; {advice}" if advice else "")
            warnings.warn(ConversionWarning(message), stacklevel=3)
        if self.molecules:
            warnings.warn(ConversionWarning(self.molecules.sentence()), stacklevel=3)


class LeftOutOfMolecules:
    """Which facts about atoms and bonds molecules had that do not count, gathered so that it is said once."""

    def __init__(self) -> None:
        self._found: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    def note(self, molecule: Mol, distinguish: Sequence[str]) -> None:
        """Remember what this molecule has beyond what is told apart."""
        from rdkit import Chem

        missing = [name for name in _UNLESS_DISTINGUISHED if name not in distinguish and name not in self._found]
        if "charge" in missing and any(atom.GetFormalCharge() for atom in molecule.GetAtoms()):
            self._found.add("charge")
        if "isotope" in missing and any(atom.GetIsotope() for atom in molecule.GetAtoms()):
            self._found.add("isotope")
        if "stereo" in missing and (
            any(atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for atom in molecule.GetAtoms())
            or any(bond.GetStereo() > Chem.BondStereo.STEREOANY for bond in molecule.GetBonds())
        ):
            self._found.add("stereo")

    def sentence(self) -> str:
        """What was found, and what to do so that it counts."""
        names = [name for name in _UNLESS_DISTINGUISHED if name in self._found]
        words = [_UNLESS_DISTINGUISHED[name] for name in names]
        listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
        wanted = names[0] if len(names) == 1 else ",".join(names)
        python = repr(names[0]) if len(names) == 1 else repr(tuple(names))
        does = "does" if words == ["stereochemistry"] else "do"
        return (
            f"{listed} of molecules {does} not count: distances are 0 between molecules that differ in nothing else "
            f"(distinguish={python}, or --distinguish {wanted} on the command line, makes them count)"
        )

"""What a conversion or a written file could not keep, gathered so that it is said once and never dropped in silence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from graphmetric.errors import ConversionWarning

MOLECULE_FACTS = {"charge": "charges", "stereo": "stereochemistry", "isotope": "isotopes"}
"""Facts about atoms and bonds that a warning names when they do not count. Hydrogens and aromatic atoms are not among
them, since they mostly follow from the rest."""


class NotKept:
    """Everything that was left out or changed, however many graphs had it."""

    def __init__(self) -> None:
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

    def sentences(self, function: str = "", advice: str = "") -> list[str]:
        """All that there is to say; ``function`` is what left things out."""
        sentences = sorted(self._changes)
        if self._left_out:
            sentences.append(f"{function} left out {', '.join(self._left_out)}" + (f"; {advice}" if advice else ""))
        if self.molecule_facts:
            sentences.append(_sentence_on_molecules([name for name in MOLECULE_FACTS if name in self.molecule_facts]))
        return sentences

    def warn(self, function: str = "", advice: str = "") -> None:
        """Warn about everything, pointing at the line that called the caller of this method."""
        for sentence in self.sentences(function, advice):
            warnings.warn(ConversionWarning(sentence), stacklevel=3)


def _sentence_on_molecules(names: list[str]) -> str:
    *others, last = (MOLECULE_FACTS[name] for name in names)
    listed = f"{', '.join(others)} and {last}" if others else last
    python = repr(tuple(names) if others else names[0])
    return (
        f"{listed} of molecules {'does' if names == ['stereo'] else 'do'} not count: distances are 0 between molecules "
        f"that differ in nothing else (distinguish={python}, or --distinguish {','.join(names)} on the command line, "
        "makes them count)"
    )

"""What a conversion or a written file could not keep, gathered so that it is said once and never dropped in silence."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from graphmetric.errors import ConversionWarning

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOLECULE_FACTS = {"charge": "charges", "stereo": "stereochemistry", "isotope": "isotopes"}
"""Facts about atoms and bonds that a warning names when they do not count. Hydrogens and aromatic atoms are not among
them, since they mostly follow from the rest."""


class NotKept:
    """Everything that was left out or changed, however many graphs had it; warns of it when its block ends."""

    def __init__(self, function: str = "", advice: str = "") -> None:
        """``function`` is what leaves things out, ``advice`` what to do about it."""
        self._function, self._advice = function, f"; {advice}" if advice else ""
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

    def __enter__(self) -> NotKept:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            for sentence in self.sentences():  # they point at the line that called the function with the block
                warnings.warn(ConversionWarning(sentence), stacklevel=3)


def warns_at_the_end(advice: str = "") -> Callable[[Callable[Concatenate[NotKept, _P], _T]], Callable[_P, _T]]:
    """Give a conversion its :class:`NotKept` as first argument, and warn when it is done.

    The conversion itself, for those who gather over many graphs, is the attribute ``__wrapped__``.
    """

    def decorate(function: Callable[Concatenate[NotKept, _P], _T]) -> Callable[_P, _T]:
        @wraps(function)
        def warned(*arguments: _P.args, **options: _P.kwargs) -> _T:
            with NotKept(function.__name__, advice) as not_kept:
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

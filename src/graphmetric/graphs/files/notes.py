"""What a written file could not keep."""

from __future__ import annotations

import warnings

from graphmetric.errors import ConversionWarning


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

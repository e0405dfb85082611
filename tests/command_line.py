"""The command line as a user meets it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphmetric.cli import main


def run(
    capsys: pytest.CaptureFixture[str], *arguments: object, program: Callable[[list[str]], object] = main
) -> tuple[int, str, str]:
    """Exit code, output and errors of one call."""
    try:
        program([str(argument) for argument in arguments])
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err

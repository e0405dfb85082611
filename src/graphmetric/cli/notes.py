"""Warnings as a user of the command line wants them: one line each, without file names."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what is warned of within, each message once, to standard error when the block ends."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                click.echo(f"note: {message}", err=True)

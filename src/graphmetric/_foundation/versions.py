"""Versions of the packages that results depend on, for reports and records."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("graphmetric", "numpy", "torch")
"""Packages that results depend on; those that are not installed are left out."""


def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on; torch only if it is installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

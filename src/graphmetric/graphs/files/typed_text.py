"""Values of formats that know texts only: what is spelled like a number is one."""

from __future__ import annotations

import math
import re

_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")
_REAL = re.compile(r"-?(?:[0-9]{1,400}\.[0-9]{0,400}|\.[0-9]{1,400}|[0-9]{1,400}(?=[eE]))(?:[eE][+-]?[0-9]{1,4})?")


def value_from_text(text: str) -> str | int | float:
    """An integer or a finite number with a decimal point or exponent in their usual spelling, else the text itself."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text

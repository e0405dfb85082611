"""The form of the code base: names, and where they are defined."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import measure_house

MODULES = measure_house.list_modules()


def test_the_root_holds_the_face_alone() -> None:
    root = {path.stem for path in MODULES.values() if path.parent == measure_house.PACKAGE}
    assert root == {"__init__", "__main__", "demo", "errors", "estimator", "model"}


def test_no_class_name_occurs_twice() -> None:
    assert measure_house.find_classes_named_twice(MODULES) == {}


def test_no_function_hides_a_module_of_its_name() -> None:
    assert measure_house.find_shadowing_functions(MODULES) == []

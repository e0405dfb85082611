"""The form of the code base: what stands where, under which name, and how many files a flow passes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import measure_house

MODULES = measure_house.list_modules()


def test_the_root_holds_the_face_alone() -> None:
    root = {path.stem for path in MODULES.values() if path.parent == measure_house.PACKAGE}
    assert root == {"__init__", "__main__", "errors", "estimator", "model"}


def test_no_class_name_occurs_twice() -> None:
    assert measure_house.find_classes_named_twice(MODULES) == {}


def test_no_function_hides_a_module_of_its_name() -> None:
    assert measure_house.find_shadowing_functions(MODULES) == []


def test_at_most_200_modules_beside_the_service() -> None:
    served = measure_house.find_service(MODULES)
    assert len(MODULES) - len(served) <= 200
    assert len(served) <= 15


@pytest.mark.slow
@pytest.mark.parametrize("flow", [measure_house.search, measure_house.fit], ids=["certified search", "fit"])
def test_a_flow_touches_at_most_45_files(flow: measure_house.Flow) -> None:
    assert len(measure_house.trace_flow(flow)) <= 45

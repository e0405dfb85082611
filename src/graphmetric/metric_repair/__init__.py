"""Metric repair: the nearest matrix that keeps the triangle inequality. It works on arrays only.

::

    triangle_inequality.py   Eq. 12-13: find and count the violated triangles
    triangle_fixing.py       Eq. 14, 16 and Algorithm 1: the nearest metric in L2
    active_set.py            how: scan for violated triangles, sweep over them, forget the rest
    duplicates.py            how: indistinguishable items are merged and solved for once
    shortest_paths.py        the largest metric below the distances, and the last step of the others
    other_norms.py           L1, L-infinity, and repair_matrix, which chooses the norm and keeps known distances
    new_items.py             add items to a metric that stays as it is
    nearness.py              the problem, checked and scaled, and the result with its optimality gap
    figure.py                a picture of a repair
"""

from graphmetric.metric_repair.figure import draw_repair
from graphmetric.metric_repair.nearness import RepairDuals, RepairResult
from graphmetric.metric_repair.new_items import RowRepair, repair_row, repair_rows
from graphmetric.metric_repair.other_norms import repair_matrix
from graphmetric.metric_repair.shortest_paths import shortest_path_closure
from graphmetric.metric_repair.triangle_fixing import dense_fixing
from graphmetric.metric_repair.triangle_inequality import TriangleViolations, ViolatedTriangle, triangle_violations

__all__ = [
    "RepairDuals",
    "RepairResult",
    "RowRepair",
    "TriangleViolations",
    "ViolatedTriangle",
    "dense_fixing",
    "draw_repair",
    "repair_matrix",
    "repair_row",
    "repair_rows",
    "shortest_path_closure",
    "triangle_violations",
]

"""The nearest matrix that keeps the triangle inequality; arrays only."""

from graphmetric.metric_repair.dense_fixing import dense_fixing
from graphmetric.metric_repair.figure import draw_repair
from graphmetric.metric_repair.new_graphs import RowRepair, repair_row, repair_rows
from graphmetric.metric_repair.other_norms import repair_in_l1, repair_in_linf
from graphmetric.metric_repair.repair_matrix import repair_matrix
from graphmetric.metric_repair.repair_result import RepairDuals, RepairResult
from graphmetric.metric_repair.shortest_path_closure import shortest_path_closure
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from graphmetric.metric_repair.triangle_inequality import TriangleViolations, ViolatedTriangle, triangle_violations

__all__ = [
    "RepairDuals",
    "RepairResult",
    "RowRepair",
    "TriangleViolations",
    "ViolatedTriangle",
    "dense_fixing",
    "draw_repair",
    "repair_in_l1",
    "repair_in_linf",
    "repair_matrix",
    "repair_row",
    "repair_rows",
    "shortest_path_closure",
    "triangle_fixing",
    "triangle_violations",
]

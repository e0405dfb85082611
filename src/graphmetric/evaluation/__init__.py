"""How good predicted distances are, measured on arrays: no graphs, no torch.

::

    ranking.py        rho, tau, precision at k of each query's ranking
    accuracy.py       squared and absolute error, exact hits
    scores.py         all of them together, and their names
    bounds.py         the same where the true distances are known to lie in intervals only
    axioms.py         identity, symmetry, non-negativity, triangle inequality, separation: measured
    protocols.py      which pairs train, tune and test
    calibration.py    errors by true distance and by size
    record.py         one JSON file per run
    published.py      what others report
    report.py         tables of many runs
    paired_arrays.py  predicted and true distances, checked
"""

from graphmetric.evaluation.axioms import MeasuredAxioms, measure_axioms
from graphmetric.evaluation.bounds import BoundScores, score_against_bounds
from graphmetric.evaluation.calibration import Calibration, SizeErrors, calibrate, errors_by_size
from graphmetric.evaluation.protocols import PROTOCOLS, Protocol, forget_other_sizes, make_protocol, take_similar_sizes
from graphmetric.evaluation.published import PUBLISHED, PublishedResult, find_published
from graphmetric.evaluation.run_record import RunRecord, installed_versions, read_record, read_records, write_record
from graphmetric.evaluation.scores import (
    RankingScores,
    Raw,
    Scores,
    exact_hits,
    kendall_tau,
    mean_absolute_error,
    mean_rank_correlation,
    mean_squared_error,
    precision_at,
    score_distances,
    score_rankings,
    spearman_rho,
)
from graphmetric.evaluation.tables import ResultTable, make_tables, write_report

__all__ = [
    "PROTOCOLS",
    "PUBLISHED",
    "BoundScores",
    "Calibration",
    "MeasuredAxioms",
    "Protocol",
    "PublishedResult",
    "RankingScores",
    "Raw",
    "ResultTable",
    "RunRecord",
    "Scores",
    "SizeErrors",
    "calibrate",
    "errors_by_size",
    "exact_hits",
    "find_published",
    "forget_other_sizes",
    "installed_versions",
    "kendall_tau",
    "make_protocol",
    "make_tables",
    "mean_absolute_error",
    "mean_rank_correlation",
    "mean_squared_error",
    "measure_axioms",
    "precision_at",
    "read_record",
    "read_records",
    "score_against_bounds",
    "score_distances",
    "score_rankings",
    "spearman_rho",
    "take_similar_sizes",
    "write_record",
    "write_report",
]

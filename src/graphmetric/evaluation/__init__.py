"""How good predicted distances are, measured on arrays: no graphs, no torch.

::

    scores.py       rank correlations, precision, errors, exact hits; errors by true distance and by size; the same
                    where the true distances are known only to lie between bounds
    axioms.py       the axioms of a metric, measured
    protocols.py    which pairs train, tune and test
    run_record.py   one JSON file per run, and tables of many runs with published numbers
"""

from graphmetric.evaluation.axioms import AxiomCheck, MeasuredAxioms, measure_axioms
from graphmetric.evaluation.protocols import PROTOCOLS, Protocol, forget_other_sizes, make_protocol
from graphmetric.evaluation.run_record import (
    PUBLISHED,
    PublishedResult,
    ResultTable,
    RunRecord,
    find_published,
    installed_versions,
    make_tables,
    read_record,
    read_records,
    write_record,
    write_tables,
)
from graphmetric.evaluation.scores import (
    BoundScores,
    Calibration,
    RankingScores,
    Raw,
    Scores,
    SizeErrors,
    calibrate,
    errors_by_size,
    exact_hits,
    kendall_tau,
    mean_absolute_error,
    mean_rank_correlation,
    mean_squared_error,
    precision_at,
    score_against_bounds,
    score_distances,
    score_rankings,
    spearman_rho,
)

__all__ = [
    "PROTOCOLS",
    "PUBLISHED",
    "AxiomCheck",
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
    "write_record",
    "write_tables",
]

"""Quality of predicted distances, measured on arrays: no graphs, no torch.

::

    scores.py       rank correlations, precision, errors, exact hits; errors by true distance and by size; the same
                    where the true distances are known only to lie between bounds
    axioms.py       the axioms of a metric, measured
"""

from graphmetric.evaluation.axioms import AxiomCheck, MeasuredAxioms, measure_axioms
from graphmetric.evaluation.scores import (
    BoundScores,
    Calibration,
    RankingScores,
    Raw,
    Scores,
    SizeErrors,
    calibrate,
    errors_by_size,
    exact_match_rate,
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
    "AxiomCheck",
    "BoundScores",
    "Calibration",
    "MeasuredAxioms",
    "RankingScores",
    "Raw",
    "Scores",
    "SizeErrors",
    "calibrate",
    "errors_by_size",
    "exact_match_rate",
    "kendall_tau",
    "mean_absolute_error",
    "mean_rank_correlation",
    "mean_squared_error",
    "measure_axioms",
    "precision_at",
    "score_against_bounds",
    "score_distances",
    "score_rankings",
    "spearman_rho",
]

"""How good predicted distances are, measured on arrays."""

from graphmetric.evaluation.ranking import RankingScores, precision_at, score_rankings

__all__ = ["RankingScores", "precision_at", "score_rankings"]

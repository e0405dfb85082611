"""The methods that the learned distance is compared with, behind one interface: fit on labelled graphs, predict."""

from __future__ import annotations

from graphmetric_research.baselines.method import BASELINES, Baseline, PredictionScale, TrainingTask, build_baseline

__all__ = ["BASELINES", "Baseline", "PredictionScale", "TrainingTask", "build_baseline"]

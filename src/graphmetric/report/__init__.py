"""Evaluation of a trained model on your own graphs, as numbers and as an HTML page.

::

    model_evaluation.py   evaluate_model: everything measured, in one record
    rankings.py           which graphs are queries, which they rank, their true distances, and examples
    page.py               write_report: one HTML file that needs nothing else
"""

from graphmetric.errors import needs_extra

with needs_extra("learn", "the evaluation of a model"):
    from graphmetric.report.model_evaluation import ModelEvaluation, evaluate_model
    from graphmetric.report.page import render_report, write_report

__all__ = ["ModelEvaluation", "evaluate_model", "render_report", "write_report"]

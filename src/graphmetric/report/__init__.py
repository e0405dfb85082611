"""How good a trained model is on graphs of one's own, as numbers and as a page.

::

    evaluation.py       evaluate_model: everything measured, in one record
    trial.py            which graphs ask, and which are ranked for them
    truth.py            the true distances: known, or searched for
    familiarity.py      whether the model has met the queries before
    axiom_findings.py   axioms promised and measured
    examples.py         queries with their nearest graphs
    model_facts.py      what the model card says
    html.py             write_report: one file that needs nothing else
    sections.py         its parts
    pictures.py         graphs and rankings in it
    figures.py          its plots
    plots.py            axes, bands, bars as SVG
"""

from graphmetric.report.measurement import ModelEvaluation, evaluate_model
from graphmetric.report.page import render_report, write_report

__all__ = ["ModelEvaluation", "evaluate_model", "render_report", "write_report"]

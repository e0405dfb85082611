"""The paper's table and figure, and tables beyond it, each by one command.

::

    benchmark.py     a data set with the truth its protocols ask for
    methods.py       the rows: baselines and models of our own behind one interface
    repairs.py       what triangle fixing makes of a method's distances, with and without known entries
    experiments.py   which rows on which sets by which protocol
    runner.py        runs what is missing, one record each; reports
    claims.py        what the paper says, held against what was measured
    figure.py        the ten nearest graphs of queries, drawn
"""

from graphmetric.reproduction.experiments import EXPERIMENTS, Experiment, make_experiment
from graphmetric.reproduction.runner import run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "make_experiment", "run_experiment"]

"""The experiments of the paper, and others beyond it, each by one command.

::

    benchmark.py     a data set with its true distances; how predictions on it are repaired and scored
    experiments.py   the rows of each table, on which data sets, by which protocol; the claims of the paper
    runner.py        runs what is missing, writes a record of each run, and makes the tables
    at_size.py       benchmarks of 10 to 60 nodes, with proven distances or intervals
    frontier.py      all methods on them: accuracy and time per pair
    figure.py        Figure 2, the ten nearest graphs of a query; and accuracy against time
"""

from graphmetric_research.reproduction.experiments import EXPERIMENTS, Experiment, make_experiment
from graphmetric_research.reproduction.runner import run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "make_experiment", "run_experiment"]

"""A tour of the whole method on the embedded molecules: what ``graphmetric demo`` shows.

::

    options.py      how long it takes
    folder.py       the folder of its results, and whether it is this tour's
    material.py     the graphs and who may see them
    learning.py     labels, pre-training, training
    repairing.py    a matrix that is no metric, and the nearest one that is
    searching.py    nearest graphs, learned and proven
    words.py        what is told of each step, and the summary
    run.py          run_tour: the steps in order, with their times
"""

from graphmetric.tour.options import TourOptions
from graphmetric.tour.run import run_tour

__all__ = ["TourOptions", "run_tour"]

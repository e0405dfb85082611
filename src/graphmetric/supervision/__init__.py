"""What a fit learns from: distances the user has, or edit distances it computes itself within a budget.

Without distances, ``fit`` goes this way: the budget says how many pairs (``budget``, ``cost``), a pool of training
graphs and mutations of them is drawn for so many (``pool``, ``mutations``), and its pairs are labelled by exact search
(``computed``).
"""

from graphmetric.supervision.budget import NODE_LIMIT, LabelBudget
from graphmetric.supervision.computed import label_some_pairs, make_supervision
from graphmetric.supervision.given import read_distances, read_supervision
from graphmetric.supervision.mutations import Mutator
from graphmetric.supervision.pool import TrainingPool, draw_pool
from graphmetric.supervision.record import Supervision, hold_out

__all__ = [
    "NODE_LIMIT",
    "LabelBudget",
    "Mutator",
    "Supervision",
    "TrainingPool",
    "draw_pool",
    "hold_out",
    "label_some_pairs",
    "make_supervision",
    "read_distances",
    "read_supervision",
]

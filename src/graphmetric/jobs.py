"""How many threads ``n_jobs`` stands for, as joblib counts them: -1 is one per core."""

from __future__ import annotations

import operator

from graphmetric.errors import InvalidArgument


def checked_jobs(n_jobs: int | None) -> int | None:
    """``n_jobs`` as it is; raises InvalidArgument if it is no number of threads."""
    if n_jobs is None:
        return None
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if number == 0 or isinstance(n_jobs, bool):
        raise InvalidArgument(
            f"n_jobs is {n_jobs!r}; it must be a number of threads, 1 or more, -1 for one per core, or None for one"
        )
    return number


def effective_n_jobs(n_jobs: int | None) -> int:
    """The number of threads; None is one, unless ``joblib.parallel_config`` says otherwise."""
    number = checked_jobs(n_jobs)
    if number == 1:
        return 1
    import joblib  # a fifth of a second, which a command that answers at once can do without

    return int(joblib.effective_n_jobs(number))

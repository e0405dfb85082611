"""Streams by name are none that a user would draw from the same seed."""

from __future__ import annotations

import numpy as np

from graphmetric._foundation.random_streams import random_stream


def test_a_stream_depends_on_seed_name_and_numbers() -> None:
    drawn = {
        (seed, name, step): tuple(random_stream(seed, name, *step).permutation(50))
        for seed in (0, 1)
        for name in ("epochs", "held-out graphs")
        for step in ((), (0,), (1,), (0, 0))
    }
    assert len(set(drawn.values())) == len(drawn)
    assert drawn[0, "epochs", (1,)] == tuple(random_stream(0, "epochs", 1).permutation(50))


def test_no_stream_is_what_users_draw() -> None:
    for seed in range(3):
        usual = [np.random.default_rng(entropy).permutation(50) for entropy in (seed, [seed, 0], [seed, 0, 0])]
        assert (usual[0] == usual[2]).all()  # trailing zeros do not count: why names are spawn keys
        for name in ("epochs", "held-out graphs", "graphs to label"):
            for numbers in ((), (0,), (0, 0)):
                assert all((random_stream(seed, name, *numbers).permutation(50) != own).any() for own in usual)

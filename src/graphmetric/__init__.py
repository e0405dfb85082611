"""graphmetric: learn and compute distances between graphs."""

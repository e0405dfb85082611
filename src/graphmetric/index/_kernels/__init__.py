"""Compiled loops over the stored vectors of an index."""

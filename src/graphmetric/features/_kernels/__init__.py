"""Compiled loops over the packed arrays of a whole collection."""

"""Compiled loops over pairs and triangles of a square matrix."""

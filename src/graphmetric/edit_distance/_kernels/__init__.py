"""Compiled loops of the edit-distance engine. They take and fill arrays, and do not check them."""

"""Compiled loops of the edit-distance engine: arrays in, arrays out; nothing here checks its input."""

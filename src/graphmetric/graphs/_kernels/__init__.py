"""Compiled loops over bare arrays; nothing here checks its input."""

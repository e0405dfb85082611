"""The compiled loops of the matching distance."""

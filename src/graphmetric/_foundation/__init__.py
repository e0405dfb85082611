"""Shared foundation of all stages: atomic files, the compilation cache, limits, options, progress and threads."""

"""What every stage builds on: atomic files, the compilation cache, limits, options, progress and threads."""

"""Parts that every stage stands on: files written whole, compiled loops, progress, threads, limits."""

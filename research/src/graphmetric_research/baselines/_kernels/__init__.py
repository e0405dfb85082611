"""Compiled loops of published methods, kept as they were published: their ties decide the published numbers."""

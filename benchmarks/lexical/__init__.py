"""Benchmarks of the lexical engine: python -m benchmarks.lexical --help."""

"""The lexical engine measured: python -m benchmarks.lexical --help."""

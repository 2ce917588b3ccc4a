"""Benchmarks of the semantic engine; the compared variants run side by side in one run."""

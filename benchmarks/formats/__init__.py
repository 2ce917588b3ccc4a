"""Benchmarks of the formats of papers."""

"""Benchmarks of the backfill on Spark: time and cost of its steps on a cluster of this machine."""

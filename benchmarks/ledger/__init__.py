"""Benchmarks of the ledger at the size of a field: store, restarts, outcomes per second, and the latency of late links."""

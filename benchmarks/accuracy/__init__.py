"""Tables of docs/accuracy.md from the figures of `reflink evaluate` and of `benchmarks.labels`."""

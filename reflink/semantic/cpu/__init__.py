"""Vectors in host memory: ``rows``, the exact search over them (``scanning``) and the ranking of its results."""

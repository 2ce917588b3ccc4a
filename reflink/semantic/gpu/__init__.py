"""Vectors on a torch device: ``rows``, their copy there, and ``scan``, the exact search over them."""

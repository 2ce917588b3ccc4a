"""Numba kernels that read XML bytes. `reflink.jats.entries` and `reflink.jats.trimming` call them."""

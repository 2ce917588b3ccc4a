"""The kernels that read XML bytes, compiled by numba; `reflink.jats.entries` and `reflink.jats.trimming` call them."""

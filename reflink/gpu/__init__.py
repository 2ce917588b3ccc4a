"""CUDA C++ kernels: ``program`` compiles and launches them by CuPy; ``*.cuh`` are their common functions."""

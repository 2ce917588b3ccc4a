"""The exact lexical search on an NVIDIA GPU: ``segment``, its ``arrays``, the steps of a batch and the CUDA kernels."""

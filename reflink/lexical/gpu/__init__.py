"""The exact lexical search on an NVIDIA GPU: ``segment``, its ``arrays``, the steps of a batch, the kernels, the ``device``."""

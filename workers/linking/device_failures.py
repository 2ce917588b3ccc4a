"""Failures of a GPU: lost, a fault of its memory, an illegal access. No record is at fault, and only a new process can use it.

The errors are known by name and text, since a worker may run without torch or without CuPy.
"""

from __future__ import annotations

from typing import Final

from workers.errors import DeviceFailed

#: Errors of CuPy and of torch, all RuntimeErrors.
_NAMES: Final = ("CUDARuntimeError", "CUDADriverError", "AcceleratorError")
#: Further ones of torch, which are plain RuntimeErrors.
_STARTS: Final = ("CUDA error", "CUDA driver error")
_MEMORY: Final = ("out of memory", "alloc_failed")


def lacks_memory(error: BaseException) -> bool:
    """Return whether memory of a GPU, or host memory for transfers, is exhausted, which leaves the GPU usable."""
    if isinstance(error, MemoryError):
        return True
    return _is_of_cuda(error) and any(words in str(error).lower() for words in _MEMORY)


def raise_if_failed(error: BaseException) -> None:
    """Raise DeviceFailed if the GPU has failed. Do nothing on other errors, also for want of memory."""
    if _is_of_cuda(error) and not lacks_memory(error):
        reason = " ".join(str(error).split())[:300]
        raise DeviceFailed(f"the GPU failed: {reason}; no data is lost: replace the GPU if a restart does not help") from error


def _is_of_cuda(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and (type(error).__name__ in _NAMES or str(error).startswith(_STARTS))

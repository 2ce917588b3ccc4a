"""The device on which a segment is searched: its arrays, copies and launches. Every call is in the context ``active()``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from reflink.errors import DeviceMissing, PackageMissing
from reflink.lexical.gpu import kernels

Array = npt.NDArray[Any]

#: Min compute capability, ten times: __reduce_max_sync of kernels.cu.
CAPABILITY: Final = 80


class Device(Protocol):
    """A device that runs the kernels of ``kernels.cu``, one after the other."""

    @property
    def xp(self) -> Any:
        """The array module: CuPy on a GPU, numpy in tests."""
        ...

    @property
    def processors(self) -> int:
        """Number of multiprocessors."""
        ...

    def active(self) -> AbstractContextManager[None]:
        """Make this the device of the thread."""
        ...

    def free_bytes(self) -> float:
        """Return the bytes that can still be allocated."""
        ...

    def release(self) -> None:
        """Return memory that was freed, and kept for later, to other users of the device."""
        ...

    def total_bytes(self) -> int:
        """Return the memory of the device, free or not."""
        ...

    def write(self, array: Array, target: Any) -> None:
        """Copy an array to an array of the device with the same shape and type. The caller may change ``array`` afterwards."""
        ...

    def received(self, *arrays: Any) -> list[Array]:
        """Wait for the kernels, and return copies of contiguous arrays in host memory."""
        ...

    def launch(self, kernel: str, grid: int, threads: tuple[int, int], *arguments: Any) -> None:
        """Start a kernel with ``grid`` thread blocks of ``threads`` (x, y). An int is passed as int64, a float as float64."""
        ...


class CudaDevice:
    """An NVIDIA GPU, by CuPy. ``name``: ``cuda``, or ``cuda:1`` for the second.

    Raises PackageMissing without CuPy, DeviceMissing if there is no such GPU or it cannot run the kernels. NVRTC compiles them
    once per machine; the result is in CUPY_CACHE_DIR.
    """

    def __init__(self, name: str = "cuda") -> None:
        try:
            import cupy
            import cupyx
        except ImportError as error:
            raise PackageMissing(
                f"a lexical search on {name} needs CuPy: pip install 'reflink-stream[gpu]' ({error})"
            ) from error
        self.xp: Final = cupy
        self._empty_pinned: Final = cupyx.empty_pinned
        number = int(name.partition(":")[2] or 0)
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceMissing(f"{name}: no GPU can be used: {error}") from error
        if number >= count:
            raise DeviceMissing(f"{name}: this machine has {count} GPUs")
        self._device: Final = cupy.cuda.Device(number)
        if (capability := int(self._device.compute_capability)) < CAPABILITY:
            raise DeviceMissing(f"{name}: its compute capability is {capability / 10}, and {CAPABILITY / 10} is needed")
        with self._device:
            # It does not wait for the streams of other libraries in the process, nor they for it.
            self._stream: Final = cupy.cuda.Stream(non_blocking=True)
            module = cupy.RawModule(code=kernels.source(), options=(*kernels.OPTIONS, *kernels.definitions()))
            try:
                self._kernels: Final = {kernel: module.get_function(kernel) for kernel in kernels.NAMES}
            except (cupy.cuda.compiler.CompileException, OSError, RuntimeError) as error:
                reason = " ".join(str(error).split())[:300]
                raise DeviceMissing(f"{name}: its kernels cannot be compiled: {reason}") from error
            self.processors: Final = int(self._device.attributes["MultiProcessorCount"])

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this GPU and its stream those of the thread."""
        with self._device, self._stream:
            yield

    def free_bytes(self) -> float:
        """Return the free bytes of the GPU, after returning those that CuPy keeps for later."""
        self.release()
        return float(self.xp.cuda.runtime.memGetInfo()[0])

    def release(self) -> None:
        """Return the memory that CuPy keeps for later."""
        with self._device:
            self.xp.get_default_memory_pool().free_all_blocks()

    def total_bytes(self) -> int:
        """Return the memory of the GPU."""
        return int(self._device.mem_info[1])

    def write(self, array: Array, target: Any) -> None:
        """Copy an array to the GPU; CUDA has read pageable memory when this returns."""
        if array.size:
            target.set(np.ascontiguousarray(array), stream=self._stream)

    def received(self, *arrays: Any) -> list[Array]:
        """Copy arrays to pinned memory, and wait once for all."""
        copies: list[Array] = [self._empty_pinned(array.shape, array.dtype) for array in arrays]
        for array, copy in zip(arrays, copies, strict=True):
            array.get(stream=self._stream, out=copy, blocking=False)
        self._stream.synchronize()
        return copies

    def launch(self, kernel: str, grid: int, threads: tuple[int, int], *arguments: Any) -> None:
        """Start a kernel on the GPU's stream."""
        self._kernels[kernel]((grid,), threads, arguments)


def sent(device: Device, array: Array) -> Any:
    """Return a copy of an array on the device."""
    target = device.xp.empty(array.shape, array.dtype)
    device.write(array, target)
    return target

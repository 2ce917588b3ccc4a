"""A simulated GPU that counts its memory and may be used by several threads."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from tests.reflink.lexical.gpu.simulated import SimulatedDevice


class AccountedDevice(SimulatedDevice):
    """A device of ``size`` bytes. ``used``: bytes of the arrays that exist. ``kept``: bytes of those deleted since ``release``.

    ``searches``: batches of queries searched.

    ``contended``: another program takes the free memory after it was measured, so an allocation beyond it fails.
    """

    def __init__(self, size: float = 2.0**40, *, contended: bool = False) -> None:
        super().__init__()
        self.size, self.used, self.kept, self.contended = size, 0, 0, contended
        self.xp = Arrays(self)
        self._active = True  # several threads use it

    @contextmanager
    def active(self) -> Iterator[None]:
        yield

    def free_bytes(self) -> float:
        self.release()
        return float("inf") if self.contended else self.size - self.used

    def release(self) -> None:
        self.kept = 0

    def total_bytes(self) -> int:
        return int(self.size)

    @property
    def searches(self) -> int:
        return self.launched.count("begin")


class Arrays:
    """numpy, whose new arrays take memory of a device until they are deleted."""

    def __init__(self, device: AccountedDevice) -> None:
        self._device, self._lock = device, Lock()

    def empty(self, shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
        array = np.empty(shape, dtype)
        if self._device.used + array.nbytes > self._device.size:
            raise MemoryError("out of memory")
        self._add(array.nbytes)
        weakref.finalize(array, self._add, -array.nbytes)
        return array

    def _add(self, size: int) -> None:
        with self._lock:
            self._device.used += size
            self._device.kept -= min(size, 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

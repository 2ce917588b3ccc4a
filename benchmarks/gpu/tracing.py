"""Where the time of a lexical search on a GPU goes: its kernels by CUDA events, its copies by the host's clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from reflink.lexical.gpu.device import Array, Device

TO_DEVICE = "copies to the device"
TO_HOST = "waiting for the device and copies to the host"


class Traced:
    """A device that also measures its kernels and copies while ``tracing``."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._tracing = False
        self._spans: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Measure until the end of the context. Forgets the spans before."""
        self._spans, self._tracing = [], True
        try:
            yield
        finally:
            self._tracing = False

    def seconds(self) -> dict[str, float]:
        """Return the sum by kernel, in the order of their first launch, and by kind of copy."""
        sums: dict[str, float] = {}
        for name, begin, end in self._spans:
            passed = end - begin if isinstance(begin, float) else self._device.xp.cuda.get_elapsed_time(begin, end) / 1e3
            sums[name] = sums.get(name, 0.0) + passed
        return sums

    def write(self, array: Array, target: Any) -> None:
        with self._span(TO_DEVICE, time.perf_counter):
            self._device.write(array, target)

    def received(self, *arrays: Any) -> list[Array]:
        with self._span(TO_HOST, time.perf_counter):
            return self._device.received(*arrays)

    def launch(self, kernel: str, grid: int, threads: tuple[int, int], *arguments: Any) -> None:
        with self._span(kernel, self._mark):
            self._device.launch(kernel, grid, threads, *arguments)

    def _mark(self) -> Any:
        if self._device.xp is np:
            return time.perf_counter()
        event = self._device.xp.cuda.Event()
        event.record()
        return event

    @contextmanager
    def _span(self, name: str, mark: Any) -> Iterator[None]:
        begin = mark() if self._tracing else None
        yield
        if self._tracing:
            self._spans.append((name, begin, mark()))

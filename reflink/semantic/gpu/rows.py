"""The rows on a torch device: a copy with spare capacity that receives every change, or blocks sent for each search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from reflink.errors import DeviceTooSmall
from reflink.semantic.cpu.rows import BLOCK, Half, Mask, Rows, View

#: Rows in a group. The preselection keeps one maximum per group; a group that may hold one of the best is scored exactly.
GROUP: Final = 64

#: Queries per pass over the matrix; scores (fp16) held at once; bytes of rows scored exactly at once.
QUERIES: Final = 4096
SCORES: Final = 32 << 20
GATHERED: Final = 1 << 30

#: Rows sent to the device at a time.
SENT: Final = 16 * BLOCK

#: Number of the first row; rows and mask of the living rows, on the device, in whole groups.
Part = tuple[int, torch.Tensor, torch.Tensor]


@dataclass(frozen=True, eq=False)
class DeviceView:
    """The rows of one View on the device. ``parts`` None: the rows are sent there block by block.

    ``written``: the event that a CUDA stream waits for before it reads the rows, as another stream may have written them.
    """

    device: torch.device
    parts: tuple[Part, ...] | None
    written: torch.cuda.Event | None = None

    def read(self, view: View) -> Iterator[Part]:
        """Yield all rows of ``view``, part by part, without the spare capacity."""
        if self.written is not None:
            torch.cuda.current_stream(self.device).wait_event(self.written)
        if self.parts is not None:
            for first, matrix, living in self.parts:
                used = min(len(matrix), _whole(view.rows - first))
                if used > 0:
                    yield first, matrix[:used], living[:used]
            return
        alive = view.alive()
        for first in range(0, view.rows, SENT):
            rows = np.arange(first, min(first + SENT, view.rows))
            yield first, *_send(view.gather(rows), alive[rows], _whole(len(rows)), self.device)


class DeviceRows:
    """Every row of a view on ``device``, with capacity for ``spare`` more; when it is used up, another part is allocated.

    With ``stream``, rows that do not fit stay in host memory and are sent for each search. Without it, raises DeviceTooSmall if
    they do not fit.
    """

    def __init__(self, view: View, device: str, spare: int, *, stream: bool = False) -> None:
        self.device: Final = torch.device(device)
        self._dim = view.dim
        self._parts: list[Part] | None = None
        # Partial sums in fp16 would break the error bound of the products.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        if hasattr(torch.backends.cuda.matmul, "allow_fp16_accumulation"):
            torch.backends.cuda.matmul.allow_fp16_accumulation = False
        self._spare = _whole(max(spare, GROUP))
        capacity = _whole(view.rows) + self._spare
        try:
            self._check(capacity)
        except DeviceTooSmall:
            if not stream:
                raise
            return
        self._parts = [(0, *self._allocate(capacity))]
        alive = view.alive()
        for first in range(0, view.rows, SENT):
            rows = np.arange(first, min(first + SENT, view.rows))
            self.write(rows, view.gather(rows))
        self._parts[0][2][: len(alive)] = torch.from_numpy(alive)

    @property
    def resident(self) -> bool:
        """Whether the rows are on the device."""
        return self._parts is not None

    def view(self) -> DeviceView:
        """Return the current rows."""
        written = torch.cuda.current_stream(self.device).record_event() if self.device.type == "cuda" else None
        return DeviceView(self.device, None if self._parts is None else tuple(self._parts), written)

    def reserve(self, rows: int) -> None:
        """Ensure capacity for ``rows`` rows in total. Raises DeviceTooSmall if there is no memory for it; no row changes."""
        if self._parts is None:
            return
        while (end := self._parts[-1][0] + len(self._parts[-1][1])) < rows:
            self._check(end + self._spare, held=end)
            self._parts.append((end, *self._allocate(self._spare)))

    def write(self, rows: Rows, vectors: Half) -> None:
        """Write vectors to rows that no view shows."""
        for first, matrix, _ in self._parts or ():
            here = np.flatnonzero((rows >= first) & (rows < first + len(matrix)))
            if len(here):
                places = torch.from_numpy(rows[here] - first).to(self.device)
                matrix[places] = torch.from_numpy(np.ascontiguousarray(vectors[here])).to(self.device)

    def change(self, removed: Rows, added: Rows) -> DeviceView:
        """Return a view without the rows ``removed`` and with the rows ``added``; earlier views do not change."""
        parts: list[Part] = []
        for first, matrix, alive in self._parts or ():
            changed = alive
            for rows, lives in ((removed, False), (added, True)):
                here = rows[(rows >= first) & (rows < first + len(matrix))] - first
                if len(here):
                    changed = alive.clone() if changed is alive else changed
                    changed[torch.from_numpy(here).to(self.device)] = lives
            parts.append((first, matrix, changed))
        if self._parts is not None:
            self._parts = parts
        return self.view()

    def _allocate(self, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
        matrix = torch.zeros((rows, self._dim), dtype=torch.float16, device=self.device)
        return matrix, torch.zeros(rows, dtype=torch.bool, device=self.device)

    def _check(self, capacity: int, held: int = 0) -> None:
        """Raise DeviceTooSmall if ``capacity`` rows, ``held`` of them already there, and a search do not fit."""
        free = free_bytes(self.device)
        rows, work = needed_bytes(capacity, self._dim, held)
        if free is not None and rows + work > free:
            raise DeviceTooSmall(
                f"{self.device} has {free / 2**30:.2f} GiB free: {capacity:,} rows of {self._dim} dimensions need "
                f"{rows / 2**30:.2f} GiB{' more' if held else ''}, and a search {work / 2**30:.2f} GiB; use a larger device, "
                "share the works among several, or search from host memory (stream)"
            )


def needed_bytes(capacity: int, dim: int, held: int = 0) -> tuple[int, int]:
    """Return the device bytes needed for ``capacity`` rows, ``held`` of them already there, and for a search of all rows."""
    # Two masks: a change allocates the second. Two arrays of maxima: compared and chosen.
    return (capacity - held) * (dim * 2 + 2), SCORES * 2 + GATHERED + capacity // GROUP * QUERIES * 2 * 2


def free_bytes(device: torch.device) -> int | None:
    """Return the bytes that can still be allocated on the device; None if unknown, as on a CPU."""
    if device.type != "cuda":
        return None
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + cached


def _whole(rows: int) -> int:
    """Round up to whole groups."""
    return -(-rows // GROUP) * GROUP


def _send(vectors: Half, alive: Mask, rows: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    matrix = torch.zeros((rows, vectors.shape[1]), dtype=torch.float16, device=device)
    living = torch.zeros(rows, dtype=torch.bool, device=device)
    matrix[: len(vectors)] = torch.from_numpy(vectors).to(device)
    living[: len(alive)] = torch.from_numpy(alive).to(device)
    return matrix, living

"""An exact index of texts by trigram similarity that can change while it is searched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from reflink.errors import SnapshotError
from reflink.hits import Hits
from reflink.lexical.layout import Codes, Floats, Ints
from reflink.lexical.queries import Queries
from reflink.lexical.segments import storage
from reflink.lexical.segments.growth import Growth, Placement
from reflink.lexical.segments.parts import QUERIES, OnDevice, Part
from reflink.lexical.segments.segment import Segment
from reflink.lexical.trigrams import trigram_sets
from reflink.storage.idtable import ABSENT
from reflink.text import MODES, Mode

if TYPE_CHECKING:
    from reflink.lexical.gpu.device import Device

KIND: Final = "reflink lexical index"

#: The hits of one query, best first: negative score and id.
Ranked = list[tuple[float, str]]

#: Min texts of a segment on a device: an H100 takes twice as long as a core for one query over 60,000 texts, and a thirtieth in
#: calls of 64 (python -m benchmarks.gpu --part lexical --rows 60000). Each segment has work arrays of its own on the device.
SMALLEST: Final = 65_536


@dataclass(frozen=True)
class Placed:
    """What a device holds: ``texts`` that it searches, ``refused`` texts for which it has no room, ``nbytes`` of its memory."""

    texts: int
    refused: int
    nbytes: int


class LexicalIndex:
    """Texts by id, searched exactly by s = 2JC/(J+C) over their character trigrams (paper section 3.4.2).

    Texts are normalised by ``reflink.text`` with ``lexical=True``. ``mode`` is the mode of the representative texts and is
    saved with the index. ``threads``: number of threads that share the queries of a search.

    All methods are thread-safe. A search sees the state of one moment: all changes that returned before the search began, and
    each concurrent change either completely or not at all. No search waits for a change or a merge: an addition is an immutable
    segment, and segments are merged in the background (``growth``).
    """

    def __init__(self, mode: Mode = "Raw", *, threads: int = 1) -> None:
        if mode not in MODES:
            raise ValueError(f"unknown mode {mode!r}: expected one of {', '.join(MODES)}")
        if threads < 1:
            raise ValueError(f"threads is {threads}: at least 1 is needed")
        self.mode: Final = mode
        self.threads = threads
        self._growth = Growth(mode)

    def __len__(self) -> int:
        return sum(part.count for part in self._growth.parts)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and any(part.holds([id_])[0] != ABSENT for part in self._growth.parts)

    def add(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Add texts, or replace the text of a known id. Of an id repeated in ``ids`` the last text counts.

        An empty text is never a hit. Raises ValueError, and changes nothing, if the lengths differ, an id is empty or a text is
        not normalised. Raises the error of an earlier background merge: OSError if writing to the index's folder failed.
        """
        if len(ids) != len(texts):
            raise ValueError(f"{len(ids)} ids for {len(texts)} texts")
        if not all(ids):
            raise ValueError("an id is empty")
        newest = dict(zip(ids, texts, strict=True))
        if newest:
            self._growth.add(list(newest), Segment.build(list(newest), list(newest.values())))

    def remove(self, ids: Sequence[str]) -> None:
        """Remove the texts of these ids; unknown ids are ignored. Raises the error of an earlier background merge."""
        self._growth.remove(ids)

    def search(
        self, texts: Sequence[str], k: int, floor: float | None = None, seeds: Sequence[Sequence[str]] | None = None
    ) -> Hits:
        """Return the ``k`` most similar texts of each of n normalised queries: Hits [n, k], scores s in (0, 1], float64.

        ``floor``: min score of a hit; a floor makes the search faster. ``seeds``: for each query ids that are probably good,
        for example the hits of another search; they make the search faster, do not change the result, and may be unknown.
        A text without a trigram in common with the query is not a hit; a query under 3 characters has no hits. Equal scores are
        equal ratios of integers; they are ordered by ascending id. Raises ValueError if ``k`` is below 1, a query is not
        normalised, ``floor`` is NaN or the number of ``seeds`` differs from the number of queries.
        """
        if k < 1:
            raise ValueError(f"k is {k}: at least 1 is needed")
        if floor is not None and floor != floor:
            raise ValueError("floor is NaN: a score or None is needed")
        if seeds is not None and len(seeds) != len(texts):
            raise ValueError(f"{len(seeds)} lists of seeds for {len(texts)} texts")
        codes, offsets = trigram_sets(texts)
        parts = self._growth.parts
        bounds = np.full(len(texts), 0.0 if floor is None else max(0.0, floor))
        best: list[Ranked] = [[] for _ in texts]
        # A device searches all queries at once. It holds the large parts, so its hits give the others good bounds.
        _search([part for part in parts if part.device is not None], codes, offsets, k, bounds, seeds, best)
        others = [part for part in parts if part.device is None]

        def share(first: int) -> None:
            end = min(len(texts), first + size)
            own = codes[offsets[first] : offsets[end]], offsets[first : end + 1] - offsets[first]
            own_seeds = None if seeds is None else seeds[first:end]
            _search(others, *own, k, bounds[first:end].copy(), own_seeds, best[first:end])

        size = max(1, min(QUERIES, -(-len(texts) // self.threads)))
        firsts = range(0, len(texts), size) if others else ()
        list(self._pool.map(share, firsts) if self.threads > 1 and len(firsts) > 1 else map(share, firsts))
        ranked = ([id_ for _, id_ in one] for one in best)
        scores = ([-score for score, _ in one] for one in best)
        return Hits.collect(zip(ranked, scores, strict=True), len(texts), k, np.float64)

    @cached_property
    def _pool(self) -> Executor:
        return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="lexical")

    def place(self, device: str | Device | None, *, smallest: int = SMALLEST, **options: Any) -> bool:
        """Run later searches of large segments on this GPU (``cuda``, ``cuda:1``) or, with None, on the CPU; same hits.

        Copies the segments with at least ``smallest`` texts there, where a search needs further memory (``options``: those of
        DeviceSegment). The CPU searches the others. Later segments that do not fit stay on the CPU (``placed``). Returns
        whether a device is used. Changes wait until it returns. Raises DeviceTooSmall, and changes nothing, if they do not fit,
        and as CudaDevice. Earlier copies stay until all are made, so placing again needs memory for both; placing on the CPU
        first avoids this.
        """
        if device is None:
            self._growth.attach(None)
            return False
        from reflink.lexical.gpu.device import CudaDevice
        from reflink.lexical.gpu.segment import DeviceSegment

        shared = CudaDevice(device) if isinstance(device, str) else device

        def copied(segment: Segment) -> OnDevice:
            return DeviceSegment(segment.layout, segment.ranks, device=shared, **options)

        self._growth.attach(Placement(copied, smallest, shared.release))
        return True

    def placed(self) -> Placed:
        """Return what the device of ``place`` holds."""
        devices = [(part, part.device) for part in self._growth.parts if part.device is not None]
        return Placed(
            texts=sum(part.count for part, _ in devices),
            refused=sum(part.count for part in self._growth.unplaced()),
            nbytes=sum(device.nbytes for _, device in devices),
        )

    def settle(self) -> None:
        """Block until no merge is running or due, and no segment is being placed."""
        self._growth.settle()

    def memory(self) -> dict[str, int]:
        """Return the bytes of each array, summed over all segments. The arrays of a saved index are mapped and shared."""
        sizes: dict[str, int] = {}
        for part in self._growth.parts:
            for name, array in part.segment.arrays().items():
                sizes[name] = sizes.get(name, 0) + array.nbytes
        return sizes

    def save(self, folder: str | Path) -> None:
        """Write the index to ``folder`` as one segment; create the folder or replace the index in it.

        Saves the state at the time of the call; changes and searches continue meanwhile.
        """
        whole = Part.of(Segment.build([], []))
        for part in sorted(self._growth.parts, key=lambda part: part.count):
            whole = part if part.count == len(part.segment) and not whole.count else whole.merge(part)
        storage.save_segment(Path(folder), KIND, {"mode": self.mode, "texts": whole.count}, whole.segment)

    @classmethod
    def open(cls, folder: str | Path, *, mode: Mode | None = None, verify: bool = False, threads: int = 1) -> Self:
        """Open a saved index by memory map. Processes share its pages; later additions stay in memory.

        ``verify``: check the checksum of every file. Raises SnapshotError if the folder was made for another mode than
        ``mode``, and its subclass UnusableSnapshot if the folder is damaged or incomplete.
        """
        about, segment = storage.open_segment(Path(folder), KIND, verify=verify)
        _check_mode(folder, about.get("mode"), mode)
        index = cls(about["mode"], threads=threads)
        index._growth = Growth(about["mode"], [Part.of(segment)])
        return index

    @classmethod
    def living(cls, folder: str | Path, mode: Mode, *, verify: bool = False, threads: int = 1) -> Self:
        """Open or create an index stored in ``folder``: merged segments are written there and mapped.

        If the process is killed, the next opening restores the state of the last ``flush``. Only one process at a time may open
        the folder. Raises SnapshotError as ``open``.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        place = storage.Storage(folder)
        found = place.read(verify=verify)
        if found is not None:
            _check_mode(folder, found[0], mode)
        index = cls(mode, threads=threads)
        index._growth = Growth(mode, found[1] if found else (), place)
        return index

    def flush(self) -> None:
        """Write the current state of an index opened by ``living`` to disk. Raises OSError if writing fails."""
        self._growth.flush()


def _check_mode(folder: str | Path, found: object, wanted: Mode | None) -> None:
    if found not in MODES or wanted not in (None, found):
        raise SnapshotError(f"{folder}: made for mode {found!r}, not {wanted or 'any known one'!r}")


def _search(
    parts: Sequence[Part],
    codes: Codes,
    offsets: Ints,
    k: int,
    bounds: Floats,
    seeds: Sequence[Sequence[str]] | None,
    best: Sequence[Ranked],
) -> None:
    """Add the best hits of some queries in these parts to ``best``, best first. Increases ``bounds`` in place."""
    names = [id_ for each in seeds or () for id_ in each]
    query_of = np.repeat(np.arange(len(best)), [len(each) for each in seeds]) if seeds else np.empty(0, np.int64)
    rows = [part.holds(names) for part in parts]
    # Parts with seeds first, then large parts: their k-th best scores are the bounds for the other parts.
    for at in sorted(range(len(parts)), key=lambda at: (-np.count_nonzero(rows[at] != ABSENT), -parts[at].count)):
        here = rows[at] != ABSENT
        seed_offsets = np.zeros(len(best) + 1, np.int64)
        np.cumsum(np.bincount(query_of[here], minlength=len(best)), out=seed_offsets[1:])
        ids, scores, found = parts[at].search(Queries(codes, offsets, bounds, rows[at][here], seed_offsets), k)
        for query, one in enumerate(best):
            one += zip((-scores[query, : found[query]]).tolist(), ids[query], strict=True)
            one.sort()
            del one[k:]
            if len(one) == k:
                bounds[query] = -one[-1][0]

"""Changes of an index: an addition is a new segment, a removal marks rows dead, and merges keep the number of segments small.

A segment is merged with its predecessor if it has at least half as many living texts. So an index of n texts has at most
log2(n) segments, and each text is moved log2(n) times. Small merges run immediately, others in a background thread; rows that
die during a merge are marked dead in its result. Every change is atomic for readers: it assigns a new tuple of parts.

With a ``placement``, a device searches the large segments. The result of a merge is placed there before it replaces the merged
segments; if both do not fit, it replaces them first, and the CPU searches it until it is placed in the memory of the others.
The background thread also places large segments that were added. What does not fit is tried again after the next change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reflink.errors import DeviceTooSmall
from reflink.lexical.segments.parts import OnDevice, Part
from reflink.lexical.segments.segment import Segment
from reflink.lexical.segments.storage import Storage
from reflink.text import Mode

#: Max texts of a merge that runs immediately, in the caller's thread: some milliseconds.
AT_ONCE: Final = 4096


@dataclass(frozen=True)
class Placement:
    """The device for segments with bitmaps and at least ``smallest`` texts. ``place`` copies one there (DeviceTooSmall).

    ``release`` returns memory that it keeps to other users of the device.
    """

    place: Callable[[Segment], OnDevice]
    smallest: int
    release: Callable[[], None]

    def wants(self, segment: Segment) -> bool:
        """Return whether the device searches this segment."""
        return len(segment) >= self.smallest and len(segment.layout.shares) > 0


class Growth:
    """The parts of an index, old and large parts first. Changes are serialised and do not wait for background merges.

    With a ``storage``, segments merged in the background are written there and mapped; its current state changes only in
    ``flush``.
    """

    def __init__(self, mode: Mode, parts: Iterable[Part] = (), storage: Storage | None = None) -> None:
        self._mode = mode
        self._storage = storage
        #: The parts that searches read.
        self.parts: tuple[Part, ...] = tuple(part for part in parts if part.count)
        self._lock = threading.Lock()
        self._merging: tuple[Segment, ...] = ()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self._placement: Placement | None = None

    def attach(self, placement: Placement | None) -> None:
        """Search large parts on this device, None for the CPU. Raises DeviceTooSmall, and changes nothing, if one does not fit.

        Changes wait until it returns.
        """
        with self._lock:
            wanted = [placement is not None and placement.wants(part.segment) for part in self.parts]
            self.parts = tuple(
                replace(part, device=placement.place(part.segment) if placement is not None and here else None)
                for part, here in zip(self.parts, wanted, strict=True)
            )
            self._placement = placement

    def unplaced(self) -> tuple[Part, ...]:
        """Return the parts that the device ought to search and the CPU searches."""
        placement = self._placement
        return tuple(
            part for part in self.parts if placement is not None and part.device is None and placement.wants(part.segment)
        )

    def add(self, ids: Sequence[str], segment: Segment) -> None:
        """Add a segment of these ids; their older rows die. Raises the error of an earlier background merge."""
        with self._lock:
            self._raise_failure()
            self.parts = (*_without(self.parts, ids), Part.of(segment))
            self._tidy()

    def remove(self, ids: Sequence[str]) -> None:
        """Mark the rows of these ids dead. Raises the error of an earlier background merge."""
        with self._lock:
            self._raise_failure()
            self.parts = _without(self.parts, ids)
            self._tidy()

    def settle(self) -> None:
        """Block until no merge is running or due."""
        while (thread := self._thread) is not None:
            thread.join()

    def flush(self) -> None:
        """Write the segments that are only in memory, and the dead rows, to the storage. Raises OSError."""
        if self._storage is None:
            return
        while True:
            self.settle()
            with self._lock:
                if self._thread is None:
                    self._publish(self._storage)
                    return

    def _publish(self, storage: Storage) -> None:
        self._raise_failure()
        parts = [part for part in self.parts if storage.holds(part.segment)]
        new = [part for part in self.parts if not storage.holds(part.segment)]
        if new:
            whole = new[0]
            for part in new[1:]:
                whole = whole.merge(part)
            parts.append(Part.of(storage.write(whole.compact().segment)))
        storage.publish(self._mode, parts)
        self.parts = tuple(parts)
        self._tidy()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _tidy(self) -> None:
        while due := self._due(AT_ONCE):
            self._replace(due, Part.of(_merged(due)))
        if self._thread is None and (self._due() or self.unplaced()):
            self._thread = threading.Thread(target=self._merge_all, name="merge", daemon=True)
            self._thread.start()

    def _due(self, limit: int | None = None) -> tuple[Part, ...]:
        """Return the parts to merge next, of at most ``limit`` living texts: two neighbours, or one mostly dead part."""
        for at in range(len(self.parts) - 1, -1, -1):
            part = self.parts[at]
            before = self.parts[at - 1] if at else None
            due: tuple[Part, ...] = ()
            if before is not None and 2 * part.count >= before.count:
                due = (before, part)
            elif 2 * part.count < len(part.segment):
                due = (part,)
            few = limit is None or sum(each.count for each in due) <= limit
            if due and few and not any(each.segment in self._merging for each in due):
                return due
        return ()

    def _merge_all(self) -> None:
        refused: set[Segment] = set()
        while True:
            with self._lock:
                due = () if self._failure else self._due()
                self._merging = tuple(part.segment for part in due)
                left = [] if due or self._failure else [p.segment for p in self.unplaced() if p.segment not in refused]
                if not due and not left:
                    self._thread = None
                    return
            try:
                if due:
                    self._merge(due)
                elif not self._place(left[0]):
                    refused.add(left[0])
                del due  # it holds memory of the device
                if self._placement is not None:
                    self._placement.release()
            except Exception as error:  # the next change raises it: nothing catches exceptions of this thread
                with self._lock:
                    self._merging, self._failure = (), error

    def _merge(self, due: tuple[Part, ...]) -> None:
        segment = _merged(due)
        if self._storage is not None:
            segment = self._storage.write(segment)
        placement = self._placement
        device = self._copied(segment, placement)
        with self._lock:
            self._merging = ()
            self._replace(due, Part.of(segment, device=device if placement is self._placement else None))

    def _place(self, segment: Segment) -> bool:
        placement = self._placement
        device = self._copied(segment, placement)
        with self._lock:
            if placement is self._placement:
                self.parts = tuple(replace(part, device=device) if part.segment is segment else part for part in self.parts)
        return device is not None

    @staticmethod
    def _copied(segment: Segment, placement: Placement | None) -> OnDevice | None:
        """Return the segment on the device; None if the CPU searches it or it does not fit."""
        if placement is None or not placement.wants(segment):
            return None
        try:
            return placement.place(segment)
        except (DeviceTooSmall, MemoryError):  # another user of the device may take its memory after the check
            return None

    def _replace(self, old: tuple[Part, ...], new: Part) -> None:
        """Replace the parts ``old`` by ``new``, less the rows that have died since the merge of ``old`` began."""
        now = {part.segment: part for part in self.parts}
        for each in old:
            # A part that is gone had no living rows left.
            died = each.alive & ~now[each.segment].alive if each.segment in now else each.alive
            new = new.without(each.segment.ids.decode(each.segment.ranks[died].tolist()))
        left = [each.segment for each in old if each.segment in now]
        parts = [new if part.segment in left[:1] else part for part in self.parts if part.segment not in left[1:]]
        self.parts = tuple(part for part in parts if part.count)


def _without(parts: Sequence[Part], ids: Sequence[str]) -> tuple[Part, ...]:
    return tuple(part for part in (part.without(ids) for part in parts) if part.count)


def _merged(parts: tuple[Part, ...]) -> Segment:
    return (parts[0].merge(parts[1]) if len(parts) > 1 else parts[0].compact()).segment

"""Following the catalog topic: applies its changes in order, from a snapshot's offset on, to the catalog of this process."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

import numpy as np

from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Work
from reflink.errors import BadRecord, BadVector, DeviceTooSmall, NoMemory
from workers.catalog.snapshot_opening import show_next
from workers.catalog.topic_reader import CatalogReader
from workers.catalog.topic_reader import change_of as change_of
from workers.config.settings import CatalogSettings
from workers.errors import DeadLetterFlood, DeviceFull, Stalled
from workers.kafka.clients import end_of
from workers.telemetry import metrics

log = logging.getLogger(__name__)

#: A text for which every sound model returns a vector.
_SAMPLE_TEXT: Final = "A study of the growth of plants in dry soil"

#: Works applied between two checks of the clock: about 0.1 s of encoding on a CPU.
_STEP: Final = 32
#: The step while at least this number of works wait: a larger step encodes each work at a lower cost.
_LARGE_STEP: Final = 96
#: The largest step of a call that may take 1 s or more, when the caller has no other work.
_BULK: Final = 1024
#: Interval between checks of the snapshot that the next start would use, in seconds.
_SNAPSHOT_CHECK_S: Final = 60.0
#: Seconds of waiting for a version after which it is checked against the end of the topic.
_CHECK_END_S: Final = 2.0
#: The followers of this process that have started, one per stage. They share the gauges.
_FOLLOWERS: Final[weakref.WeakSet[CatalogFollower]] = weakref.WeakSet()
_LOCK: Final = threading.Lock()


class CatalogFollower:
    """A follower of the catalog topic: it reads in its own thread and applies the changes on the caller's thread.

    ``encoder`` is needed if the catalog has vectors. Only ``apply`` and ``wait_for`` access the catalog's content. They call
    ``make_room`` when the device that holds the vectors is full; it returns whether it freed memory. If not, they raise
    DeviceFull.
    """

    def __init__(
        self,
        settings: CatalogSettings,
        catalog: Catalog,
        encoder: Encodes | None,
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:
        self.settings, self.catalog, self.encoder, self._make_room = settings, catalog, encoder, make_room
        self.reader = CatalogReader(settings, catalog.offset)
        #: Changes that were read and not yet applied, each with its offset.
        self._rest: list[tuple[int, Work | str]] = []
        self._offset_after_rest = catalog.offset
        #: Number of consecutive works whose vector has no direction.
        self._without_vector = 0
        #: Ids of the works that ``encode`` has to encode, in order of arrival; None if ``apply`` encodes.
        self._late: dict[str, None] | None = None
        self._stop = threading.Event()

    def start(self) -> int:
        """Start to read at the catalog's offset, which ``snapshots.open_catalog`` has checked. Return the end of the topic."""
        end = self.reader.start()
        with _LOCK:
            _FOLLOWERS.add(self)
        if self.settings.catalog_snapshot is not None:
            threading.Thread(target=self._check_snapshots, name="next-snapshot", daemon=True).start()
        return end

    def apply(self, seconds: float) -> bool:
        """Apply changes for about ``seconds``, at least one step. Return whether there were any.

        Raises the error that ended the reading thread.
        """
        until = time.monotonic() + seconds
        changed = False
        limit = _LARGE_STEP if seconds < 1 else _BULK
        while self._take(limit):
            changed = True
            step = limit if seconds >= 1 or len(self._rest) >= limit else _STEP
            self._change([change for _, change in self._rest[:step]])
            self.catalog.offset = self._rest[step][0] if len(self._rest) > step else self._offset_after_rest
            del self._rest[:step]
            if time.monotonic() >= until:
                break
        if changed:
            metrics.CATALOG_WORKS.set(len(self.catalog))
        with _LOCK:
            followers = {self, *_FOLLOWERS}
        # An alert must see a follower that does not move beside one that does.
        metrics.CATALOG_OFFSET.set(min(each.catalog.offset for each in followers))
        metrics.CATALOG_LAG.set(max(each.lag for each in followers))
        return changed

    def defer_vectors(self) -> None:
        """Add works without vectors from now on; ``encode`` computes them later. Until then no search of vectors finds them."""
        self._late = {}

    def encode(self, seconds: float) -> bool:
        """Encode works that were added without vectors for about ``seconds``, at least one step. Return whether any waited."""
        until = time.monotonic() + seconds
        late = self._late or {}
        waited = bool(late)
        while late:
            some = list(islice(late, _STEP if seconds < 1 else _BULK))
            self._encode([work for each in some if (work := self.catalog.get(each)) is not None], self.catalog.encode)
            for each in some:
                del late[each]
            if time.monotonic() >= until:
                break
        metrics.CATALOG_LATE_VECTORS.set(len(late))
        return waited

    def wait_for(self, offset: int, deadline_s: float) -> None:
        """Apply changes until the catalog's version is at least ``offset``.

        Raises Stalled if nothing arrived for ``deadline_s``, and BadRecord if the topic ends before ``offset``.
        """
        moved, seen, checked_end = time.monotonic(), -1, False
        while self.catalog.offset < offset:
            if self.apply(1.0):
                moved = time.monotonic()
            elif self.catalog.offset != seen:
                moved, seen = time.monotonic(), self.catalog.offset
            elif not checked_end and time.monotonic() - moved > _CHECK_END_S:
                checked_end = True
                if offset > (end := end_of(self.settings, "catalog")):
                    topic = self.settings.topic("catalog")
                    raise BadRecord(
                        f"decided at catalog offset {offset}, but {topic} ends at {end}: the event is of another cluster or "
                        "prefix, or the topic was recreated"
                    )
            elif time.monotonic() - moved > deadline_s:
                raise Stalled(
                    f"the catalog is at offset {self.catalog.offset}, an event was decided at {offset}, and no record "
                    f"arrived for {deadline_s:g} s: check that this worker uses the same cluster and topic prefix as the others"
                )
            else:
                time.sleep(0.01)

    @property
    def lag(self) -> int:
        """Number of offsets between the catalog and the last known end of the topic."""
        return max(0, self.reader.end - self.catalog.offset)

    def close(self) -> None:
        """Stop reading."""
        with _LOCK:
            _FOLLOWERS.discard(self)
        self._stop.set()
        self.reader.close()

    def _take(self, limit: int) -> bool:
        """Collect the changes that were read, up to about ``limit``, because small steps cost more per work.

        Returns whether there are any.
        """
        while len(self._rest) < limit and (changes := self.reader.take()) is not None:
            self._rest += [(offset, change) for offset, _, change in changes.records]
            self._offset_after_rest = changes.offset
        if not self._rest:
            self.catalog.offset = self._offset_after_rest
        return bool(self._rest)

    def _change(self, changes: Sequence[Work | str]) -> None:
        """Apply changes in order; consecutive additions, and consecutive removals, make one call."""
        start = 0
        while start < len(changes):
            gone = isinstance(changes[start], str)
            end = start
            while end < len(changes) and isinstance(changes[end], str) == gone:
                end += 1
            run = changes[start:end]
            if gone:
                self.catalog.remove([each for each in run if isinstance(each, str)])
            else:
                self._add([each for each in run if isinstance(each, Work)])
            start = end

    def _add(self, works: Sequence[Work]) -> None:
        if self.encoder is None:
            self.catalog.add(works)
        elif self._late is None:
            self._encode(works, self.catalog.add_encoded)
        else:
            self._late.update(dict.fromkeys(work.id for work in self.catalog.add_unencoded(works)))
            metrics.CATALOG_LATE_VECTORS.set(len(self._late))

    def _encode(self, works: Sequence[Work], add: Callable[[Sequence[Work], Encodes], object]) -> None:
        """Call ``add`` with the works; if a vector has no direction, with each work alone."""
        assert self.encoder is not None
        if not works:
            return
        try:
            self._grow(works, self.encoder, add)
            self._without_vector = 0
        except BadVector:
            for work in works:
                self._add_alone(work, self.encoder, add)

    def _grow(self, works: Sequence[Work], encoder: Encodes, add: Callable[[Sequence[Work], Encodes], object]) -> None:
        try:
            try:
                add(works, encoder)
            except DeviceTooSmall:
                if not self._make_room():
                    raise
                add(works, encoder)
        except (DeviceTooSmall, NoMemory) as error:
            raise DeviceFull(
                f"the catalog cannot grow beyond {len(self.catalog)} works on this device; no data is lost: {error}; "
                "REFLINK_SEARCH_STREAM=true searches from host memory, REFLINK_SEARCH_DEVICE=cpu on the CPU"
            ) from None

    def _add_alone(self, work: Work, encoder: Encodes, add: Callable[[Sequence[Work], Encodes], object]) -> None:
        """Add one work; without a vector if its vector has no direction, as on every replica. Identifiers still find it."""
        try:
            self._grow([work], encoder, add)
            self._without_vector = 0
        except BadVector as error:
            self.catalog.add_unencoded([work])
            self._without_vector += 1
            metrics.CATALOG_WITHOUT_VECTOR.inc()
            log.error("a work has no vector", extra={"work": work.id, "detail": str(error)})
            if self._without_vector >= self.settings.flood_run:
                self._without_vector = 0
                self._refuse_bad_model(encoder, work, error)

    def _refuse_bad_model(self, encoder: Encodes, work: Work, error: BadVector) -> None:
        """Raise DeadLetterFlood if the model has no vector for an ordinary text either.

        Otherwise the works are at fault, and ending the worker would not help: the next start reads the same works.
        """
        vector = np.asarray(encoder.encode([_SAMPLE_TEXT])[0])
        if np.isfinite(vector).all() and vector.any():
            return
        raise DeadLetterFlood(
            f"{self.settings.flood_run} consecutive works have no vector, the last is {work.id}: {error}; an ordinary text has "
            "none either, so the model is at fault: check REFLINK_MODEL, REFLINK_DEVICE and REFLINK_PRECISION"
        ) from None

    def _check_snapshots(self) -> None:
        """Check the next snapshot, in a separate thread: an unresponsive network folder must not block reading the topic."""
        while not self._stop.wait(_SNAPSHOT_CHECK_S):
            show_next(self.settings.catalog_snapshot)

"""Following the catalog topic: from a snapshot's offset, in order, into the catalog of this process."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Work
from reflink.errors import BadRecord, BadVector, DeviceTooSmall, NoMemory
from workers import metrics
from workers.catalog_reading import CatalogReader
from workers.catalog_reading import change_of as change_of
from workers.clients import end_of
from workers.errors import DeadLetterFlood, DeviceFull, Stalled
from workers.settings import CatalogSettings
from workers.snapshots import show_next

log = logging.getLogger(__name__)

#: Works applied between two looks at the clock: about 0.1 s of encoding on a CPU.
_STEP: Final = 32
#: The same when so many wait: the more at a time, the less each costs to encode.
_LARGE_STEP: Final = 96
#: Works applied at a time while nothing else is to do.
_BULK: Final = 1024
#: How often the snapshot of the next start is looked at.
_LOOK_S: Final = 60.0
#: After waiting so long for a version, it is asked whether there is such a one.
_DOUBT_S: Final = 2.0


class CatalogFollower:
    """Reads the catalog topic in a thread of its own and applies it on the caller's.

    ``encoder`` is needed when the catalog has vectors. Nothing of the catalog is touched but within ``apply`` and ``wait_for``.
    ``make_room`` is called when the device that holds the vectors has no room for more, and says whether it made some; if not,
    these raise DeviceFull.
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
        #: What was read and is yet to be applied, each with its offset.
        self._rest: list[tuple[int, Work | str]] = []
        self._offset_after_rest = catalog.offset
        #: Works in a row whose vector has no direction.
        self._without_vector = 0
        self._stop = threading.Event()

    def start(self) -> int:
        """Begins to read where the catalog stands, which ``snapshots.open_catalog`` checked. Returns the topic's end."""
        end = self.reader.start()
        if self.settings.catalog_snapshot is not None:
            threading.Thread(target=self._look, name="next-snapshot", daemon=True).start()
        return end

    def apply(self, seconds: float) -> bool:
        """Applies news for about so long, at least one step. Returns whether there was any. Raises what reading died of."""
        until = time.monotonic() + seconds
        any_news = False
        most = _LARGE_STEP if seconds < 1 else _BULK
        while self._take(most):
            any_news = True
            step = most if seconds >= 1 or len(self._rest) >= most else _STEP
            self._change([change for _, change in self._rest[:step]])
            self.catalog.offset = self._rest[step][0] if len(self._rest) > step else self._offset_after_rest
            del self._rest[:step]
            if time.monotonic() >= until:
                break
        if any_news:
            metrics.CATALOG_WORKS.set(len(self.catalog))
        metrics.CATALOG_OFFSET.set(self.catalog.offset)
        metrics.CATALOG_LAG.set(self.lag)
        return any_news

    def wait_for(self, offset: int, deadline_s: float) -> None:
        """Applies until the catalog's version is at least ``offset``.

        Raises Stalled when nothing came for so long, BadRecord when the topic does not reach as far.
        """
        moved, seen, asked = time.monotonic(), -1, False
        while self.catalog.offset < offset:
            if self.apply(1.0):
                moved = time.monotonic()
            elif self.catalog.offset != seen:
                moved, seen = time.monotonic(), self.catalog.offset
            elif not asked and time.monotonic() - moved > _DOUBT_S:
                asked = True
                if offset > (end := end_of(self.settings, "catalog")):
                    topic = self.settings.topic("catalog")
                    raise BadRecord(
                        f"it was judged at catalog offset {offset}, and {topic} ends at {end}: it is of another cluster or "
                        "prefix, or the topic was created anew"
                    )
            elif time.monotonic() - moved > deadline_s:
                raise Stalled(
                    f"the catalog stands at offset {self.catalog.offset} and an event was judged at {offset}; nothing came for "
                    f"{deadline_s:g} s: is this worker on the same cluster and topic prefix as the others?"
                )
            else:
                time.sleep(0.01)

    @property
    def lag(self) -> int:
        """Records of the topic that are not applied yet, as far as its end is known."""
        return max(0, self.reader.end - self.catalog.offset)

    def close(self) -> None:
        """Stops reading."""
        self._stop.set()
        self.reader.close()

    def _take(self, most: int) -> bool:
        """Whether there is something to apply: as much as was read, up to ``most``, since few at a time cost more each."""
        while len(self._rest) < most and (news := self.reader.take()) is not None:
            self._rest += [(offset, change) for offset, _, change in news.records]
            self._offset_after_rest = news.offset
        if not self._rest:
            self.catalog.offset = self._offset_after_rest
        return bool(self._rest)

    def _change(self, changes: Sequence[Work | str]) -> None:
        """Runs of additions and of removals, each as one call, in order."""
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
            return
        try:
            self._add_encoded(works, self.encoder)
            self._without_vector = 0
        except BadVector:
            for work in works:
                self._add_alone(work, self.encoder)

    def _add_encoded(self, works: Sequence[Work], encoder: Encodes) -> None:
        try:
            try:
                self.catalog.add_encoded(works, encoder)
            except DeviceTooSmall:
                if not self._make_room():
                    raise
                self.catalog.add_encoded(works, encoder)
        except (DeviceTooSmall, NoMemory) as error:
            raise DeviceFull(
                f"the catalog cannot grow beyond {len(self.catalog)} works here, of which nothing is lost: {error}; "
                "REFLINK_SEARCH_STREAM=true searches from host memory, REFLINK_SEARCH_DEVICE=cpu on the processor"
            ) from None

    def _add_alone(self, work: Work, encoder: Encodes) -> None:
        """A work whose vector has no direction is there without one, as on every replica: by its identifiers."""
        try:
            self._add_encoded([work], encoder)
            self._without_vector = 0
        except BadVector as error:
            self.catalog.add_unencoded([work])
            self._without_vector += 1
            metrics.CATALOG_WITHOUT_VECTOR.inc()
            log.error("a work has no vector", extra={"work": work.id, "detail": str(error)})
            if self._without_vector >= self.settings.flood_run:
                raise DeadLetterFlood(
                    f"{self._without_vector} works in a row have no vector, the last is {work.id}: {error}; it is the model "
                    "that is bad, not the works: check REFLINK_MODEL, REFLINK_DEVICE and REFLINK_PRECISION"
                ) from None

    def _look(self) -> None:
        """In a thread of its own: a folder on the network that does not answer must not keep the topic from being read."""
        while not self._stop.wait(_LOOK_S):
            show_next(self.settings.catalog_snapshot)

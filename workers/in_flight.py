"""What is in flight, and who owns which partition: the half of the flow that knows no queue."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from workers.batch import Batch
from workers.stage import Place

News = tuple[Literal["assigned", "released"], tuple[Place, ...]]

#: How long an idle commit and a chore wait for each other before they give way.
GIVE_WAY_S: Final = 1.0


class InFlight:
    """Batches in flight and partitions, under one lock. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._epoch = 0
        self._owned: set[Place] = set()
        # Those of which the stage has not heard.
        self._untold: set[Place] = set()
        # How many departures there were, and which of them was a partition's last.
        self._departures = 0
        self._left: dict[Place, int] = {}
        self._in_flight: dict[int, Batch] = {}
        self._numbers = itertools.count()
        self._news: deque[News] = deque()
        # Whether the stage hears such news.
        self._hearing = False
        self._seek_back: set[Place] = set()
        # Whether nothing may be sought back yet.
        self._held_back = False
        # Whether an idle worker's positions are being committed.
        self._resting = False
        self._closed = False

    # What polling does

    def owned(self) -> frozenset[Place]:
        """Our partitions."""
        with self._changed:
            return frozenset(self._owned)

    def departures(self) -> int:
        """How often partitions have left so far. Ask before seeking back, and hand it to ``sought_back``."""
        with self._changed:
            return self._departures

    def to_seek_back(self) -> set[Place]:
        """Partitions to seek to their committed offsets now; none while a batch that holds one is in flight."""
        with self._changed:
            return set() if self._held_back else self._seek_back - self._places_in_flight()

    def sought_back(self, place: Place, departures: int) -> None:
        """The consumer stands at the committed offset of this partition: its records are welcome again.

        Unless it left and came back since ``departures``: then that offset may be from before, and it is sought back anew.
        The stage hears of a new partition only now. Before, its last worker may be about to commit, and what the stage looks up
        would lack that; the committed offset is known when no transaction is open on the partition.
        """
        with self._changed:
            if self._left.get(place, 0) <= departures:
                self._seek_back.discard(place)
                self._tell(place)
            elif place in self._owned:
                self._seek_back.add(place)

    # What computing does

    def news(self) -> list[News]:
        """Partitions that came and went since the last call, in order; the stage hears it before it sees their records.

        Ask again when it has heard all.
        """
        with self._changed:
            told = list(self._news)
            self._news.clear()
            self._hearing = bool(told)
            return told

    def hearing(self) -> bool:
        """Whether the stage is hearing news: it may have a store to rebuild, and no record is handled meanwhile."""
        with self._changed:
            return self._hearing

    def chore(self, places: Iterable[Place], committed: Mapping[Place, int]) -> Batch | None:
        """A chore's batch, which leaves ``committed`` as it is for these partitions; for a worker that has nothing in flight.

        None when that is not known of one, or one is not ours, is to be read again, or came or went since ``news`` was asked:
        then what the stage has done rests on what may no longer be so.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._resting or self._news or self._closed, GIVE_WAY_S)
            wanted = set(places)
            if self._resting or not self._undisturbed(wanted) or self._seek_back & wanted or wanted - committed.keys():
                return None
            positions = {place: committed[place] for place in wanted}
            return self._launch(Batch(next(self._numbers), self._epoch, [], positions=positions))

    def undisturbed(self, places: Iterable[Place]) -> bool:
        """Whether these are ours, and no partition came or went since ``news`` was asked."""
        with self._changed:
            return self._undisturbed(set(places))

    def wait_for(self, batch: Batch, timeout_s: float) -> bool:
        """Returns once the batch is no longer in flight; False when that took longer."""
        with self._changed:
            return self._changed.wait_for(lambda: batch.number not in self._in_flight, timeout_s)

    # What committing does

    def current(self, batch: Batch) -> bool:
        """Whether the batch may still be committed."""
        with self._changed:
            return batch.epoch == self._epoch

    def done(self, batch: Batch) -> None:
        """The batch is committed, or given up."""
        with self._changed:
            self._in_flight.pop(batch.number, None)
            self._changed.notify_all()

    def resume(self, *, renew: bool) -> None:
        """What was held back may be read again.

        With ``renew`` the stage first hears that its partitions went and came: it is not known whether the transaction was
        committed, so a store beside it must be looked after.
        """
        with self._changed:
            if renew and (told := tuple(self._owned - self._untold)):
                self._news += [("released", told), ("assigned", told)]
            self._held_back = False
            self._changed.notify_all()

    def closed(self) -> bool:
        """Whether the worker is ending."""
        with self._changed:
            return self._closed

    # Under the lock

    def _leave(self, places: Iterable[Place]) -> None:
        self._departures += 1
        self._owned.difference_update(places)
        self._untold.difference_update(places)
        self._left.update((place, self._departures) for place in places)

    def _tell(self, place: Place) -> None:
        if place not in self._untold:
            return
        self._untold.discard(place)
        # Together with those before it: a stage opens several as fast as one.
        before = self._news.pop()[1] if self._news and self._news[-1][0] == "assigned" else ()
        self._news.append(("assigned", (*before, place)))
        self._changed.notify_all()

    def _places_in_flight(self) -> set[Place]:
        return {place for batch in self._in_flight.values() for place in batch.positions}

    def _undisturbed(self, places: set[Place]) -> bool:
        return places <= self._owned and not self._news and not self._closed

    def _launch(self, batch: Batch) -> Batch:
        self._in_flight[batch.number] = batch
        return batch

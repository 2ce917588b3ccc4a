"""A stage with chores beside its records, also to be started as a process: ``python -m tests.workers.chored``.

Each partition's chores write the numbers from 0 on to ``links``; where they stand is told by the topic alone.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence

from tests.kafka import iterate
from tests.workers.echo import Echo
from workers.cli.processes import _worker
from workers.settings import KafkaSettings, WorkerSettings
from workers.stage import Message, NoView, Output, Place, Received
from workers.transactions import BoundedProducer


class Chored(Echo):
    """Echo, and in every partition of its own ``limit`` chores, of which each takes so many ``chore_s``."""

    name = "chored"
    outputs = ("outcomes", "links")
    follows = ("links",)
    sequential = True

    def __init__(self, kafka: KafkaSettings, limit: int, *, seconds: float = 0.0, chore_s: float = 0.0) -> None:
        super().__init__(seconds=seconds)
        self.kafka, self.limit, self.chore_s = kafka, limit, chore_s
        self.next: dict[Place, int] = {}
        #: What became of chores: how many were offered, and how many committed.
        self.offered, self.done = 0, 0

    def assigned(self, places: Sequence[Place]) -> None:
        written = numbers(self.kafka)
        self.next.update({place: len(written.get(place, ())) for place in places})
        super().assigned(places)

    def released(self, places: Sequence[Place]) -> None:
        for place in places:
            self.next.pop(place, None)
        super().released(places)

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        at("handle")
        return super().handle(batch, view)

    def chore(self) -> Output | None:
        left = [(number, place) for place, number in self.next.items() if number < self.limit]
        if not left:
            return None
        number, place = min(left)
        self.offered += 1
        time.sleep(self.chore_s)
        at("chore")
        name = b"%s %d %d" % (place[0].encode(), place[1], number)
        return Output([Message("links", name, name)], {place: number + 1}, places=frozenset([place]))

    def committed(self, output: Output, offsets: Mapping[Place, int]) -> None:
        if output.places:
            at("committed")
            self.done += 1
            self.next.update(output.writes)  # type: ignore[arg-type]


def numbers(kafka: KafkaSettings) -> dict[Place, list[int]]:
    """What each partition's chores have written, in order."""
    found: dict[Place, list[tuple[int, int]]] = {}
    for record in iterate(kafka, "links"):
        topic, partition, number = (record.value or b"").split()
        found.setdefault((topic.decode(), int(partition)), []).append((record.timestamp, int(number)))
    return {place: [number for _, number in sorted(pairs)] for place, pairs in found.items()}


_times: Counter[str] = Counter()


def at(point: str) -> None:
    """Sends the process its signal at the place in CHORED_AT, ``point:count:signal``."""
    wanted, count, number = os.environ.get("CHORED_AT", ":0:0").split(":")
    _times[point] += 1
    if point == wanted and _times[point] == int(count):
        os.kill(os.getpid(), int(number))
        if int(number) == signal.SIGKILL:
            time.sleep(60)


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    whole = BoundedProducer.commit_transaction

    def commit(producer: BoundedProducer) -> None:
        at("commit")
        whole(producer)
        at("after commit")

    BoundedProducer.commit_transaction = commit  # type: ignore[method-assign]
    return _worker(lambda settings: Chored(settings, int(os.environ["CHORED_LIMIT"])), WorkerSettings)(Namespace())


if __name__ == "__main__":
    sys.exit(main())

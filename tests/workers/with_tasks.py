"""A stage with background tasks (``background_task``), also for a process of its own: ``python -m tests.workers.with_tasks``.

The tasks of each partition write the numbers from 0 to ``links``. Their progress is stored in this topic only.
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
from workers.cli.processes import worker
from workers.config.settings import KafkaSettings, WorkerSettings
from workers.kafka.transactional_producer import BoundedProducer
from workers.records import Message, Partition, Received
from workers.stage import NoView, Output


class WithTasks(Echo):
    """Echo with ``limit`` background tasks in each owned partition, each of which takes ``task_s`` seconds."""

    name = "chored"
    outputs = ("outcomes", "links")
    follows = ("links",)
    sequential = True

    def __init__(self, kafka: KafkaSettings, limit: int, *, seconds: float = 0.0, task_s: float = 0.0) -> None:
        super().__init__(seconds=seconds)
        self.kafka, self.limit, self.task_s = kafka, limit, task_s
        self.next: dict[Partition, int] = {}
        #: The numbers of background tasks that were offered and that were committed.
        self.offered, self.done = 0, 0

    def assigned(self, places: Sequence[Partition]) -> None:
        written = numbers(self.kafka)
        self.next.update({place: len(written.get(place, ())) for place in places})
        super().assigned(places)

    def released(self, places: Sequence[Partition]) -> None:
        for place in places:
            self.next.pop(place, None)
        super().released(places)

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        at("handle")
        return super().handle(batch, view)

    def background_task(self) -> Output | None:
        left = [(number, place) for place, number in self.next.items() if number < self.limit]
        if not left:
            return None
        number, place = min(left)
        self.offered += 1
        time.sleep(self.task_s)
        at("chore")
        name = b"%s %d %d" % (place[0].encode(), place[1], number)
        return Output([Message("links", name, name)], {place: number + 1}, partitions=frozenset([place]))

    def committed(self, output: Output, offsets: Mapping[Partition, int]) -> None:
        if output.partitions:
            at("committed")
            self.done += 1
            self.next.update(output.writes)  # type: ignore[arg-type]


def numbers(kafka: KafkaSettings) -> dict[Partition, list[int]]:
    """Return the numbers that the background tasks of each partition have written, in order."""
    found: dict[Partition, list[tuple[int, int]]] = {}
    for record in iterate(kafka, "links"):
        topic, partition, number = (record.value or b"").split()
        found.setdefault((topic.decode(), int(partition)), []).append((record.timestamp, int(number)))
    return {place: [number for _, number in sorted(pairs)] for place, pairs in found.items()}


_times: Counter[str] = Counter()


def at(point: str) -> None:
    """Send the process a signal at the point that CHORED_AT names, as ``point:count:signal``."""
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
    return worker(lambda: lambda settings: WithTasks(settings, int(os.environ["CHORED_LIMIT"])), WorkerSettings)(Namespace())


if __name__ == "__main__":
    sys.exit(main())

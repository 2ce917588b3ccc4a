"""End-to-end check: sends a test paper through the running pipeline, waits for its link, and withdraws the paper.

The check adds the work that its paper cites, so it depends neither on the catalog nor on REFLINK_OFFER_PAPERS. The paper's
second reference cites no existing work, and only the fallback settles such a reference. So the check needs every worker.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka.errors import KafkaError

from reflink.errors import ReflinkError
from workers.config.settings import KafkaSettings
from workers.errors import BrokerRefused, BrokerUnreachable
from workers.kafka.bulk_producer import NotSent, Sender
from workers.kafka.partition_reader import PartitionReader
from workers.kafka.topics import TopicAdmin, partition_of
from workers.tools.sentinel import Sentinel

#: Topics that the check reads, and topics that it writes.
READS: Final = ("catalog", "dead-letters", "fallback", "links", "outcomes")
WRITES: Final = ("catalog", "papers")


class CheckFailed(ReflinkError):
    """No link appeared in time, or the paper or work could not be withdrawn; the message names the worker to examine."""


@dataclass(frozen=True)
class Step:
    """A completed step of the check. ``seconds`` counts from the start of the check."""

    name: str
    seconds: float
    detail: str


def check(settings: KafkaSettings, timeout_s: float, report: Callable[[Step], object] = lambda _: None) -> list[Step]:
    """Send a paper, wait for its link, withdraw it and wait until the withdrawal takes effect. Return the steps.

    ``timeout_s`` limits the wait for the link, and again the wait for the withdrawal. The check withdraws what it has sent
    even after an error. Raises CheckFailed, or WrongTopic if a topic is missing or misconfigured.
    """
    sentinel = Sentinel(secrets.token_hex(8))
    steps: list[Step] = []
    began = time.monotonic()

    def done(name: str, detail: str) -> None:
        steps.append(Step(name, round(time.monotonic() - began, 3), detail))
        report(steps[-1])

    with Watch(settings, sentinel) as watch, Sender(settings) as sender:
        try:
            deadline = time.monotonic() + timeout_s
            sentinel.offer_work(sender)
            watch.wait(lambda: sentinel.offered, deadline, sentinel.stopped_at)
            done("work offered", f"{sentinel.work.id} at offset {sentinel.work_offset} of {settings.topic('catalog')}")
            sentinel.send(sender)
            watch.wait(lambda: sentinel.parsed, deadline, sentinel.stopped_at)
            done("paper parsed", sentinel.citing)

            def linked() -> bool:
                if sentinel.must_be_sent_again():
                    sentinel.send(sender)
                return sentinel.linked

            watch.wait(linked, deadline, sentinel.stopped_at)
            again = f", sent {sentinel.version} times until the work was known" if sentinel.version > 1 else ""
            done("reference linked", f"by {sentinel.method} to {sentinel.work.id}{again}")
            watch.wait(lambda: sentinel.settled, deadline, sentinel.stopped_at)
            done("other reference settled", f"by the {'fallback' if sentinel.left_open else 'linker'}: {sentinel.other}")
        finally:
            try:
                with Sender(settings) as another:  # the first one sends nothing more once it has failed
                    sentinel.withdraw(another)
            except (BrokerRefused, BrokerUnreachable, KafkaError, NotSent) as error:
                raise CheckFailed(f"broker: {sentinel.citing} and its work could not be withdrawn: {error}") from error
        watch.wait(lambda: sentinel.gone, time.monotonic() + timeout_s, sentinel.left_behind)
        done("withdrawn", "the links and works are gone")
    return steps


class Watch(PartitionReader):
    """A reader of the partitions that the paper's records pass through, from their current ends on. Raises WrongTopic."""

    def __init__(self, settings: KafkaSettings, sentinel: Sentinel) -> None:
        with TopicAdmin(settings) as admin:
            found = admin.check({*READS, *WRITES})
        places = ((name, partition_of(sentinel.citing.encode(), found[name].partitions)) for name in READS)
        super().__init__(settings, dict.fromkeys(places))
        self._sentinel = sentinel
        try:
            self.assign(self.end_offsets())
        except BaseException:
            self.close()
            raise

    def wait(self, until: Callable[[], bool], deadline: float, where: Callable[[], str]) -> None:
        """Read until ``until`` returns true. Raises CheckFailed with the message of ``where``, or BrokerRefused."""
        while not until():
            if self._sentinel.died or time.monotonic() > deadline:
                raise CheckFailed(where())
            for (topic, _), records in self.poll(0.1).items():
                for record in records:
                    self._sentinel.observe(topic, record)

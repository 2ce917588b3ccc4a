"""Whether a link comes out: a paper of its own is sent through the running pipeline, and taken back.

The check brings the work that its paper cites, so it depends on nothing in the catalog, nor on REFLINK_OFFER_PAPERS. A second
citation is of nothing there is: only the fallback settles such a one. So each worker has to do its part.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from kafka import TopicPartition
from kafka.errors import KafkaError

from reflink.errors import ReflinkError
from workers.clients import REFUSALS, plain_consumer, refused
from workers.errors import BrokerRefused, BrokerUnreachable
from workers.sending import NotSent, Sender
from workers.sentinel import Sentinel
from workers.settings import KafkaSettings
from workers.topics import TOPICS, TopicAdmin, partition_of

#: What the check reads, and what it writes.
READS: Final = ("catalog", "dead-letters", "fallback", "links", "outcomes")
WRITES: Final = ("catalog", "papers")


class CheckFailed(ReflinkError):
    """No link came out in time, or what was sent could not be taken back; the message names the worker to look at."""


@dataclass(frozen=True)
class Step:
    """What has come about, so many seconds after the check began."""

    name: str
    seconds: float
    detail: str


def check(settings: KafkaSettings, timeout_s: float, tell: Callable[[Step], object] = lambda _: None) -> list[Step]:
    """Sends a paper, waits for its link, withdraws it and waits until it is gone; returns the steps.

    ``timeout_s`` is the longest wait for the link, and again for the withdrawal. What was sent is withdrawn whatever happens.
    Raises CheckFailed; WrongTopic when a topic is not there or not as it must be.
    """
    with TopicAdmin(settings) as admin:
        admin.check({*READS, *WRITES})
    sentinel = Sentinel(secrets.token_hex(8))
    steps: list[Step] = []
    began = time.monotonic()

    def done(name: str, detail: str) -> None:
        steps.append(Step(name, round(time.monotonic() - began, 3), detail))
        tell(steps[-1])

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


class Watch:
    """A reader of where the paper may come by, outside any group. Use as a context manager."""

    def __init__(self, settings: KafkaSettings, sentinel: Sentinel) -> None:
        self._settings, self._sentinel = settings, sentinel
        self._consumer: Any = plain_consumer(settings)
        self._topics = {settings.topic(name): name for name in READS}

    def __enter__(self) -> Self:
        """From now on all is heard."""
        places = []
        for full, name in self._topics.items():
            partitions = TOPICS[name].partitions or len(self._consumer.partitions_for_topic(full) or [0])
            places.append(TopicPartition(full, partition_of(self._sentinel.citing.encode(), partitions)))
        self._consumer.assign(places)
        for place, end in self._consumer.end_offsets(places).items():
            self._consumer.seek(place, end)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._consumer.close()

    def wait(self, until: Callable[[], bool], deadline: float, where: Callable[[], str]) -> None:
        """Returns when it is so. Raises CheckFailed with ``where``, and BrokerRefused."""
        while not until():
            if self._sentinel.died or time.monotonic() > deadline:
                raise CheckFailed(where())
            try:
                polled = self._consumer.poll(timeout_ms=100)
            except REFUSALS as error:
                raise refused(error, self._settings) from None
            for place, records in polled.items():
                for record in records:
                    self._sentinel.hear(self._topics[place.topic], record)

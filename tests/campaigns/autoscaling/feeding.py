"""Papers in bursts: many at once at the beginning, and more while the burst lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from reflink.entities import Work
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER
from tests.campaigns import threads
from tests.campaigns.autoscaling.errors import RunFailed
from tests.campaigns.chaos.checker import expected
from tests.campaigns.chaos.papers import POISON_EVERY, REFERENCES, citing, paper
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import PaperRecord, compress, publish

_LOOK_S: Final = 1.0
#: While a burst lasts, the number of waiting papers is kept above its initial number divided by this.
_SHARE: Final = 4


class Feeder:
    """Sends the papers of a run. Numbers continue from burst to burst, as the checker requires."""

    def __init__(self, kafka: KafkaSettings, works: Sequence[Work], seen: Callable[[], int]) -> None:
        """``seen`` returns the number of published links."""
        self._kafka, self._works, self.seen = kafka, works, seen
        self.papers = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failures: list[BaseException] = []

    def links(self) -> int:
        """Return the number of links that the papers sent so far lead to."""
        return sum(1 for _ in expected(self.papers))

    def start(self, papers: int) -> None:
        """Start a burst with ``papers`` papers at once."""
        self._stop.clear()
        self._thread = threads.start(lambda: self._run(papers), self._failures.append, "feeder")

    def stop(self) -> None:
        """End the burst. Raises RunFailed if papers could not be sent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.check()

    def check(self) -> None:
        """Raise RunFailed if papers could not be sent."""
        for error in self._failures:
            raise RunFailed(f"papers could not be sent: {error}")

    def _run(self, papers: int) -> None:
        with Sender(self._kafka) as sender:
            self._send(sender, papers)
            minimum = papers // _SHARE
            while not self._stop.wait(_LOOK_S):
                if (self.links() - self.seen()) // REFERENCES < minimum:
                    self._send(sender, minimum)

    def _send(self, sender: Sender, count: int) -> None:
        publish((record(number, self._works) for number in range(self.papers, self.papers + count)), sender)
        sender.flush()
        self.papers += count


def record(number: int, works: Sequence[Work]) -> PaperRecord:
    """Return the record like ``record_of``, but without parsing the paper for its id, so that a burst is sent quickly."""
    key = citing(number) if number % POISON_EVERY else f"paper-{number}"
    headers = ((CONTENT_HEADER, b"paper"), (ENCODING_HEADER, b"zstd"))
    return PaperRecord(key.encode(), compress(paper(number, works), "zstd"), headers)

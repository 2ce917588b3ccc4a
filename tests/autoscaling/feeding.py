"""Papers that come in a burst: many at once, and more while it lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from reflink.entities import Work
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER
from tests.autoscaling.errors import RunFailed
from tests.chaos.checker import expected
from tests.chaos.papers import POISON_EVERY, REFERENCES, citing, paper
from workers.publishing import PaperRecord, compress, publish
from workers.sending import Sender
from workers.settings import KafkaSettings

_LOOK_S: Final = 1.0
#: While the burst lasts, so much of its first papers is kept waiting.
_SHARE: Final = 4


class Feeder:
    """Sends the papers of a run; numbers go on from burst to burst, as the checker wants them."""

    def __init__(self, kafka: KafkaSettings, works: Sequence[Work], seen: Callable[[], int]) -> None:
        """``seen`` says how many links have come out."""
        self._kafka, self._works, self._seen = kafka, works, seen
        self.papers = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def links(self) -> int:
        """How many links all papers that were sent so far make."""
        return sum(1 for _ in expected(self.papers))

    def start(self, papers: int) -> None:
        """A burst begins with so many papers at once."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, args=(papers,), name="feeder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """The burst is over: no more papers come. Raises what hindered their sending."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.check()

    def check(self) -> None:
        """Raises RunFailed when papers could not be sent."""
        if self._failure is not None:
            raise RunFailed(f"papers could not be sent: {self._failure}")

    def _run(self, papers: int) -> None:
        try:
            with Sender(self._kafka) as sender:
                self._send(sender, papers)
                least = papers // _SHARE
                while not self._stop.wait(_LOOK_S):
                    if (self.links() - self._seen()) // REFERENCES < least:
                        self._send(sender, least)
        except BaseException as error:
            self._failure = error

    def _send(self, sender: Sender, count: int) -> None:
        publish((record(number, self._works) for number in range(self.papers, self.papers + count)), sender)
        sender.flush()
        self.papers += count


def record(number: int, works: Sequence[Work]) -> PaperRecord:
    """As ``record_of`` makes it, but for its parsing the paper to learn its id, which is known: a burst comes at once."""
    key = citing(number) if number % POISON_EVERY else f"paper-{number}"
    headers = ((CONTENT_HEADER, b"xml"), (ENCODING_HEADER, b"zstd"))
    return PaperRecord(key.encode(), compress(paper(number, works), "zstd"), headers)

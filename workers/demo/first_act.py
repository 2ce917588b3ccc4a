"""The demo's first act: publish papers in waves to a running pipeline, until the pipeline is at rest."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reflink.errors import NotAPaper, ReflinkError
from workers.config.settings import KafkaSettings
from workers.demo.display import Display, State
from workers.demo.outcomes import OutcomeReader, Outcomes
from workers.demo.papers import Published, publish_wave
from workers.demo.rest import Rest
from workers.devkit.processes import Pipeline
from workers.kafka.bulk_producer import Sender

#: If nothing changes for this many seconds, nothing more will come.
PATIENCE_S: Final = 120.0
_TICK_S: Final = 0.2


class NoProgress(ReflinkError):
    """The pipeline makes no progress; the message names the unfinished papers and the folder of the logs."""


@dataclass
class FirstAct:
    """Publishes the papers and waits for their outcomes."""

    kafka: KafkaSettings
    pipeline: Pipeline
    reader: OutcomeReader
    rest: Rest
    display: Display
    pointer_root: Path
    follow_links: bool = False

    def __post_init__(self) -> None:
        self.published = Published()
        self._started = self._changed = time.monotonic()
        self._progress: tuple[object, float] = (None, self._started)

    @property
    def seconds(self) -> float:
        """Seconds from the first paper sent to the last outcome read so far."""
        return self._changed - self._started

    def publish_and_wait(self, waves: list[Path]) -> None:
        """Publish the waves, each after the outcomes of the previous one, and wait until the pipeline is at rest.

        When a paper enters the catalog, the ledger re-evaluates references to it that came earlier. So the order of the papers
        does not matter, and links are final only when the pipeline is at rest.

        Raises NoProgress, WorkerDied, NotSent, and NotAPaper if there was no paper to publish.
        """
        self._started = self._changed = time.monotonic()
        for number, wave in enumerate(waves, start=1):
            title = wave.name if len(waves) > 1 else "papers"
            with self.display.progress(title) as draw, Sender(self.kafka) as sender:
                read_at = time.monotonic()
                for _ in publish_wave(
                    wave, sender, self.published, pointer_root=self.pointer_root, follow_links=self.follow_links
                ):
                    if time.monotonic() - read_at > _TICK_S:
                        self._read(0.0)
                        draw(self._state(time.monotonic()))
                        read_at = time.monotonic()
                sender.flush()
                self._wait(draw, last=number == len(waves))
        if not self.published.versions:
            raise NotAPaper("; ".join(message for _, message in self.published.refused) or "no paper to publish")

    def _wait(self, draw: Callable[[State], None], *, last: bool) -> None:
        while self.published.settle(self.reader.outcomes):
            self._read(_TICK_S)
            draw(self._state(time.monotonic()))
        while last and not self.rest.reached():
            self._read(_TICK_S)
            draw(self._state(self._changed))
        if last:
            self.reader.finish()
        draw(self._state(self._changed))

    def _read(self, seconds: float) -> None:
        outcomes, before = self.reader.outcomes, self.reader.outcomes.changes
        # Read until nothing is left: one poll returns the records of one topic only.
        while self.reader.read(seconds):
            seconds = 0.0
        if outcomes.changes != before:
            self._changed = time.monotonic()
        self._expect_progress((outcomes.changes, len(self.published), self.rest.state))

    def _expect_progress(self, state: object) -> None:
        self.pipeline.check()
        if state != self._progress[0]:
            self._progress = (state, time.monotonic())
        elif time.monotonic() - self._progress[1] > PATIENCE_S:
            waiting = self.published.waiting(5)
            raise NoProgress(
                f"no new outcome for {PATIENCE_S:g} s; {self._state(time.monotonic()).line()}; "
                f"unfinished: {', '.join(waiting) or 'references that the catalog has changed'}; logs of the workers: "
                f"{self.pipeline.logs}"
            )

    def _state(self, now: float) -> State:
        outcomes: Outcomes = self.reader.outcomes
        return State(
            papers=len(self.published.versions),
            parsed=len(outcomes.papers.keys() & self.published.versions.keys()) + len(outcomes.dead_papers),
            references=sum(len(paper.references) for paper in outcomes.papers.values()),
            linked=outcomes.linked,
            unresolved=len(outcomes.references) - outcomes.linked,
            dead_letters=len(outcomes.dead_letters),
            seconds=now - self._started,
        )

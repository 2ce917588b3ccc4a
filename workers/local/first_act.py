"""The demo's first act: papers in waves through a running pipeline, until nothing is left to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reflink.errors import NotAPaper, ReflinkError
from workers.local.display import Display, State
from workers.local.outcomes import OutcomeReader, Outcomes
from workers.local.papers import Published, publish_wave
from workers.local.pipeline import Pipeline
from workers.local.rest import Rest
from workers.sending import Sender
from workers.settings import KafkaSettings

#: Nothing new for so long means that nothing will come.
PATIENCE_S: Final = 120.0
_TICK_S: Final = 0.2


class NoProgress(ReflinkError):
    """The pipeline stands still; the message says what is not done and where the logs are."""


@dataclass
class FirstAct:
    """Papers on their way. ``seconds``, once they have arrived: from the first one sent to the last outcome read."""

    kafka: KafkaSettings
    pipeline: Pipeline
    reader: OutcomeReader
    rest: Rest
    display: Display
    pointer_root: Path

    def __post_init__(self) -> None:
        self.published = Published()
        self._started = self._changed = time.monotonic()
        self._progress: tuple[object, float] = (None, self._started)

    @property
    def seconds(self) -> float:
        """So far."""
        return self._changed - self._started

    def publish_and_wait(self, waves: list[Path]) -> None:
        """Publishes one wave after the other, each once the one before has outcomes, and waits for what comes of it all.

        A reference to a paper that is parsed later is judged again when that paper is in the catalog: so it does not matter
        in which order they come, and a link is there for good only when the pipeline is at rest.

        Raises NoProgress, WorkerDied, NotSent, and NotAPaper when there was nothing to publish.
        """
        self._started = self._changed = time.monotonic()
        for number, wave in enumerate(waves, start=1):
            title = wave.name if len(waves) > 1 else "papers"
            with self.display.progress(title) as draw, Sender(self.kafka) as sender:
                looked = time.monotonic()
                for _ in publish_wave(wave, sender, self.published, pointer_root=self.pointer_root):
                    if time.monotonic() - looked > _TICK_S:
                        self._look(0.0)
                        draw(self._state(time.monotonic()))
                        looked = time.monotonic()
                sender.flush()
                self._wait(draw, last=number == len(waves))
        if not self.published.versions:
            raise NotAPaper("; ".join(message for _, message in self.published.refused) or "there is no paper to publish")

    def _wait(self, draw: Callable[[State], None], *, last: bool) -> None:
        while self.published.settle(self.reader.outcomes):
            self._look(_TICK_S)
            draw(self._state(time.monotonic()))
        while last and not self.rest.reached():
            self._look(_TICK_S)
            draw(self._state(self._changed))
        draw(self._state(self._changed))

    def _look(self, seconds: float) -> None:
        outcomes, before = self.reader.outcomes, self.reader.outcomes.changes
        # All that is there: one poll brings one topic's records.
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
                f"no outcome came for {PATIENCE_S:g} s; {self._state(time.monotonic()).line()}; "
                f"not done: {', '.join(waiting) or 'what the catalog has changed'}; the workers' logs: {self.pipeline.logs}"
            )

    def _state(self, now: float) -> State:
        outcomes: Outcomes = self.reader.outcomes
        return State(
            papers=len(self.published.versions),
            parsed=len(outcomes.papers) + len(outcomes.dead_papers),
            references=sum(len(paper.references) for paper in outcomes.papers.values()),
            linked=outcomes.linked,
            unresolved=len(outcomes.references) - outcomes.linked,
            dead_letters=len(outcomes.dead_letters),
            seconds=now - self._started,
        )

"""The demo's second act: send records to the running pipeline, and check that exactly the expected links change."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.table import Table

from reflink.terminal import Terminal, styled
from workers.config.settings import KafkaSettings
from workers.demo.outcomes import OutcomeReader, Settled
from workers.demo.rest import Rest
from workers.demo.scenes import Record, Scene, describe, records
from workers.kafka.bulk_producer import Sender

#: Time limit of a scene; on an idle machine a scene takes about a second.
DEADLINE_S: Final = 60.0
_TICK_S: Final = 0.05
_SHOWN: Final = 4
_CITATION: Final = 60
#: Kinds of change of a reference, the most informative first.
_KINDS: Final = ("linked", "moved", "unlinked", "gone", "marked", "unresolved", "new and linked", "new and unresolved")


@dataclass(frozen=True)
class Played:
    """The result of a scene. ``seconds``: from sending the records until a reader of ``links`` had seen all expected changes.

    ``changed``: the number of changed references by kind. ``references``: a line for each of them. ``records``: the number of
    records of ``links``. ``problems``: the differences from the expected result; empty if there are none.
    """

    title: str
    came: str
    changed: dict[str, int]
    references: list[str]
    records: int
    seconds: float | None
    problems: list[str]


@dataclass
class SecondAct:
    """Plays scenes one after the other, each once the pipeline is at rest."""

    kafka: KafkaSettings
    partitions: int
    reader: OutcomeReader
    rest: Rest
    console: Terminal
    deadline_s: float = DEADLINE_S
    played: list[Played] = field(default_factory=list)

    def play(self, scenes: Sequence[Scene], folder: Path) -> list[Played]:
        """Play all scenes, or up to the first with a problem. Raises WorkerDied, NotReady, NotSent, BadOverride."""
        self.console.print()
        self._print(("second act", "bold"), ": changes to papers, works and overrides in the same pipeline")
        for number, scene in enumerate(scenes, start=1):
            self.console.print()
            self._print(f"{number}. {scene.title}: {scene.came}")
            played = self._play(scene, records(scene, folder, self.partitions))
            self.played.append(played)
            self._show(played)
            if played.problems:
                break
        return self.played

    def _play(self, scene: Scene, sent: Iterable[Record]) -> Played:
        outcomes = self.reader.outcomes
        before, published = dict(outcomes.references), list[tuple[str, Settled | None]]()
        outcomes.published = published
        try:
            started = time.monotonic()
            with Sender(self.kafka) as sender:
                for each in sent:
                    sender.send(each.topic, each.key, each.value, headers=each.headers, partition=each.partition)
            seconds, problems = self._wait(scene, started)
        finally:
            outcomes.published = None
        changes = [(reference, before.get(reference), outcomes.references.get(reference)) for reference in dict(published)]
        if not problems:
            problems = [
                f"{reference} is {describe(after)}, but must not change"
                for reference, _, after in changes
                if reference not in scene.concerns
            ]
            if scene.records not in (None, len(published)):
                problems.append(f"{len(published)} records of links, expected {scene.records}")
        return Played(
            scene.title,
            scene.came,
            {kind: count for kind in _KINDS if (count := Counter(_kind(old, new) for _, old, new in changes)[kind])},
            [_line(*each) for kind in _KINDS for each in changes if _kind(*each[1:]) == kind],
            len(published),
            seconds,
            problems,
        )

    def _wait(self, scene: Scene, started: float) -> tuple[float | None, list[str]]:
        """Wait for the expected state, then for rest, up to the deadline.

        Returns the seconds until the expected state was reached (None if it was not), and the differences at the end.
        """
        outcomes = self.reader.outcomes
        seconds: float | None = None
        while True:
            while self.reader.read(_TICK_S if seconds is None else 0.0):
                pass
            missing = list(scene.not_yet(outcomes.references))
            if not missing and seconds is None:
                seconds = time.monotonic() - started
            if seconds is not None and self.rest.reached():
                self.reader.finish()
                return seconds, list(scene.not_yet(outcomes.references))
            if time.monotonic() - started > self.deadline_s:
                late = f"after {self.deadline_s:g} s"
                return seconds, [f"{late} {each}" for each in missing] or [f"{late} the pipeline is not at rest"]
            if seconds is not None:
                time.sleep(_TICK_S)

    def _show(self, played: Played) -> None:
        for line in played.references[:_SHOWN]:
            self._print(f"   {line}")
        if len(played.references) > _SHOWN:
            self._print(f"   … and {len(played.references) - _SHOWN} more")
        if played.seconds is not None:
            self._print(f"   after {played.seconds:.2f} s; {_counted(played)}")
        for problem in played.problems:
            self._print("   ", ("not as expected:", "red"), f" {problem}")

    def _print(self, *parts: str | tuple[str, str]) -> None:
        self.console.print(styled(*parts), highlight=False, soft_wrap=True)


def show(played: Sequence[Played], scenes: Sequence[Scene], console: Terminal) -> None:
    """Print all scenes as a small table, and the overall result."""
    table = Table(box=None, pad_edge=False)
    for name in ("scene", "what came", "what changed"):
        table.add_column(name)
    table.add_column("seconds", justify="right")
    for number, each in enumerate(played, start=1):
        seconds = "" if each.seconds is None else f"{each.seconds:.2f}"
        table.add_row(f"{number}. {each.title}", each.came, _counted(each), seconds)
    console.print()
    console.print(table)
    if any(each.problems for each in played):
        left = len(scenes) - len(played)
        more = f"; {left} more were not played" if left else ""
        console.print()
        console.print(styled((f"scene {len(played)} is not as expected", "red"), more), soft_wrap=True)
        return
    console.print()
    console.print(styled(("as expected:", "green"), f" {len(played)} scenes, and no other link has changed"), soft_wrap=True)


def _counted(played: Played) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in played.changed.items()) or "nothing"
    return f"{counts}; {played.records} record{'s' * (played.records != 1)} of links"


def _kind(before: Settled | None, after: Settled | None) -> str:
    """Classify the change of a reference; return an empty string if a reader sees no difference."""
    old, new = (None if each is None else each.link.cited for each in (before, after))
    if after is None:
        return "gone" if before is not None else ""
    if before is None:
        return "new and linked" if new else "new and unresolved"
    if old is None and new is not None:
        return "linked"
    if old != new:
        return "unlinked" if new is None else "moved"
    if describe(before) != describe(after):
        return "marked" if new else "unresolved"
    return ""


def _line(reference: str, before: Settled | None, after: Settled | None) -> str:
    settled = after or before
    text = "" if settled is None else " ".join(settled.text.split())
    short = text if len(text) <= _CITATION else text[: _CITATION - 1] + "…"
    now = describe(after)
    return f"{reference} ({short}): {now}" if before is None else f"{reference} ({short}): {describe(before)} → {now}"

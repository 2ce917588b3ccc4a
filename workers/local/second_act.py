"""The demo's second act: something comes to the running pipeline, and the links change as told, and no others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from workers.local.outcomes import Outcomes, Settled
from workers.local.scenes import Record, Scene, records, say
from workers.sending import Sender
from workers.settings import KafkaSettings

#: How long a scene may take; on an idle machine it is about a second.
DEADLINE_S: Final = 60.0
_TICK_S: Final = 0.05
_SHOWN: Final = 4
_CITATION: Final = 60
#: What may become of a reference, the most telling first.
_KINDS: Final = ("linked", "moved", "unlinked", "gone", "marked", "unresolved", "new and linked", "new and unresolved")


class Reader(Protocol):
    """What is asked of workers.local.outcomes.OutcomeReader."""

    outcomes: Outcomes

    def read(self, seconds: float) -> bool:
        """Takes in what is there, waiting at most so long."""


class Resting(Protocol):
    """What is asked of workers.local.rest.Rest."""

    def reached(self) -> bool:
        """Whether nothing is left to do."""


@dataclass(frozen=True)
class Played:
    """A scene as it was. ``seconds``: from sending what came until a reader of ``links`` had seen all that shall be.

    ``changed``: a line for each reference that is not as before. ``records``: how many records of ``links`` it took.
    ``problems``: what is not as told; empty when all is well.
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
    reader: Reader
    rest: Resting
    console: Console
    deadline_s: float = DEADLINE_S
    played: list[Played] = field(default_factory=list)

    def play(self, scenes: Sequence[Scene], folder: Path) -> list[Played]:
        """Until the end, or the first scene that does not go as told. Raises WorkerDied, NotReady, NotSent, BadOverride."""
        self._print("\n[bold]second act[/]: the same pipeline, and what it has linked changes")
        for number, scene in enumerate(scenes, start=1):
            self._print(f"\n{number}. {escape(scene.title)}: {escape(scene.came)}")
            played = self._play(scene, records(scene, folder, self.partitions))
            self.played.append(played)
            self._tell(played)
            if played.problems:
                break
        return self.played

    def _play(self, scene: Scene, sent: Iterable[Record]) -> Played:
        outcomes = self.reader.outcomes
        before, told = dict(outcomes.references), list[tuple[str, Settled | None]]()
        outcomes.told = told
        try:
            started = time.monotonic()
            with Sender(self.kafka) as sender:
                for each in sent:
                    sender.send(each.topic, each.key, each.value, headers=each.headers, partition=each.partition)
            seconds, problems = self._wait(scene, started)
        finally:
            outcomes.told = None
        changes = [(reference, before.get(reference), outcomes.references.get(reference)) for reference in dict(told)]
        if not problems:
            problems = [
                f"{reference} is {say(after)}, and nothing was to change it"
                for reference, _, after in changes
                if reference not in scene.concerns
            ]
            if scene.records not in (None, len(told)):
                problems.append(f"{len(told)} records of links tell it, expected {scene.records}")
        return Played(
            scene.title,
            scene.came,
            {kind: count for kind in _KINDS if (count := Counter(_kind(old, new) for _, old, new in changes)[kind])},
            [_line(*each) for kind in _KINDS for each in changes if _kind(*each[1:]) == kind],
            len(told),
            seconds,
            problems,
        )

    def _wait(self, scene: Scene, started: float) -> tuple[float | None, list[str]]:
        """Seconds until all was as told, if it came to that, and what is wrong at the end, with the pipeline at rest."""
        outcomes = self.reader.outcomes
        seconds: float | None = None
        while True:
            while self.reader.read(_TICK_S if seconds is None else 0.0):
                pass
            missing = list(scene.not_yet(outcomes.references))
            if not missing and seconds is None:
                seconds = time.monotonic() - started
            if seconds is not None and self.rest.reached():
                while self.reader.read(0.0):
                    pass
                return seconds, list(scene.not_yet(outcomes.references))
            if time.monotonic() - started > self.deadline_s:
                late = f"after {self.deadline_s:g} s"
                return seconds, [f"{late} {each}" for each in missing] or [f"{late} the pipeline is not at rest"]
            if seconds is not None:
                time.sleep(_TICK_S)

    def _tell(self, played: Played) -> None:
        for line in played.references[:_SHOWN]:
            self._print(f"   {escape(line)}")
        if len(played.references) > _SHOWN:
            self._print(f"   … and {len(played.references) - _SHOWN} more")
        if played.seconds is not None:
            self._print(f"   after {played.seconds:.2f} s; {_counted(played)}")
        for problem in played.problems:
            self._print(f"   [red]not as told:[/] {escape(problem)}")

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)


def show(played: Sequence[Played], scenes: Sequence[Scene], console: Console) -> None:
    """All of it as a small table, and how it ended."""
    table = Table(box=None, pad_edge=False)
    for name in ("scene", "what came", "what changed"):
        table.add_column(name)
    table.add_column("seconds", justify="right")
    for number, each in enumerate(played, start=1):
        seconds = "" if each.seconds is None else f"{each.seconds:.2f}"
        table.add_row(f"{number}. {escape(each.title)}", escape(each.came), escape(_counted(each)), seconds)
    console.print()
    console.print(table)
    if any(each.problems for each in played):
        left = len(scenes) - len(played)
        more = f"; {left} more were not played" if left else ""
        console.print(f"\n[red]scene {len(played)} did not go as told[/]{more}", highlight=False, soft_wrap=True)
        return
    console.print(f"\n[green]as told:[/] {len(played)} scenes, and no other link has changed", highlight=False, soft_wrap=True)


def _counted(played: Played) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in played.changed.items()) or "nothing"
    return f"{counts}; {played.records} record{'s' * (played.records != 1)} of links"


def _kind(before: Settled | None, after: Settled | None) -> str:
    """What became of a reference; empty where a reader learns nothing new."""
    old, new = (None if each is None else each.link.cited for each in (before, after))
    if after is None:
        return "gone" if before is not None else ""
    if before is None:
        return "new and linked" if new else "new and unresolved"
    if old is None and new is not None:
        return "linked"
    if old != new:
        return "unlinked" if new is None else "moved"
    if say(before) != say(after):
        return "marked" if new else "unresolved"
    return ""


def _line(reference: str, before: Settled | None, after: Settled | None) -> str:
    settled = after or before
    text = "" if settled is None else " ".join(settled.text.split())
    short = text if len(text) <= _CITATION else text[: _CITATION - 1] + "…"
    now = say(after)
    return f"{reference} ({short}): {now}" if before is None else f"{reference} ({short}): {say(before)} → {now}"

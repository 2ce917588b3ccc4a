"""Show the demo's progress on standard error: bars on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from reflink.terminal import Terminal, styled

#: Seconds between two lines where standard error is not a terminal.
_LINE_S: Final = 5.0


@dataclass(frozen=True)
class State:
    """The progress of a run.

    ``papers``: sent. ``parsed``: parsed or unreadable. ``references``: found in the parsed papers; ``linked`` and
    ``unresolved`` ones have an outcome.
    """

    papers: int
    parsed: int
    references: int
    linked: int
    unresolved: int
    dead_letters: int
    seconds: float

    @property
    def settled(self) -> int:
        """The number of references with an outcome."""
        return self.linked + self.unresolved

    @property
    def rate(self) -> float:
        """References with an outcome per second."""
        return self.settled / self.seconds if self.seconds > 0 else 0.0

    def line(self) -> str:
        """Format all numbers as one line."""
        parsed = f"{self.parsed:,}/{self.papers:,}"
        return (
            f"papers {parsed} parsed, references {self.settled:,}/{self.references:,} settled: {self.linked:,} linked, "
            f"{self.unresolved:,} unresolved, {self.dead_letters} dead letters, {self.rate:,.0f} references/s"
        )


class Display:
    """Prints steps and progress."""

    def __init__(self, console: Terminal | None = None) -> None:
        self.console = console or Terminal(stderr=True)

    def print(self, text: str) -> None:
        """Print a line that stays."""
        self.console.print(text, highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Show a step while it runs, and print its duration at the end."""
        started = time.monotonic()
        if self.console.is_terminal:
            with self.console.status(styled(text)):
                yield
        else:
            yield
        self.print(f"{text}: {time.monotonic() - started:.1f} s")

    @contextmanager
    def counting(self, what: str) -> Iterator[Callable[[int], None]]:
        """Yield a function that takes the current count."""
        if not self.console.is_terminal:
            with self.step(what):
                yield lambda _: None
            return
        started = time.monotonic()
        columns = (TextColumn("{task.description}"), TextColumn("{task.completed:,.0f}"), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda count: progress.update(task, completed=count)
        self.print(f"{what}: {time.monotonic() - started:.1f} s")

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[State], None]]:
        """Yield a function that takes the current state, at any rate; the last state stays on the screen."""
        last: State | None = None
        if self.console.is_terminal:
            texts = TextColumn("{task.description:10}"), TextColumn("{task.fields[more]}")
            columns = (texts[0], BarColumn(), MofNCompleteColumn(), texts[1])
            with Progress(*columns, console=self.console, transient=True) as bars:
                papers, references = (bars.add_task(name, total=None, more="") for name in ("papers", "references"))

                def draw(state: State) -> None:
                    nonlocal last
                    last = state
                    _draw(bars, papers, references, state)

                yield draw
        else:
            shown, next_line = "", time.monotonic() + _LINE_S

            def write(state: State) -> None:
                nonlocal last, shown, next_line
                last = state
                if time.monotonic() >= next_line and state.line() != shown:
                    shown, next_line = state.line(), time.monotonic() + _LINE_S
                    self.print(f"{title}: {shown}")

            yield write
        if last is not None:
            self.print(f"{title}: {last.line()}, {last.seconds:.1f} s")


def _draw(bars: Progress, papers: TaskID, references: TaskID, state: State) -> None:
    dead = f"{state.dead_letters} dead letters" if state.dead_letters else ""
    bars.update(papers, completed=state.parsed, total=state.papers or None, more=dead)
    more = f"{state.linked:,} linked, {state.unresolved:,} unresolved, {state.rate:,.0f}/s"
    bars.update(references, completed=state.settled, total=state.references or None, more=more)

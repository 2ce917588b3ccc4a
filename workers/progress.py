"""Progress of long tools on standard error, when a person watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def counting(what: str, *, quiet: bool, total: int | None = None) -> Iterator[Callable[[int], object]]:
    """Gives a function that takes the count so far."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn("{task.completed:,.0f} {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.update(task, completed=count)

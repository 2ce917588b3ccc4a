"""Progress display of long-running tools on standard error, if it is a terminal."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from reflink.terminal import Terminal

log = logging.getLogger(__name__)

#: Time between two progress lines in the log.
_LOG_EVERY_S: Final = 10.0


@contextmanager
def counting(what: str, *, quiet: bool, total: int | None = None) -> Iterator[Callable[[int], object]]:
    """Yield a function that displays the count passed to it; it does nothing if ``quiet`` or without a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn("{task.completed:,.0f} {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.update(task, completed=count)


@contextmanager
def phases(event: str, names: Mapping[str, str], *, quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield a function that displays progress: phase, count and total (None if unknown). It also logs ``event`` every 10 s.

    ``names``: what is counted, by phase.
    """
    phase, logged_at = "", time.monotonic()
    show: Any = None
    with ExitStack() as bars:

        def progress(current: str, done: int, total: int | None) -> None:
            nonlocal phase, show, logged_at
            if current != phase:
                bars.close()
                phase, show = current, bars.enter_context(counting(names[current], quiet=quiet, total=total))
            show(done)
            if time.monotonic() - logged_at > _LOG_EVERY_S:
                logged_at = time.monotonic()
                log.info(event, extra={"phase": phase, "done": done, "of": total})

        yield progress

"""Show the progress of a replay on a terminal, in logs or as JSON lines, and stop a replay on a signal."""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self

import orjson
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from reflink.terminal import Terminal
from workers.replay.pacing import Forecast
from workers.signals import handling

if TYPE_CHECKING:
    from workers.replay.checkpoint import Position
    from workers.replay.runner import Report

log = logging.getLogger(__name__)

#: Time between two progress lines.
_LINE_EVERY_S: Final = 5.0
_SHOW_EVERY_S: Final = 0.2
_PHASES: Final = {"count": "counting", "send": "sending"}


class Stop:
    """A request to end the replay after its next commit. ``code``: the exit code, None while nothing was requested."""

    def __init__(self) -> None:
        self.code: int | None = None

    def request(self, number: int, _: object) -> None:
        """Handle a signal: the first sets ``code``, a second raises SystemExit."""
        if self.code is not None:
            raise SystemExit(self.code)
        self.code = 128 + number


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """Yield a Stop that Ctrl-C and SIGTERM request."""
    stop = Stop()
    with handling(stop.request, signal.SIGINT, signal.SIGTERM):
        yield stop


def line_of(name: str, position: Position, **more: Any) -> dict[str, Any]:
    """Return the progress of a replay as JSON-ready builtins."""
    return {
        "name": name,
        "share": round(position.share, 6),
        "selected": position.selected,
        "sent": position.total("sent"),
        "superseded": position.total("superseded"),
        "pinned": position.total("pinned"),
        "unreadable": position.total("unreadable"),
        "began": _iso(position.began),
        "at": _iso(position.at),
        "selection": dict(position.criteria),
        **more,
    }


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


class Display:
    """Shows progress reports. Use as a context manager.

    It shows a progress bar on a terminal, otherwise a log record every 5 s; with ``as_json`` a line of JSON on standard output
    every 5 s; with ``quiet`` neither bar nor log records.
    """

    def __init__(self, name: str, *, as_json: bool, quiet: bool) -> None:
        self._name, self._json, self._quiet = name, as_json, quiet
        self._forecast = Forecast()
        self._lined = self._shown = time.monotonic() - _LINE_EVERY_S
        self._bars = ExitStack()
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet and not self._json:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[report]}"),
            )
            self._progress = self._bars.enter_context(Progress(*columns, console=Terminal(stderr=True), transient=True))
            self._task = self._progress.add_task("replay", total=None, report="")
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.close()

    def show(self, report: Report) -> None:
        """Take a progress report, and show it if enough time has passed since the last one."""
        now = time.monotonic()
        if now - self._shown < _SHOW_EVERY_S:
            return
        self._shown = now
        sent, selected = report.position.total("sent"), report.position.selected
        if report.phase == "send":
            self._forecast.saw(sent)
        left_s = self._forecast.left_s(selected - sent) if report.phase == "send" else None
        ends = None if left_s is None else datetime.now(UTC) + timedelta(seconds=left_s)
        if self._progress is not None:
            what = f"{sent:,} of {selected:,} sent, {self._forecast.rate:,.0f}/s" if report.phase == "send" else ""
            what += ", waiting for the linkers" if report.held_up else ""
            what += f", ends {ends.astimezone():%m-%d %H:%M}" if ends is not None else ""
            self._progress.update(
                self._task, description=_PHASES[report.phase], completed=report.read, total=max(1, report.of), report=what
            )
        elif now - self._lined >= _LINE_EVERY_S and not (self._quiet and not self._json):
            self._lined = now
            more = {
                "phase": report.phase,
                "share": round(report.read / report.of, 6) if report.of else 1.0,
                "rate": round(self._forecast.rate, 1),
                "held_up": report.held_up,
                "ends": None if ends is None else ends.isoformat(timespec="seconds"),
                "done": False,
            }
            line = line_of(self._name, report.position, **more)
            if self._json:
                print(orjson.dumps(line).decode(), flush=True)
            else:
                log.info("replaying", extra={"replay" if key == "name" else key: value for key, value in line.items()})

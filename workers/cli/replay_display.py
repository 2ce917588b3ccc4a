"""How a replay shows on a terminal, in logs or as JSON lines, and how it is stopped."""

from __future__ import annotations

import logging
import signal
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from workers.replay.pacing import Forecast

if TYPE_CHECKING:
    from workers.replay.position import Position
    from workers.replay.replaying import Told

log = logging.getLogger(__name__)

#: Between two lines on the way.
_LINE_EVERY_S: Final = 5.0
_SHOW_EVERY_S: Final = 0.2
_PHASES: Final = {"count": "counting", "send": "sending"}


class Stop:
    """Ctrl-C and SIGTERM end what runs within when it has committed; ``code`` is then the exit code. A second one ends it."""

    def __init__(self) -> None:
        self.code: int | None = None

    def _end(self, number: int, _: object) -> None:
        if self.code is not None:
            raise SystemExit(self.code)
        self.code = 128 + number

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def line_of(name: str, position: Position, **more: Any) -> dict[str, Any]:
    """A replay as an object: how far it is, JSON-ready."""
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
        "selection": dict(position.said),
        **more,
    }


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


class Display:
    """Shows what it hears: a bar to who watches, else a line every few seconds, JSON on standard output or a log."""

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
                TextColumn("{task.fields[told]}"),
            )
            self._progress = self._bars.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            self._task = self._progress.add_task("replay", total=None, told="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.close()

    def show(self, told: Told) -> None:
        """Takes news; shows it when it is time."""
        now = time.monotonic()
        if now - self._shown < _SHOW_EVERY_S:
            return
        self._shown = now
        sent, selected = told.position.total("sent"), told.position.selected
        if told.phase == "send":
            self._forecast.saw(sent)
        left_s = self._forecast.left_s(selected - sent) if told.phase == "send" else None
        ends = None if left_s is None else datetime.now(UTC) + timedelta(seconds=left_s)
        if self._progress is not None:
            what = f"{sent:,} of {selected:,} sent, {self._forecast.rate:,.0f}/s" if told.phase == "send" else ""
            what += ", linkers are behind" if told.held_up else ""
            what += f", ends {ends.astimezone():%m-%d %H:%M}" if ends is not None else ""
            self._progress.update(
                self._task, description=_PHASES[told.phase], completed=told.read, total=max(1, told.of), told=what
            )
        elif now - self._lined >= _LINE_EVERY_S and not (self._quiet and not self._json):
            self._lined = now
            more = {
                "phase": told.phase,
                "share": round(told.read / told.of, 6) if told.of else 1.0,
                "rate": round(self._forecast.rate, 1),
                "held_up": told.held_up,
                "ends": None if ends is None else ends.isoformat(timespec="seconds"),
                "done": False,
            }
            line = line_of(self._name, told.position, **more)
            if self._json:
                print(orjson.dumps(line).decode(), flush=True)
            else:
                log.info("replaying", extra={"replay" if key == "name" else key: value for key, value in line.items()})

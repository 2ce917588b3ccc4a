"""Every log record is one line with one JSON object."""

from __future__ import annotations

import io
import json
import logging
import sys
from typing import Any

import pytest

from tests.conftest import logs_restored
from workers.telemetry import logs


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    root, kafka = logging.getLogger(), logging.getLogger("kafka")
    before = (root.handlers[:], root.level, kafka.level)
    monkeypatch.setattr(sys, "stderr", stream)
    logs.set_up("INFO", worker="linker", slot="a")

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for line in stream.getvalue().splitlines()]

    yield read
    root.handlers[:], _, _ = before
    root.setLevel(before[1])
    kafka.setLevel(before[2])


def test_a_line_says_when_how_bad_who_and_what(lines: Any):
    logging.getLogger("workers.x").warning("partitions %s", "lost", extra={"partitions": [("references", 1)], "seconds": 0.5})
    (line,) = lines()
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning",
        "logger": "workers.x",
        "event": "partitions lost",
        "worker": "linker",
        "slot": "a",
        "partitions": [["references", 1]],
        "seconds": 0.5,
    }


def test_a_traceback_is_a_field_and_not_more_lines(lines: Any):
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("x").exception("it failed")
    (line,) = lines()
    assert line["event"] == "it failed"
    assert "ValueError: two\nlines" in line["traceback"]
    assert "test_logs.py" in line["traceback"]


@pytest.mark.parametrize(
    "value", ["a\nb", "\ud800", "\x00", 2**80, {1: 2}, {(1, 2): 3}, b"\xff", float("nan"), {1, 2}, ValueError("x"), object()]
)
def test_any_value_gives_one_line(lines: Any, value: object):
    logging.getLogger("x").info("value", extra={"value": value})
    (line,) = lines()
    assert line["event"] == "value"
    assert "value" in line
    assert line["worker"] == "linker"


def test_a_message_with_line_breaks_is_one_line(lines: Any):
    logging.getLogger("x").info("a\nb\r\u2028c \ud800")
    assert len(lines()) == 1


def test_a_line_that_a_terminal_shows_controls_nothing_in_it(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    logs.set_up("INFO")
    hostile = "\x1b[2J\x07\r\x7f\x9b31m\u202e\u2028"
    logging.getLogger("x").error("%s", hostile, extra={"name_of_file": hostile, "large": 2**80})
    logging.getLogger("x").error("%s", hostile, extra={"name_of_file": hostile})
    assert all(char.isprintable() or char == "\n" for char in stream.getvalue())
    assert [json.loads(line)["name_of_file"] for line in stream.getvalue().splitlines()] == [hostile] * 2


def test_levels(lines: Any):
    logging.getLogger("x").debug("hidden")
    logging.getLogger("kafka.client").info("hidden")
    logging.getLogger("kafka.client").warning("shown")
    assert [line["event"] for line in lines()] == ["shown"]


def test_a_library_that_repeats_itself_is_cut_short_and_says_by_how_much():
    now = 0.0
    throttle = logs.Throttle(3, 10.0, clock=lambda: now)

    def told(name: str) -> logging.LogRecord | None:
        record = logging.makeLogRecord({"name": name})
        return record if throttle.filter(record) else None

    assert [bool(told("kafka.a")) for _ in range(6)] == [True, True, True, False, False, False]
    assert told("kafka.b"), "each logger has lines of its own"
    now = 11.0
    later = told("kafka.a")
    assert later is not None
    assert later.held_back == 3
    assert not hasattr(told("kafka.a"), "held_back")


def test_only_the_library_is_cut_short(lines: Any):
    for number in range(30):
        logging.getLogger("kafka.net").error("again")
        logging.getLogger("workers.x").error("ours %d", number)
    shown = [line["event"] for line in lines()]
    assert sum(event.startswith("ours") for event in shown) == 30
    assert 0 < shown.count("again") < 30


def test_what_a_test_sets_up_is_undone_after_it():
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    with logs_restored():
        logs.set_up("ERROR", worker="test")
        assert (root.level, isinstance(root.handlers[-1].formatter, logs.JsonLines)) == (logging.ERROR, True)
    assert [handler for handler in root.handlers if handler not in before] == []
    assert root.level == level

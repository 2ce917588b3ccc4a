"""Input can neither control a terminal nor imitate another line."""

from __future__ import annotations

import ast
import io
import json
import sys
import unicodedata

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from reflink.terminal import Terminal, complain, guard, one_line, printable, styled
from tests.test_layers import MODULES, name_of

HOSTILE = "a\x1b[2J\x1b]0;title\x07\rb\x08\x7f\x9b31m\u202e\u2028[red]c[/] :warning:"
SHOWN = r"a\u001b[2J\u001b]0;title\u0007\u000db\u0008\u007f\u009b31m\u202e\u2028[red]c[/] :warning:"
#: Without the characters that rich removes from its own Text objects.
STRIPPED = SHOWN.replace("\\u0007", "").replace("\\u0008", "").replace("\\u000d", "")
DIRECTIONS = ("LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI", "FSI", "PDI")
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from(HOSTILE)))


@given(TEXTS)
def test_printable_text_has_no_control_characters_and_keeps_all_others(text: str):
    shown = printable(text)
    assert all(char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") for char in shown)
    assert not any(unicodedata.bidirectional(char) in DIRECTIONS for char in shown)
    assert printable(shown) == shown
    assert "\n" not in one_line(text)
    if all(char in "\n\t" or char.isprintable() for char in text):
        assert shown == text


@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(HOSTILE))))
def test_printable_json_keeps_its_meaning(text: str):
    assert orjson.loads(printable(orjson.dumps({"text": text}).decode())) == {"text": text}
    assert json.loads(one_line(json.dumps([text], ensure_ascii=False))) == [text]


def test_printed_text_is_escaped(capsys: pytest.CaptureFixture[str]):
    guard()
    guard()  # a second command in the process
    print(HOSTILE, "\n", flush=True)
    print(HOSTILE, file=sys.stderr)
    sys.stderr.writelines([HOSTILE, "\udce9\n"])
    complain(f"{HOSTILE}\nreflink: all is well")
    shown = capsys.readouterr()
    assert shown.out == f"{SHOWN} \n\n"
    assert shown.err == f"{SHOWN}\n{SHOWN}\\udce9\n{SHOWN}\\u000areflink: all is well\n"


@pytest.mark.parametrize("colour", [False, True])
def test_a_terminal_shows_control_characters_and_markup_as_text(colour: bool):
    file = io.StringIO()
    terminal = Terminal(file=file, width=2000, force_terminal=colour, color_system=None, highlight=False)
    table = Table(box=None)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE + "\nsecond row")
    table.add_row(Text(HOSTILE))
    terminal.print(HOSTILE + "\nsecond line")
    terminal.print(styled((HOSTILE, "bold"), HOSTILE))
    terminal.print(Text(HOSTILE))
    terminal.print(table)
    lines = [line.strip() for line in file.getvalue().splitlines()]
    assert lines == [
        f"{SHOWN}\\u000asecond line", SHOWN + SHOWN, STRIPPED, SHOWN, f"{SHOWN}\\u000asecond row", STRIPPED,
    ]  # fmt: skip


def test_a_message_during_a_progress_bar_is_escaped(monkeypatch: pytest.MonkeyPatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    guard()
    with Progress(TextColumn("{task.description}"), console=Terminal(stderr=True, force_terminal=True, width=2000)) as bar:
        bar.add_task("reading")
        complain(HOSTILE)
    assert SHOWN in file.getvalue()
    assert "\x1b[2J" not in file.getvalue()
    assert "\x07" not in file.getvalue()


def test_every_console_is_a_terminal_of_reflink():
    """rich's own Console interprets markup and passes control characters."""
    for path in MODULES:
        names = {
            f"{node.module}.{alias.name}"
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        used = {
            name
            for name in names
            if name.startswith(("rich.console.", "rich.markup.")) or name in ("rich.print", "rich.progress.track")
        }
        known = ("reflink.terminal", "reflink.evaluation.run", "reflink.evaluation.linking")
        assert not used or name_of(path) in known, f"{name_of(path)} uses {used}"

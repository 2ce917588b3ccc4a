"""The dialogue on errors: its questions, keys and file, by an injected console and through a real terminal."""

from __future__ import annotations

import gzip
import io
import os
import pty
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.cli import main
from reflink.cli.adjudicate import KEYS, adjudicate, questions, shown
from reflink.cli.keys import END, keys
from reflink.entities import Reference, Work
from reflink.evaluation.adjudication import Judgement, Judgements, read
from reflink.evaluation.outcomes import Mistake
from reflink.terminal import Terminal
from tests.profiles import examples
from tests.reflink.evaluation.outcomes import outcome

REFERENCE = Reference(
    id="r", citing="c", position=1, title="Wheat yields", last_names=("Li", "Wu"), venue="Crop Science", year=1999, volume="3",
    first_page="7", raw_text="Li, Wu. Wheat yields. Crop Science 1999;3:7 \x1b[2J",
)  # fmt: skip
TARGET = Work(id="w", title="Wheat Yields.", authors=("Li", "Wu"), venue="Rice", year=1999, volume="3", fpage="9")
CHOSEN = Work(id="v", title="Rice yields", authors=("Osei",), year=2001)


def mistake(rid: str, chosen: str | None = "v", truth: str = "w") -> Mistake:
    error = outcome(chosen, refused=None) if chosen else outcome(None, refused=truth)
    return Mistake(replace(error, rid=rid, truth=truth, cause="other work"), REFERENCE, TARGET, CHOSEN if chosen else TARGET)


def asked(count: int) -> dict[str, Sequence[Mistake]]:
    return {"closed": [mistake(f"r{n}") for n in range(count)], "open": [mistake(f"r{n}") for n in range(1, count + 1)]}


def dialogue(path: Path, pressed: str, count: int = 3) -> tuple[str, int]:
    """Return what was shown, and the number of new verdicts, for the keys ``pressed``."""
    out, typed = io.StringIO(), iter(pressed)
    console = Terminal(file=out, width=120)
    open_ = questions(asked(count), Judgements(read(path)))
    given_ = adjudicate(open_, path, console, lambda: next(typed, END), lambda: "2026-11-24")
    return out.getvalue(), given_


def verdicts(path: Path) -> list[tuple[str, str]]:
    return [(each.rid, each.verdict) for each in read(path)]


def test_an_error_of_several_worlds_is_one_question() -> None:
    found = questions(asked(3), Judgements())
    assert [(each.key, each.worlds) for each in found][:2] == [
        (("r0", "w", "v"), ("closed",)), (("r1", "w", "v"), ("closed", "open")),
    ]  # fmt: skip
    assert len(found) == 4


def test_a_known_error_is_not_asked_and_another_choice_is() -> None:
    known = Judgements([Judgement("r0", "w", "v", "label", "2026-11-24"), Judgement("r1", "w", "x", "label", "2026-11-24")])
    assert [each.key[0] for each in questions(asked(2), known)] == ["r1", "r2"]


@given(st.integers(1, 9), st.integers(0, 5))
@settings(max_examples=examples(20))
def test_a_draw_is_a_sample_that_its_seed_repeats(count: int, seed: int) -> None:
    everything = {each.key for each in questions(asked(6), Judgements())}
    drawn = questions(asked(6), Judgements(), count, seed)
    assert len({each.key for each in drawn} & everything) == min(count, len(everything)) == len(drawn)
    assert drawn == questions(asked(6), Judgements(), count, seed)


def test_each_key_gives_its_verdict_and_each_verdict_is_kept_at_once(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    out, given_ = dialogue(path, "lkvc")
    assert (given_, verdicts(path)) == (4, [("r0", "label"), ("r1", "linker"), ("r2", "version"), ("r3", "unclear")])
    assert sorted(KEYS.values()) == sorted(verdict for _, verdict in verdicts(path))
    assert read(path)[0] == Judgement("r0", "w", "v", "label", "2026-11-24")
    assert "4 of 4" in out
    assert "0 errors left" in out


def test_quitting_keeps_what_was_given_and_the_next_dialogue_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    assert dialogue(path, "lq")[1] == 1
    out, given_ = dialogue(path, "ks")
    assert (given_, verdicts(path)) == (1, [("r0", "label"), ("r1", "linker")])
    assert "1 of 3" in out
    assert "1 errors left" in out, "the input ended at the last question"


def test_undo_takes_back_the_last_answer_of_this_dialogue_only(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    dialogue(path, "lq")
    dialogue(path, "uvsuukq")
    # Nothing to undo; r1 version; r2 skipped; both undone; r1 linker.
    assert verdicts(path) == [("r0", "label"), ("r1", "linker")]


def test_other_keys_do_nothing(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    assert dialogue(path, "x\n7Lq")[1] == 1
    assert verdicts(path) == [("r0", "label")]


def test_the_records_are_beside_each_other_with_their_differences() -> None:
    def text(of: Mistake) -> str:
        out = io.StringIO()
        (question,) = questions({"open": [of]}, Judgements())
        Terminal(file=out, width=140).print(shown(question, "1 of 1"))
        return out.getvalue()

    page = text(mistake("r0"))
    for part in ("as cited", "named by the data", "linked", "Crop Science", "≠ Rice", "≠ Rice yields", "≠ Osei", "≠ 9", "open"):
        assert part in page
    assert "Wheat Yields." in page
    assert "≠ Wheat Yields." not in page, "the same letters"
    assert "\\u001b[2J" in page
    assert "\x1b[2J" not in page
    refused = text(mistake("r0", None))
    assert "best candidate" not in refused, "the target itself was refused"
    assert "linked" not in refused.split("missed")[0]


def test_keys_of_a_file_are_the_first_characters_of_its_lines() -> None:
    with keys(io.StringIO("label\nk\n\n")) as key:
        assert [key() for _ in range(5)] == ["l", "k", "\n", END, END]


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    yield master, slave
    for descriptor in (master, slave):
        os.close(descriptor)


def test_keys_of_a_terminal_need_no_enter_and_its_mode_is_restored(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    before = termios.tcgetattr(slave)
    with os.fdopen(os.dup(slave), "r") as stream:
        with keys(stream) as key:
            os.write(master, b"l")
            assert key() == "l"
            os.write(master, b"k\x04")
            assert (key(), key()) == ("k", END)
        assert termios.tcgetattr(slave) == before
        with pytest.raises(KeyError), keys(stream):
            raise KeyError
        assert termios.tcgetattr(slave) == before


def type_when_asked(master: int, slave: int, pressed: bytes) -> None:
    """Press a key when the dialogue reads keys one at a time; keys pressed before it are discarded."""
    while termios.tcgetattr(slave)[3] & termios.ICANON:
        time.sleep(0.01)
    os.write(master, pressed)


def test_the_command_asks_on_a_terminal(terminal: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target with another title and authors is an error; its verdict changes the figures that the run writes."""
    from reflink.evaluation import run
    from reflink.evaluation.vectors import CachedEncoder
    from tests.reflink.evaluation.worldfiles import Hashed, small_world, write

    monkeypatch.setattr(run, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))
    works, references = small_world(tmp_path)
    lines = [orjson.loads(line) for line in gzip.decompress(references.read_bytes()).splitlines()]
    lines[0]["work"] = lines[1]["work"]
    write(references, lines)
    master, slave = terminal
    figures, kept = tmp_path / "figures.json", tmp_path / "verdicts.jsonl"
    argv = [
        "evaluate", "--catalog", works, "--references", references, "--cache", tmp_path / "cache", "--world", "closed",
        "--adjudicate", "--adjudicated", kept, "--json", figures,
    ]  # fmt: skip
    with os.fdopen(os.dup(slave), "r") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        typing = threading.Thread(target=type_when_asked, args=(master, slave, b"l"))
        typing.start()
        assert main([str(argument) for argument in argv]) == 0
        typing.join()
    assert verdicts(kept) == [(lines[0]["rid"], "label")]
    measured = orjson.loads(figures.read_bytes())["closed"]
    assert (measured["read"]["label"], measured["read"]["unread"]) == (1, 0)
    assert measured["error"] > measured["without_suspects"]["error"] == 0


def test_a_file_that_cannot_be_written_is_reported_before_the_evaluation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["evaluate", "--catalog", "none", "--references", "none", "--adjudicate", "--adjudicated", tmp_path / "no" / "f"]
    assert main([str(argument) for argument in argv]) != 0
    assert "--adjudicated" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "x"])
def test_a_number_of_errors_is_positive(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["evaluate", "--catalog", "none", "--references", "none", f"--adjudicate={count}"]
    assert main(argv) == 2
    assert "is not a number of errors" in capsys.readouterr().err

"""The report page is complete, loads nothing from outside, and shows hostile texts as text."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Candidate, Link, Reference, Work
from reflink.evaluation.causes import CAUSES
from reflink.evaluation.outcomes import Mistake, Outcome
from reflink.evaluation.report import write
from reflink.evaluation.report.markup import Markup, joined, tag
from reflink.evaluation.report.mistakes import MOST
from reflink.evaluation.run import Evaluation
from tests.profiles import examples
from tests.reflink.evaluation.outcomes import drawn

HOSTILE = '</td></article><script>alert("1")</script><img src=x onerror=alert(2)> & \' \u202etxt\x00 {{7*7}}'
ABOUT = {
    "profile": "production", "works": 4, "queries": 3, "identifiers": False, "encoder": HOSTILE, "precision": "fp32",
    "present": None, "held_out": 1, "papers": 2, "resamples": 2000, "catalog": HOSTILE, "references": "r.jsonl",
}  # fmt: skip


class Reader(HTMLParser):
    """Check that elements are nested correctly, and keep names, attributes and texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _mistake(error: str, cause: str) -> Mistake:
    link = Link(
        reference="r", citing=HOSTILE, cited=None if error == "missed" else HOSTILE, method="lexical", score=0.5,
        probability=0.7, reasons=(HOSTILE,), runner_up=Candidate(cited=HOSTILE, score=0.1), status=HOSTILE,
    )  # fmt: skip
    work = Work(id=HOSTILE, title=HOSTILE, authors=(HOSTILE,) * 20, venue=HOSTILE, year=1999, volume=HOSTILE, fpage=HOSTILE)
    reference = Reference(id="r", citing="c", position=1, raw_text=HOSTILE * 40, title=HOSTILE, last_names=(HOSTILE,))
    outcome = Outcome(HOSTILE, HOSTILE, error != "false", False, link, cause=cause)
    return Mistake(outcome, reference, None if cause == "no title" else work, work)


def _evaluation(**more: Any) -> Evaluation:
    found = [_mistake(error, cause) for error in ("wrong", "missed", "false") for cause in ("same title", "no title")]
    outcomes = [each.outcome for each in found]
    named = dict.fromkeys(("closed", "open", "open_80", "open_20", "raw_only.closed", "raw_only.open"), outcomes)
    return Evaluation({**named, "closed": outcomes[:4]}, ABOUT, {"closed": found[:4], "open": found, "open_20": found}, **more)


TABLES = {
    "approaches": [
        {"approach": "SBERT", "mode": HOSTILE, "error": 0.02, "error_interval": [0.015, 0.024], "published": 0.019},
        {"approach": "TitleMatch", "mode": "T", "error": 0.27, "error_interval": [0.26, 0.28], "published": None},
        {"approach": "SBERT", "mode": "TA", "error": None, "why": HOSTILE, "published": 0.35},
    ],
    "curve": {
        "points": [{"threshold": t, "precision": 1 - t / 10, "recall": t} for t in (0.1, 0.5, 0.9)],
        "nearest": {"threshold": 0.5, "precision": 0.95, "recall": 0.5}, "published": None,
    },
    "hybrid": [{"threshold": t, "error": 0.01 + t / 100, "fallback": t / 2} for t in (0.5, 0.7, 0.9)],
    "fields": {"candidates": {"T": {"share": 1.0, "published": 1.0}}, "references": {"T": {"share": 0.9, "published": 0.992}}},
    "limits": {"T": {"characters": 190, "published": 200}, "A": {"characters": None, "published": 2480}},
}  # fmt: skip
RULE = {
    "threshold": 0.7959, "precision": 0.77, "recall": 0.97, "f1": 0.86, "false_link": 0.28,
    "best": {"threshold": 0.9, "precision": 0.95, "recall": 0.95, "f1": 0.95, "false_link": 0.04},
    "thresholds": [{"threshold": 0.9, "precision": 0.95, "recall": 0.95, "f1": 0.95, "false_link": 0.04}],
}  # fmt: skip


def _page(tmp_path: Path, evaluation: Evaluation) -> str:
    target = write(evaluation, tmp_path / "deep" / "report")
    assert target.name == "index.html"
    return target.read_text(encoding="utf-8")


def test_the_page_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    page = _page(tmp_path, _evaluation(tables=TABLES, rule=RULE))
    read = Reader(page)
    assert page.startswith("<!doctype html>")
    assert not {"script", "link", "iframe", "object", "form"} & set(read.names)
    assert "img" in read.names
    for name, value in read.attributes:
        assert not name.startswith("on")
        assert name != "style"
        assert name != "src" or (value or "").startswith("data:image/svg+xml;base64,")
        assert name != "href" or (value or "").startswith("#")
    assert not re.search(r"url\(|@import|@font-face", page)
    assert "default-src 'none'" in " ".join(value or "" for _, value in read.attributes)
    assert ("name", "viewport") in read.attributes
    assert "prefers-color-scheme: dark" in page


def test_hostile_texts_are_shown_with_control_characters_replaced(tmp_path: Path) -> None:
    page = _page(tmp_path, _evaluation(tables=TABLES, rule=RULE))
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\u202e", "\ufffd")
    assert shown in "".join(Reader(page).texts)
    assert not re.search("[\x00\u202e]", page)


def test_mistakes_are_listed_with_their_evidence_except_in_worlds_by_share(tmp_path: Path) -> None:
    evaluation = _evaluation()
    read = Reader(_page(tmp_path, evaluation))
    listed = len(evaluation.mistakes["closed"]) + len(evaluation.mistakes["open"])
    assert read.names.count("article") == listed
    text = "".join(read.texts)
    for part in ("as cited", "linked", "best candidate, refused", "the target", "probability 0.7000", CAUSES["same title"]):
        assert part in text


def test_a_page_lists_a_limited_number_of_mistakes_and_states_it(tmp_path: Path) -> None:
    found = [_mistake("false", "same title")] * (MOST + 7)
    page = _page(tmp_path, Evaluation({"open": [each.outcome for each in found]}, ABOUT, {"open": found}))
    assert Reader(page).names.count("article") == MOST
    assert f"same title ({MOST + 7})" in page
    assert f"the {MOST} surest" in page


@pytest.mark.parametrize("name", ["closed", "open", "open_20", "raw_only.open"])
def test_sections_without_figures_are_left_out(tmp_path: Path, name: str) -> None:
    outcomes = _evaluation().outcomes[name]
    page = _page(tmp_path, Evaluation({name: outcomes}, ABOUT))
    links = re.findall(r'href="#(\w+)"', page)
    assert links
    assert all(f'id="{link}"' in page for link in links)
    assert "paper" not in links
    Reader(page)


@settings(max_examples=examples(15))
@given(st.lists(drawn(), max_size=12))
def test_any_outcomes_make_a_page(tmp_path_factory: pytest.TempPathFactory, outcomes: list[Outcome]) -> None:
    page = _page(tmp_path_factory.mktemp("page"), Evaluation({"closed": outcomes, "open": outcomes}, ABOUT))
    assert Reader(page).names.count("section") >= 2


@given(st.text(), st.text())
def test_text_survives_markup(text: str, value: str) -> None:
    class Plain(HTMLParser):
        text, value = "", ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.value = attrs[0][1] or ""

        def handle_data(self, data: str) -> None:
            self.text += data

    made = tag("p", text, title=value)
    parser = Plain()
    parser.feed(made)
    parser.close()
    unshown = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
    assert parser.text == unshown.sub("\ufffd", text)
    assert parser.value == unshown.sub("\ufffd", value)
    made.encode()


def test_markup_joins_its_parts() -> None:
    assert tag("p", "a<b", [tag("b", 3), None], class_="x", data_y=None) == '<p class="x">a&lt;b<b>3</b></p>'
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8"/>'
    assert joined(Markup("<br/>")) == "<br/>"


def test_without_matplotlib_the_message_names_the_extra():
    script = "import sys; sys.modules['matplotlib'] = None; import reflink.evaluation.report"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ReportFailed: the report needs matplotlib: pip install 'reflink-stream[report]'" in done.stderr

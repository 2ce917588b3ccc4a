"""The outcomes, the summary and the comparison of the demo, with invented events."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from reflink.entities import Candidate, Work
from reflink.errors import BadRecord
from reflink.terminal import Terminal
from schemas import LinkEvent, ReferenceEvent
from schemas.links import PaperState
from tests.workers.links import link
from workers.dead_letter import EXCEPTION, MESSAGE, TOPIC
from workers.demo.outcomes import Outcomes
from workers.demo.papers import Published
from workers.demo.summary import (
    Expected,
    Summary,
    choose,
    differences,
    files_of_dead_letters,
    show,
    show_differences,
    summarise,
)

TEXT = "Vaswani A. et al. Attention is all you need. In: NIPS, 2017."


def state(*numbers: int, version: int = 5) -> bytes:
    ids = tuple(f"doi:10.1/p#r{number}" for number in numbers)
    return PaperState(schema_version=1, citing="doi:10.1/p", paper_version=version, references=ids).to_json()


def event(number: int, **fields: Any) -> LinkEvent:
    made = link(f"doi:10.1/p#r{number}", **{"cited": None, "unresolved": None, "arrived": 1000, **fields})
    return made.model_copy(update={"reference": made.reference.model_copy(update={"raw_text": TEXT})})


def take(outcomes: Outcomes, number: int, timestamp: int = 2000, **fields: Any) -> None:
    outcomes.take_link(f"doi:10.1/p#r{number}", event(number, **fields).to_json(), timestamp)


def add_dead_letter(outcomes: Outcomes, key: str, topic: str = "papers", value: bytes = b"") -> None:
    headers = [(TOPIC, topic.encode()), (EXCEPTION, b"NotAPaper"), (MESSAGE, b"it is a [poem]")]
    outcomes.take_dead_letter(key, value, headers)


@pytest.fixture
def seen() -> tuple[Outcomes, Published]:
    outcomes, published = Outcomes(), Published()
    published.add("doi:10.1/p", "p.xml", 5)
    published.add("poem.xml", "poem.xml", 6)
    outcomes.take_manifest("doi:10.1/p", state(1, 2, 3, 4))
    take(outcomes, 1, cited="doi:10.2/a", method="identifier", probability=1.0, reasons=("same doi",))
    take(outcomes, 2, 3000, cited="doi:10.2/b", method="semantic", score=0.9, status="retracted")
    take(outcomes, 3, 11000, cited="doi:10.2/c", method="lexical")
    take(outcomes, 4, unresolved="not-in-catalog", runner_up=Candidate(cited="doi:10.2/[d]", score=0.5))
    add_dead_letter(outcomes, "poem.xml")
    return outcomes, published


def test_a_paper_is_settled_with_its_version_and_all_its_references() -> None:
    outcomes = Outcomes()
    assert not outcomes.is_settled("doi:10.1/p", 5)
    outcomes.take_manifest("doi:10.1/p", state(1, 2))
    take(outcomes, 1)
    assert not outcomes.is_settled("doi:10.1/p", 5)
    take(outcomes, 2)
    assert outcomes.is_settled("doi:10.1/p", 5)
    assert not outcomes.is_settled("doi:10.1/p", 6), "its newer version has not been parsed"
    outcomes.take_link("doi:10.1/p#r2", None, 0)
    assert not outcomes.is_settled("doi:10.1/p", 5), "the tombstone removed an outcome"


def test_a_dead_letter_settles_a_paper_or_a_reference() -> None:
    outcomes = Outcomes()
    outcomes.take_manifest("doi:10.1/p", state(1))
    add_dead_letter(outcomes, "doi:10.1/p", "references", b"not an event")
    assert not outcomes.is_settled("doi:10.1/p", 5)
    dead = ReferenceEvent(schema_version=1, citing="doi:10.1/p", paper_version=5, arrived=1, reference=event(1).reference)
    add_dead_letter(outcomes, "doi:10.1/p", "references", dead.to_json())
    assert outcomes.is_settled("doi:10.1/p", 5)
    add_dead_letter(outcomes, "poem.xml")
    assert outcomes.is_settled("poem.xml", 1)
    assert not outcomes.is_settled("other.xml", 1)


def test_published_papers_are_open_until_they_are_settled(seen: tuple[Outcomes, Published]) -> None:
    outcomes, published = seen
    published.add("doi:10.1/q", "q.xml", 7)
    assert published.settle(outcomes) == 1
    assert published.waiting(5) == ["q.xml"]
    published.add("doi:10.1/p", "p-again.xml", 8)
    assert published.settle(outcomes) == 2, "the newer version of a settled paper is open"
    assert len(published) == 4


def test_a_revised_link_counts_once(seen: tuple[Outcomes, Published]) -> None:
    outcomes, _ = seen
    assert (outcomes.linked, len(outcomes.references)) == (3, 4)
    take(outcomes, 1, cited=None)
    take(outcomes, 2, cited="doi:10.2/z")
    assert (outcomes.linked, len(outcomes.references)) == (2, 4)
    outcomes.take_link("doi:10.1/p#r2", None, 0)
    assert (outcomes.linked, len(outcomes.references)) == (1, 3)


def test_the_summary_counts(seen: tuple[Outcomes, Published]) -> None:
    summary = summarise(*seen, seconds=2.0, works=9, busy={})
    assert summary.linked == {"identifier": 1, "semantic": 1, "lexical": 1}
    assert summary.unresolved == {"not-in-catalog": 1}
    assert (summary.papers, summary.references, summary.references_per_second) == (2, 4, 2.0)
    assert summary.paper_to_link["p50"] == 2.0, "seconds from the paper's arrival to the link's record; unresolved do not count"
    assert summary.paper_to_link["p95"] == pytest.approx(9.2)
    assert summary.dead_letters == [("poem.xml", "NotAPaper: it is a [poem]")]
    fields = json.loads(summary.to_json(["one"], Path("e.json")))
    assert (fields["references_per_second"], fields["differences"], fields["linked"]["lexical"]) == (2.0, ["one"], 1)
    assert "differences" not in json.loads(summary.to_json(None, None))


def test_a_summary_without_papers() -> None:
    summary = summarise(Outcomes(), Published(), seconds=0.0, works=0, busy={})
    assert summary.paper_to_link == {"p50": None, "p95": None}
    assert "0 papers, 0 references" in shown(summary, Outcomes())


def shown(summary: Summary, outcomes: Outcomes) -> str:
    console = Terminal(file=io.StringIO(), width=200)
    works = {"doi:10.2/a": Work(id="doi:10.2/a", title="A [work] on attention", authors=("Vaswani",), year=2017)}
    show(summary, choose(outcomes), works, console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_the_summary_shows_links_in_full(seen: tuple[Outcomes, Published]) -> None:
    text = shown(summarise(*seen, seconds=2.0, works=9, busy={}), seen[0])
    for part in (
        "3 linked, by method",
        "1 unresolved, by reason",
        "p50 2.00 s",
        "poem.xml  NotAPaper: it is a [poem]",
        TEXT,
        "A [work] on attention",
        "probability 1.000",
        "because   same doi",
        "retracted",
        "none of them: not-in-catalog; the nearest was doi:10.2/[d]",
    ):
        assert part in text


def test_the_examples_are_of_every_method(seen: tuple[Outcomes, Published]) -> None:
    assert [each.link.method for each in choose(seen[0])] == ["identifier", "semantic", "lexical", None]


CITED = {1: "doi:10.2/a", 2: "doi:10.2/b", 3: "doi:10.2/c", 4: None}
EXPECTED = Expected({f"doi:10.1/p#r{number}": cited for number, cited in CITED.items()}, frozenset({"poem.xml"}))


def test_expected_outcomes_have_no_difference(seen: tuple[Outcomes, Published]) -> None:
    assert differences(EXPECTED, *seen) == []


def test_each_kind_of_difference_is_reported(seen: tuple[Outcomes, Published]) -> None:
    outcomes, published = seen
    published.add("novel.xml", "novel.xml", 1)
    add_dead_letter(outcomes, "novel.xml")
    take(outcomes, 9, cited="doi:10.2/x")
    take(outcomes, 2, cited="doi:10.2/z")
    take(outcomes, 3, cited=None)
    take(outcomes, 4, cited="doi:10.2/d")
    outcomes.take_link("doi:10.1/p#r1", None, 0)
    expected = Expected(EXPECTED.references, EXPECTED.dead_letters | {"tale.xml"})
    assert differences(expected, outcomes, published) == [
        "doi:10.1/p#r1: no outcome, expected doi:10.2/a",
        "doi:10.1/p#r2: doi:10.2/z, expected doi:10.2/b",
        "doi:10.1/p#r3: unresolved, expected doi:10.2/c",
        "doi:10.1/p#r4: doi:10.2/d, expected unresolved",
        "doi:10.1/p#r9: doi:10.2/x, but the reference is not expected",
        "tale.xml: expected as a dead letter, but is not",
        "novel.xml: an unexpected dead letter: NotAPaper: it is a [poem]",
    ]


def test_a_dead_letter_is_named_by_the_file_of_its_paper() -> None:
    outcomes, published = Outcomes(), Published()
    published.add("doi:10.1/p", "p.xml", 5)
    add_dead_letter(outcomes, "doi:10.1/p")
    add_dead_letter(outcomes, "doi:10.1/p", "references")
    assert files_of_dead_letters(outcomes, published) == [
        ("doi:10.1/p", "NotAPaper: it is a [poem] (from topic references)"),
        ("p.xml", "NotAPaper: it is a [poem]"),
    ]


def test_a_limited_number_of_differences_is_shown() -> None:
    console = Terminal(file=io.StringIO(), width=200)
    show_differences([f"line {number} [b]" for number in range(40)], EXPECTED, Path("e.json"), console)
    show_differences([], EXPECTED, Path("e.json"), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "40 differences from e.json" in text
    assert "line 29 [b]" in text
    assert "line 30" not in text
    assert "and 10 more" in text
    assert "all 4 references and 1 dead letters are as in e.json" in text


@pytest.mark.parametrize("content", ["", "[]", '{"references": {}}', '{"references": 3, "dead_letters": []}'])
def test_an_invalid_file_of_expectations_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "expected.json"
    path.write_text(content)
    with pytest.raises(BadRecord, match=r"expected\.json: must be"):
        Expected.read(path)
    with pytest.raises(BadRecord, match="cannot be read"):
        Expected.read(tmp_path / "nothing.json")

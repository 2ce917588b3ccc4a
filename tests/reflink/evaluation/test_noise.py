"""Labels that are suspected to be wrong, and records that are never suspected."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.evaluation import noise
from reflink.evaluation.adjudication import Judgement, Judgements
from reflink.evaluation.noise import apart, suspects
from reflink.evaluation.records import Listing, Query, reference_of, work_of
from reflink.evaluation.worlds import Groups
from tests.data import shared_data
from tests.reflink.verdict.families import Records, cases

REFERENCE = Reference(
    id="doi:10.1/0#1", citing="doi:10.1/0", position=1, title="Night foraging of bumblebees under street lamps",
    last_names=("Marchetti", "Holm"), year=2012, volume="9", first_page="61",
    raw_text="Marchetti, Holm 2012 Night foraging of bumblebees under street lamps. 9:61",
)  # fmt: skip
SAME = Work(id="doi:10.1/1", title=REFERENCE.title, authors=("Marchetti",), year=2012, volume="9", fpage="61")
OTHER = Work(id="doi:10.1/2", title="Ceramic membranes fired at low temperature", authors=("Osei",), volume="18", fpage="120")


def reason(reference: Reference = REFERENCE, **changes: object) -> str | None:
    return apart(reference, OTHER.model_copy(update=changes))


def test_a_work_is_suspected_if_two_signs_differ_and_none_agrees() -> None:
    assert reason() == "title, authors and place differ"
    assert reason(authors=("Holm",)) == "title and place differ"
    assert reason(volume=None) == "title and authors differ"
    assert reason(authors=("Holm",), volume=None) is None
    assert reason(volume="9", fpage="61") is None
    assert reason(title=REFERENCE.title) is None
    assert reason(title="Lamps") is None


def test_the_first_page_of_a_volume_is_not_a_sign() -> None:
    first = REFERENCE.model_copy(update={"first_page": "1"})
    assert reason(first, volume="9", fpage="1") == "title and authors differ"
    assert reason(first, volume="9", fpage="1", authors=("Holm",)) is None


def test_a_reference_without_title_is_not_suspected_by_its_title() -> None:
    assert reason(REFERENCE.model_copy(update={"title": None})) is None


def test_a_citation_without_fields_is_compared_by_its_text() -> None:
    text = Reference(id="doi:10.1/0#2", citing="doi:10.1/0", position=2, raw_text=REFERENCE.raw_text)
    assert reason(text) == "title and authors differ"
    assert apart(text, SAME) is None


def test_an_empty_record_is_suspected() -> None:
    assert apart(REFERENCE, Work(id="pmid:1")) == "the record is empty"


words = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12), min_size=1, max_size=8).map(" ".join)


@given(words, st.lists(words, max_size=4), words | st.none(), words | st.none())
def test_a_record_of_the_cited_work_is_never_suspected(
    title: str, names: list[str], volume: str | None, page: str | None
) -> None:
    work = Work(id="doi:10.1/3", title=title, authors=tuple(names), volume=volume, fpage=page)
    reference = Reference(
        id="doi:10.1/0#3", citing="doi:10.1/0", position=3, title=title, last_names=tuple(names), volume=volume, first_page=page
    )
    assert apart(reference, work) is None


def test_a_matching_record_of_the_group_clears_the_query() -> None:
    listings = [Listing(OTHER, "g"), Listing(SAME, "g"), Listing(OTHER.model_copy(update={"id": "doi:10.1/4"}), "doi:10.1/4")]
    groups = Groups.read(listings)
    grouped, alone = Query(REFERENCE, OTHER.id, "front"), Query(REFERENCE, "doi:10.1/4", "front")
    assert suspects([grouped], listings, groups) == {}
    assert suspects([alone], listings, groups) == {REFERENCE.id: "title, authors and place differ"}
    assert suspects([Query(REFERENCE, "doi:10.1/unknown", "front")], listings, groups) == {}


def test_a_persons_verdict_outranks_the_rule() -> None:
    listings = [Listing(OTHER, OTHER.id), Listing(SAME, SAME.id)]
    groups = Groups.read(listings)
    wrong, right = Query(REFERENCE, OTHER.id, "front"), Query(REFERENCE, SAME.id, "front")

    def found(query: Query, verdict: str) -> dict[str, str]:
        judgement = Judgement(query.reference.id, query.truth, None, verdict, "2026-11-24", "another chapter")
        return suspects([query], listings, groups, Judgements([judgement]))

    assert found(right, "label") == {REFERENCE.id: "read by a person: another chapter"}
    assert found(right, "linker") == found(wrong, "linker") == {}
    assert found(wrong, "version") == {REFERENCE.id: "title, authors and place differ"}


def test_no_link_of_the_families_is_suspected() -> None:
    records = Records.read(shared_data())
    named = [case for case in cases() if case.cited is not None]
    wrong = [case for case in named if apart(records.references[case.rid], records.works[case.cited or ""])]
    assert len(named) > 100
    assert not wrong


@pytest.mark.parametrize("json", [False, True])
def test_the_command_lists_suspected_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str], json: bool) -> None:
    work = {"id": "doi:10.1/2", "title": OTHER.title, "authors": ["Osei"], "volume": "18", "fpage": "120"}
    reference = {
        "rid": "PMC1#B1@1", "citing": "PMC1", "title": REFERENCE.title, "last_names": ["Holm"], "raw_noid": "x", "volume": "9",
        "first_page": "61", "work": "doi:10.1/2", "query": "front",
    }  # fmt: skip
    fitting = {**reference, "rid": "PMC1#B2@2", "title": OTHER.title}
    assert work_of(work).title == OTHER.title
    assert reference_of(fitting).title == OTHER.title
    works, references, out = tmp_path / "w.jsonl", tmp_path / "r.jsonl", tmp_path / "out.json"
    works.write_bytes(orjson.dumps(work))
    references.write_bytes(orjson.dumps(reference) + b"\n" + orjson.dumps(fitting))
    written = ["--json", str(out)] if json else []
    assert noise.main(["--catalog", str(works), "--references", str(references), *written]) == 0
    shown = capsys.readouterr()
    assert shown.out == "PMC1#B1@1\tdoi:10.1/2\ttitle, authors and place differ\n"
    assert "1 of 2 queries (50.00%)" in shown.err
    assert not json or orjson.loads(out.read_bytes()) == {"PMC1#B1@1": "title, authors and place differ"}

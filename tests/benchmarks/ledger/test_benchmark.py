"""The benchmark of the ledger: the references it makes, where it puts those that wait for a work, and how it counts."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import islice
from pathlib import Path

import orjson
import pytest

from benchmarks.ledger import filling, shares, topics, waking
from benchmarks.ledger.__main__ import main
from benchmarks.ledger.moulds import Mould
from benchmarks.ledger.real import choose_arrivals
from benchmarks.ledger.recombined import BLOCK, REFERENCES_PER_PAPER, Marked, Recombined, without_identifiers, written
from benchmarks.ledger.starting import paper_events
from benchmarks.ledger.watching import Seen, Watcher
from reflink.blocking.keys import reference_keys, work_keys
from reflink.catalog.reading import read_works
from reflink.entities import Ids, Inferred, Reference, Work
from reflink.errors import ReflinkError
from reflink.jats import parse
from schemas import LinkEvent, ManifestEvent, OutcomesEvent, read_outcome_event
from schemas.links import PaperState
from tests.data import ROOT, shared_data

WORK = Work(id="doi:10.1000/w", ids=Ids(doi="10.1000/w"), title="A work that comes late", authors=("Doe",), year=2001)
TEXT = "Roe J. 100% of what 12 Birds say. J Birds 2012; 12: 112-120. doi:10.1000/Birds.12"
TAGGED = Reference(
    id="p#B1.1", citing="p", position=1, raw_text=TEXT, raw_noid=TEXT.partition(" doi:")[0], title="100% of what 12 birds say",
    last_names=("Roe",), given_names=("J",), venue="J Birds", year=2012, volume="12", first_page="112", last_page="120",
    ids=Ids(doi="10.1000/birds.12"), kind="journal",
)  # fmt: skip
CITED = {
    "title": "The second title", "venue": "Acta", "year": 1999, "volume": "7", "issue": "1", "first_page": "3",
    "last_page": "9", "doi": "10.2000/x", "pmid": "900000000", "pmcid": "PMC9", "arxiv": "9901.1", "people": [0],
}  # fmt: skip


@pytest.fixture(scope="module")
def references() -> list[Reference]:
    found: list[Reference] = []
    for path in sorted((ROOT / "examples" / "papers").rglob("*.xml")):
        with suppress(ReflinkError):
            found += parse(path.read_bytes()).references
    return found


@pytest.fixture(scope="module")
def made(references: list[Reference]) -> Recombined:
    return Recombined(references, judged_at=541)


def marks(references: list[Reference], count: int) -> list[Marked]:
    return [Marked(references[at], WORK, at % 2 == 0) for at in range(count)]


def test_a_mould_replaces_the_parts_of_one_work_by_those_of_another():
    reference = Reference.from_dict(written(Mould.of(TAGGED), dict(CITED), [("Poe", "E A")], "q#r1.1", "q", 1))
    assert reference.raw_text == "Poe J. The second title. Acta 1999; 7: 3-9. doi:10.2000/x"
    assert reference.raw_noid == "Poe J. The second title. Acta 1999; 7: 3-9."
    assert (reference.last_names, reference.given_names, reference.kind) == (("Poe",), ("E A",), "journal")
    assert (reference.title, reference.year, reference.ids) == ("The second title", 1999, Ids(doi="10.2000/x"))


def test_a_mould_keeps_inferred_fields_inferred():
    inferred = Inferred(title="100% of what 12 Birds say", last_names=("Roe",), year=2012)
    mould = Mould.of(Reference(id="p#B1.1", citing="p", position=1, raw_text=TEXT, inferred=inferred))
    reference = Reference.from_dict(written(mould, dict(CITED), [("Poe", "E A")], "q#r1.1", "q", 1))
    assert reference.title is None
    assert reference.inferred == Inferred(title="The second title", last_names=("Poe",), year=1999)
    assert reference.raw_text.startswith("Poe J. The second title. J Birds 1999;")


def test_generated_events_have_the_form_of_published_events(made: Recombined):
    papers = list(made.papers(0, BLOCK))
    assert len({paper.citing for paper in papers}) == BLOCK
    for paper in papers[:5]:
        assert len(paper.links) == REFERENCES_PER_PAPER
        assert PaperState.from_json(paper.manifest).references == tuple(paper.links)
        for id_, value in paper.links.items():
            event = LinkEvent.from_json(value)
            assert event.to_json() == orjson.dumps(orjson.loads(event.to_json()))
            assert (event.reference.id, event.link.reference, event.citing) == (id_, id_, paper.citing)
            assert (event.link.cited, event.link.unresolved, event.catalog_offset) == (None, "not-in-catalog", 541)


def test_a_paper_depends_only_on_the_seed_and_its_number(references: list[Reference], made: Recombined):
    later = list(made.papers(BLOCK, BLOCK))
    both = list(made.papers(0, 2 * BLOCK))
    assert both[BLOCK:] == later == list(Recombined(references, judged_at=541).papers(BLOCK, BLOCK))
    assert list(made.papers(0, 3)) == both[:3]
    assert list(Recombined(references, seed=8).papers(0, 1)) != both[:1]


def test_keys_coincide_with_each_other_but_hardly_with_real_works(made: Recombined):
    links = [LinkEvent.from_json(value) for paper in made.papers(0, 4 * BLOCK) for value in paper.links.values()]
    keys = Counter(key for link in links for key in set(reference_keys(link.reference)))
    assert max(keys.values()) > 10
    own = sum(1 for link in links if all(keys[key] == 1 for key in reference_keys(link.reference)))
    assert 0.2 < own / len(links) < 0.9
    real = {key for work in read_works(ROOT / "examples" / "works.jsonl") if isinstance(work, Work) for key in work_keys(work)}
    met = [link for link in links if real & set(reference_keys(link.reference))]
    assert len(met) < 0.02 * len(links)


def test_marked_references_are_evenly_spread(references: list[Reference], made: Recombined):
    marked = marks(references, 5)
    placed = Recombined.placed(BLOCK, BLOCK, marked)
    found = {id_: value for paper in made.papers(BLOCK, BLOCK, marked) for id_, value in paper.links.items() if id_ in placed}
    assert list(placed.values()) == marked
    assert {id_.partition("#")[0][-2:] for id_ in placed} == {"50", "60", "70", "80", "90"}
    for id_, mark in placed.items():
        reference = LinkEvent.from_json(found[id_]).reference
        assert reference.id == id_
        assert reference.raw_text == mark.reference.raw_text
        assert reference_keys(reference) == reference_keys(mark.reference)


def test_processes_share_papers_and_marked_references(references: list[Reference]):
    marked = marks(references, 10)
    papers = 3 * BLOCK + 7
    shares = topics.parts(papers * REFERENCES_PER_PAPER, marked, 2)
    assert [(first, count) for first, count, _ in shares] == [(0, 2 * BLOCK), (2 * BLOCK, BLOCK + 7)]
    assert [mark for _, _, chosen in shares for mark in chosen] == marked
    placed = topics.placed(papers * REFERENCES_PER_PAPER, marked)
    assert sorted(placed.values(), key=marked.index) == marked
    assert topics.parts(REFERENCES_PER_PAPER, marked, 2) == [(0, 1, marked)]


def test_a_reference_without_identifiers_keeps_its_other_fields():
    bare = without_identifiers(Marked(TAGGED, WORK, True))
    assert not bare.identified
    assert bare.reference.ids == Ids()
    assert bare.reference.raw_text == TAGGED.raw_noid
    assert bare.reference.title == TAGGED.title


def test_waiting_references_cite_arriving_works():
    shared_data()
    works = Path(shared_data() / "works.jsonl.gz")
    references = [
        Reference(id=f"p#B{at}.1", citing="p", position=at, raw_text="text", title=work.title, ids=work.ids)
        for at, work in enumerate(islice((each for each in read_works(works) if isinstance(each, Work) and each.title), 400))
    ]
    arrivals = choose_arrivals(references, 60, 0.5)
    assert len({work.id for work in arrivals.works}) == len(arrivals.works) == 60
    assert len(arrivals.marked) == 30
    assert {mark.work.id for mark in arrivals.marked} <= {work.id for work in arrivals.works}
    assert all(mark.reference.title == mark.work.title for mark in arrivals.marked)
    assert [mark.identified for mark in arrivals.marked] == [True, False] * 15
    assert all(bool(mark.reference.ids.keys()) == mark.identified for mark in arrivals.marked)
    with pytest.raises(SystemExit, match="500 works are to arrive, 500 of them cited"):
        choose_arrivals(references, 500, 1.0)


def test_stores_hold_the_references_written(tmp_path: Path, made: Recombined, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(filling, "ROWS", 100)
    stores = filling.Stores(tmp_path)
    try:
        stores.fill(made.papers(0, BLOCK), BLOCK * REFERENCES_PER_PAPER)
        figures = stores.figures()
        written = sorted(name for store in stores.stores for name, _ in store.rows("links"))
    finally:
        stores.close()
    assert written == sorted(name for paper in made.papers(0, BLOCK) for name in paper.links)
    assert figures["references"] == len(written) == BLOCK * REFERENCES_PER_PAPER
    assert figures.keys() == filling.COLUMNS.keys()
    assert all(value > 0 for value in figures.values())


def test_a_probe_has_a_manifest_and_outcomes():
    first, second = (read_outcome_event(value) for value in paper_events("doi:10.5555/probe.1", 2, judged_at=9))
    assert isinstance(first, ManifestEvent)
    assert isinstance(second, OutcomesEvent)
    assert first.references == tuple(item.reference.id for item in second.items)
    assert second.catalog_offset == 9


def seen(cited: str | None = None, linked_at: float | None = None, **times: float) -> Seen:
    return Seen({topic: [at] for topic, at in times.items()}, cited, linked_at)


def test_latency_is_measured_from_the_timestamp_of_the_work_and_by_step():
    other = WORK.model_copy(update={"id": "doi:10.1000/other"})
    late = WORK.model_copy(update={"id": "doi:10.1000/late"})
    waiting = {
        "by-id": Marked(TAGGED, WORK, True),
        "by-text": Marked(TAGGED, other, False),
        "lost": Marked(TAGGED, other, False),
        "before": Marked(TAGGED, late, True),
    }
    records = {
        "by-id": seen(WORK.id, 1700, retries=1100, outcomes=1400, links=1700),
        "by-text": seen(other.id, 4000, retries=2500, fallback=2600, outcomes=3600, links=4000),
        "lost": seen(None, None, retries=2500, outcomes=2600),
        "before": seen(late.id, 1200, retries=1100, outcomes=1150, links=1200),
        "long-ago": seen(None, None, retries=900),
        "in-vain": seen(None, None, retries=2000, outcomes=2500),
    }
    found = waking.evaluate({WORK.id: 1000, other.id: 2000}, waiting, records)
    assert found["seconds"] == {"n": 2, "p50": pytest.approx(1.35), "p99": pytest.approx(1.987), "max": 2.0}
    assert found["steps"]["requested"]["max"] == pytest.approx(0.5)
    assert found["steps"]["linker"] == {"n": 2, "p50": pytest.approx(0.2), "p99": pytest.approx(0.298), "max": 0.3}
    assert found["steps"]["fallback"] == {"n": 1, "p50": 1.0, "p99": 1.0, "max": 1.0}
    assert found["steps"]["ledger"]["p50"] == pytest.approx(0.35)
    assert found["awaited"] == {
        "by identifier": {"waiting": 1, "requested": 1, "linked": 1},
        "by text": {"waiting": 2, "requested": 2, "linked": 1},
    }
    assert (found["requested"], found["requested_per_work"], found["requested_in_vain"], found["requested_again"]) == (
        4,
        2.0,
        1,
        0,
    )
    totals = {"references": 4, "works_before": 9, "works": 2, "per_s": 2.0, "cores": {"ledger": 0.5}, "lags": {"ledger lag": 3}}
    printed = waking.text({**found, **totals})
    assert "awaited, by text: 2, requested 2, linked 1" in printed
    assert "work to link" in printed


def test_a_watcher_records_references_in_every_kind_of_event():
    watcher = Watcher.__new__(Watcher)
    watcher.seen = {}
    link = {"reference": {"id": "a"}, "link": {"reference": "a", "cited": None}}
    watcher.record("retries", orjson.dumps({"reference": {"id": "a"}}), 1.0)
    watcher.record("outcomes", orjson.dumps({"kind": "manifest", "references": ["a"]}), 1.5)
    watcher.record("outcomes", orjson.dumps({"items": [{"reference": {"id": "a"}}, {"reference": {"id": "b"}}]}), 2.0)
    watcher.record("links", orjson.dumps(link), 3.0)
    watcher.record("links", orjson.dumps({**link, "link": {"cited": "w"}}), 4.0)
    watcher.record("links", orjson.dumps({**link, "link": {"cited": "w"}}), 5.0)
    assert watcher.seen["a"] == Seen({"retries": [1.0], "outcomes": [2.0], "links": [3.0, 4.0, 5.0]}, "w", 4.0)
    assert watcher.seen["b"].first("outcomes") == 2.0
    assert watcher.seen["b"].first("links") is None


def test_the_shares_find_what_one_ledger_finds(tmp_path: Path):
    found = shares.compare(2000, (1, 2, 3), tmp_path, real=300)
    assert found["equal"] == [1, 2, 3]
    assert found["found"] > 0


def test_a_share_is_measured(tmp_path: Path):
    whole, half = (shares.measure(100, 8000, 0, number, 50, tmp_path, real=300) for number in (1, 2))
    assert (whole["references"], half["references"], whole["works"]) == (8000, 4000, 100)
    assert whole["store_mb"] > 1.5 * half["store_mb"] > 0
    assert whole["log_mb"] > 0


def test_the_command_saves_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(filling, "run", lambda references, sizes, folder: {"references": references, "sizes": sizes})
    assert main(["store", "--references", "80", "--sizes", "40", "--json", str(tmp_path / "figures.json")]) == 0
    saved = orjson.loads((tmp_path / "figures.json").read_bytes())
    assert (saved["references"], saved["sizes"], saved["command"]) == (80, [40], "store")

"""Waking: a change of the catalog has the few outcomes that it concerns judged again, each once, and those alone."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from reflink.blocking.keys import hashed, reference_keys, work_keys
from reflink.entities import Ids, Link, Reference, Work
from schemas import LinkEvent, Outcome, OutcomesEvent
from tests.workers.ledger.ledgered import CITING, Ledger, asked, manifest
from workers.ledger.stores.key_index import keys_of
from workers.ledger.stores.work_table import WorkTable
from workers.records import Message


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path, sweep_per_s=0)
    yield ledger
    ledger.stage.close()


def work(doi: str, title: str = "", **fields: object) -> Work:
    return Work.from_dict(
        {"id": f"doi:{doi}", "ids": {"doi": doi}, "title": title or f"what {doi} is about, told at length", **fields}
    )


def reference(name: str, doi: str | None = None, **fields: object) -> Reference:
    ids = Ids(doi=doi) if doi else Ids()
    return Reference.from_dict({"id": f"{CITING}#{name}", "citing": CITING, "position": 1, **fields, "ids": ids.to_dict()})


def outcome(
    item: Reference, cited: str | None, offset: int, version: int = 1, forbidden: tuple[str, ...] = ()
) -> OutcomesEvent:
    link = Link(
        reference=item.id,
        citing=CITING,
        cited=cited,
        method="identifier" if cited else None,
        unresolved=None if cited else "no-candidate",
    )
    return OutcomesEvent(
        schema_version=1,
        kind="outcomes",
        citing=CITING,
        paper_version=version,
        arrived=10,
        catalog_offset=offset,
        judged=11,
        items=(Outcome(reference=item, link=link, forbidden=forbidden),),
    )


def published(messages: list[Message]) -> list[LinkEvent]:
    return [LinkEvent.from_json(each.value) for each in messages if each.topic == "links" and each.value]


def test_a_late_work_wakes_the_reference_that_carries_its_identifier_and_no_other(ledger: Ledger):
    waiting, other = reference("a", "10.1/late"), reference("b", "10.1/never")
    ledger.take(manifest(1, "a", "b"), outcome(waiting, None, 0), outcome(other, None, 0))
    ledger.change(work("10.1/late"), work("10.1/unasked"), arrived=77)
    sent = ledger.background_tasks()
    (event,) = asked(sent).values()
    assert {each.topic for each in sent} == {"retries"}
    assert (event.reference, event.catalog_offset, event.woken, event.live) == (waiting, 1, 77, False)
    assert (event.citing, event.paper_version, event.arrived) == (CITING, 1, 10)
    assert sent[0].key == CITING.encode()
    assert sent[0].headers == event.headers()


def test_what_was_judged_at_a_later_offset_is_not_woken(ledger: Ledger):
    item = reference("a", "10.1/late")
    ledger.change(work("10.1/late"))
    ledger.take(manifest(1, "a"), outcome(item, "doi:10.1/late", 1))
    assert not ledger.background_tasks()


def test_an_outcome_that_did_not_know_a_change_that_was_passed_is_asked_for_at_once(ledger: Ledger):
    ledger.change(work("10.1/late"), arrived=77)
    assert not ledger.background_tasks()
    sent = ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    assert len(published(sent)) == 1
    assert [(event.catalog_offset, event.woken) for event in asked(sent).values()] == [(1, 77)]
    assert not ledger.background_tasks()


def test_while_a_judgement_is_on_its_way_it_is_not_asked_for_again(ledger: Ledger):
    item = reference("a", "10.1/late")
    ledger.take(manifest(1, "a"), outcome(item, None, 0))
    ledger.change(
        work("10.1/unasked"), work("10.1/late"), work("10.1/late", "corrected, and told at length"), work("10.1/behind")
    )
    (event,) = asked(ledger.background_tasks()).values()
    assert event.catalog_offset == 3, "for both changes, and no later than they need"
    ledger.change(work("10.1/late", "corrected once more, and told at length"))
    assert list(asked(ledger.background_tasks())) == ["a"]  # the judgement on its way may be of before this
    assert not ledger.background_tasks()


def test_who_has_a_key_in_common_and_cannot_mean_the_work_is_not_woken(tmp_path: Path):
    """The volume and page of the work, in another year, under another title, by others."""
    ledger = Ledger(tmp_path, sweep_per_s=0)
    late = work("10.1/late", authors=("Smith",), year=2001, volume="7", fpage="9", title="On the shape of things to come")
    same = {"title": "On the shape of things to come", "last_names": ["Smith"], "year": 2001, "volume": "7", "first_page": "9"}
    names = {
        "meant": reference("meant", **same),
        "other": reference("other", **{**same, "title": "Another matter altogether, and at length", "year": 2005}),
    }
    ledger.take(manifest(1, *names), *(outcome(item, None, 0) for item in names.values()))
    ledger.change(late)
    keys = set(map(hashed, work_keys(late)))
    assert all(keys & set(map(hashed, reference_keys(item))) for item in names.values())
    assert list(asked(ledger.background_tasks())) == ["meant"]
    ledger.stage.close()
    everyone = Ledger(tmp_path, sweep_per_s=0, wake_probability=0)
    everyone.take(manifest(1, *names), *(outcome(item, None, 0) for item in names.values()))
    everyone.change(late)
    assert sorted(asked(everyone.background_tasks())) == sorted(names)
    everyone.stage.close()


def test_what_was_asked_of_an_older_text_says_nothing_of_the_newer_one(tmp_path: Path):
    """Waking stands still for want of permits while the paper is revised; the change behind concerns the new text."""
    ledger = Ledger(tmp_path, sweep_per_s=0, wakes_per_s=1)
    old, new = reference("a", "10.1/old"), reference("a", "10.1/new")
    ledger.take(manifest(1, "a", "b"), outcome(old, None, 0), outcome(reference("b", "10.1/old"), None, 0))
    ledger.change(work("10.1/old"), work("10.1/new"))
    assert len(asked(ledger.background_tasks())) == 1
    ledger.take(manifest(2, "a", "b"), outcome(new, None, 1, version=2), outcome(reference("b"), None, 1, version=2))
    found = {}
    for _ in range(3):
        ledger.now += 1
        found |= asked(ledger.background_tasks())
    assert found["a"].reference == new
    ledger.stage.close()


@pytest.mark.parametrize("corrected", [work("10.1/a", "another title"), work("10.1/a", status="retracted")])
def test_a_corrected_work_has_the_links_to_it_judged_again(ledger: Ledger, corrected: Work):
    ledger.change(work("10.1/a"))
    ledger.take(manifest(1, "a"), outcome(reference("a", title="with no key in common"), "doi:10.1/a", 1))
    assert not ledger.background_tasks()
    ledger.change(corrected)
    assert list(asked(ledger.background_tasks())) == ["a"]


def test_the_same_work_again_wakes_nothing(ledger: Ledger):
    ledger.change(work("10.1/a"))
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/a"), "doi:10.1/a", 1))
    ledger.change(work("10.1/a"))
    assert not ledger.background_tasks()


def test_links_to_a_withdrawn_work_go_at_once_and_are_judged_again(ledger: Ledger):
    ledger.change(work("10.1/a"))
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/a"), "doi:10.1/a", 1))
    assert not ledger.background_tasks()
    ledger.change("doi:10.1/a")
    sent = ledger.background_tasks()
    (link,) = published(sent)
    assert (link.link.cited, link.link.unresolved, link.catalog_offset) == (None, "withdrawn", 2)
    assert asked(sent)["a"].catalog_offset == 2
    # What was judged before the withdrawal comes late.
    assert not published(ledger.take(outcome(reference("a", "10.1/a"), "doi:10.1/a", 1)))
    assert ledger.links() == {"a": None}
    assert published(ledger.take(outcome(reference("a", "10.1/a"), None, 2)))[0].link.unresolved == "no-candidate"


def test_works_that_become_one_have_their_links_moved(ledger: Ledger):
    ledger.change(work("10.1/b", ids={"doi": "10.1/b", "pmid": "5"}))
    ledger.take(manifest(1, "a"), outcome(reference("a", title="with no key in common"), "doi:10.1/b", 1))
    assert not ledger.background_tasks()
    ledger.change(work("10.1/a", ids={"doi": "10.1/a", "pmid": "5"}))
    assert list(asked(ledger.background_tasks())) == ["a"]


def test_the_larger_of_two_that_are_one_goes_and_the_links_stay(ledger: Ledger):
    ledger.change(*(work(f"10.1/{name}", ids={"doi": f"10.1/{name}", "pmid": "5"}) for name in "ab"))
    ledger.take(manifest(1, "a"), outcome(reference("a", title="with no key in common"), "doi:10.1/a", 2))
    assert not ledger.background_tasks()
    ledger.change("doi:10.1/b")
    assert not published(ledger.background_tasks())


def test_a_paper_whose_newer_version_is_being_judged_is_not_asked_for(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0), manifest(2, "a"))
    ledger.change(work("10.1/late"))
    assert not ledger.background_tasks()
    # Its judgement comes, and did not know the work either.
    assert list(asked(ledger.take(outcome(reference("a", "10.1/late"), None, 0, version=2)))) == ["a"]


def test_no_more_are_asked_for_than_the_pace_allows_and_none_is_forgotten(tmp_path: Path):
    ledger = Ledger(tmp_path, wakes_per_s=10, sweep_per_s=0)
    names = [f"{number:03}" for number in range(57)]
    ledger.take(manifest(1, *names), *(outcome(reference(name, "10.1/late"), None, 0) for name in names))
    ledger.change(work("10.1/other"), work("10.1/late"))
    found: list[str] = []
    for second in range(7):
        sent = asked(ledger.background_tasks())
        assert len(sent) <= 10
        found += sent
        ledger.now += 1
        if second == 3:  # another process, which knows what the store says alone
            ledger.stage._requested.clear()
    assert sorted(found) == names
    assert not ledger.background_tasks()
    ledger.stage.close()


def test_where_waking_is_outlives_the_process(tmp_path: Path):
    first = Ledger(tmp_path, sweep_per_s=0)
    first.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    first.change(work("10.1/late"))
    output = first.stage.background_task()
    assert output is not None
    assert output.messages
    assert first.stage.background_task() == output  # what was not committed is offered again
    second = Ledger(tmp_path, sweep_per_s=0)
    second.store.tables = first.store.tables
    second.works = second.stage.works = first.works
    assert list(asked(second.background_tasks())) == ["a"]
    third = Ledger(tmp_path, sweep_per_s=0)
    third.store.tables, third.stage.works = second.store.tables, second.works
    assert not third.background_tasks()
    for ledger in (first, second, third):
        ledger.stage.close()


def test_a_chore_names_the_partitions_it_is_for(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    assert ledger.stage.background_task() is None
    ledger.change(work("10.1/late"))
    output = ledger.stage.background_task()
    assert output is not None
    assert output.partitions == {("outcomes", 0)}


def test_an_outcome_that_comes_while_its_change_is_under_way_is_asked_for(tmp_path: Path):
    """Its reference comes before those that waking has reached, and it was judged without the change."""
    ledger = Ledger(tmp_path, sweep_per_s=0, wakes_per_s=20)
    names = [f"n{number:02}" for number in range(40)]
    ledger.take(manifest(1, *names, "a"), *(outcome(reference(name, "10.1/late"), None, 0) for name in names))
    ledger.change(work("10.1/late"))
    found = list(asked(ledger.background_tasks()))
    assert len(found) == 20
    found += asked(ledger.take(outcome(reference("a", "10.1/late"), None, 0)))
    for _ in range(3):
        ledger.now += 1
        found += asked(ledger.background_tasks())
    assert sorted(found) == ["a", *names]
    ledger.stage.close()


def test_what_comes_back_late_is_not_asked_for_once_more(ledger: Ledger):
    """A linker that is three changes behind, and a key that changes all the time."""
    item = reference("a", "10.1/late")
    ledger.take(manifest(1, "a"), outcome(item, None, 0))
    on_their_way: list[int] = []
    for number in range(30):
        ledger.change(work("10.1/late", f"version {number} of what is told at length"))
        on_their_way += [event.catalog_offset for event in asked(ledger.background_tasks()).values()]
        if number > 2:
            answered = ledger.take(outcome(item, "doi:10.1/late", on_their_way.pop(0)))
            on_their_way += [event.catalog_offset for event in asked(answered).values()]
        assert len(on_their_way) <= 4


def test_rows_that_only_a_newer_worker_can_read_stop_nobody(ledger: Ledger):
    ledger.take(manifest(1, "a", "b"), *(outcome(reference(name, "10.1/late"), None, 0) for name in "ab"))
    newer = ledger.store.tables["manifests"][CITING].replace(b'"schema_version":1', b'"schema_version":2')
    ledger.store.tables["manifests"][CITING] = newer
    ledger.change(work("10.1/late"))
    assert not ledger.background_tasks()


def test_what_no_topic_takes_is_passed_over_by_a_chore(ledger: Ledger):
    long, short = reference("a", "10.1/late", raw_text="x" * 1_999_900), reference("b", "10.1/late")
    ledger.take(manifest(1, "a", "b"), outcome(long, None, 0), outcome(short, None, 0))
    ledger.change(work("10.1/late"))
    assert list(asked(ledger.background_tasks())) == ["b"]
    assert ledger.decisions["too-large"] == 1


def test_a_year_or_a_version_of_hundreds_of_digits_stops_nobody(tmp_path: Path):
    huge = 10**400
    ledger = Ledger(tmp_path / "memory", sweep_per_s=0)
    item = reference("a", "10.1/late", year=huge)
    ledger.take(manifest(2**70, "a"), outcome(item, None, 0, version=2**70))
    ledger.change(work("10.1/late", year=huge))
    assert list(asked(ledger.background_tasks())) == ["a"]
    ledger.stage.close()
    assert keys_of(ledger.store.tables["links"][item.id])
    table = WorkTable(tmp_path / "works", topic_id=None, stale_after_s=1e9)
    for offset, what in enumerate((work("10.1/late", year=huge), work("10.1/late"), "doi:10.1/late")):
        table.apply([(offset, 5, what)], offset + 1)
    assert len(table) == 0
    table.close()


def test_partitions_take_turns_while_permits_are_scarce(tmp_path: Path):
    ledger = Ledger(tmp_path, sweep_per_s=0, wakes_per_s=10)
    names = [f"{number:03}" for number in range(60)]
    ledger.take(manifest(1, *names), *(outcome(reference(name, "10.1/late"), None, 0) for name in names))
    for partition in range(1, 4):
        ledger.stage.stores[partition] = copy.deepcopy(ledger.store)  # type: ignore[assignment]
    ledger.change(work("10.1/late"))
    asked_of: Counter[int] = Counter()
    for _ in range(12):
        output = ledger.stage.background_task()
        assert output is not None
        asked_of.update(partition for partition, table, _ in output.writes if table == "requested")  # type: ignore[misc]
        ledger.stage.committed(output, {})
        ledger.now += 1
    assert set(asked_of) == {0, 1, 2, 3}
    ledger.stage.close()


def test_what_is_due_in_a_store_that_went_and_came_back_is_asked_for(ledger: Ledger):
    ledger.change(work("10.1/late"))
    ledger.take(manifest(1, "a"), outcome(reference("a"), None, 0))
    assert not ledger.background_tasks(), "nothing is due"
    ledger.stage.released([("outcomes", 0)])
    ledger.store.write([("due", f"{CITING}#a", b"0")], {})
    ledger.stage.stores[0] = ledger.store  # type: ignore[assignment]
    assert list(asked(ledger.background_tasks())) == ["a"]
    assert not ledger.background_tasks()

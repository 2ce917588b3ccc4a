"""Change propagation: a change of the catalog re-evaluates the outcomes that it concerns, each once, and no others."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path

import pytest

from reflink.blocking.keys import hashed, reference_keys, work_keys
from reflink.entities import Work
from tests.workers.ledger.changelogs import MemoryChangeLog
from tests.workers.ledger.conftest import NewLedger
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcome, published, reference, requested, work
from workers.ledger.stores.change_log import ChangeLog
from workers.ledger.stores.key_index import keys_of


def test_a_late_work_re_evaluates_only_the_reference_with_its_identifier(ledger: Ledger):
    waiting, other = reference("a", "10.1/late"), reference("b", "10.1/never")
    ledger.take(manifest(1, "a", "b"), outcome(waiting, None, 0), outcome(other, None, 0))
    ledger.change(work("10.1/late"), work("10.1/unrelated"), arrived=77)
    sent = ledger.background_tasks()
    (event,) = requested(sent).values()
    assert {each.topic for each in sent} == {"retries"}
    assert (event.reference, event.catalog_offset, event.woken, event.live) == (waiting, 1, 77, False)
    assert (event.citing, event.paper_version, event.arrived) == (CITING, 1, 10)
    assert sent[0].key == CITING.encode()
    assert sent[0].headers == event.headers()


def test_an_outcome_at_a_later_offset_is_not_re_evaluated(ledger: Ledger):
    item = reference("a", "10.1/late")
    ledger.change(work("10.1/late"))
    ledger.take(manifest(1, "a"), outcome(item, "doi:10.1/late", 1))
    assert not ledger.background_tasks()


def test_an_outcome_that_missed_a_propagated_change_is_re_evaluated_at_once(ledger: Ledger):
    ledger.change(work("10.1/late"), arrived=77)
    assert not ledger.background_tasks()
    sent = ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    assert len(published(sent)) == 1
    assert [(event.catalog_offset, event.woken) for event in requested(sent).values()] == [(1, 77)]
    assert not ledger.background_tasks()


def test_a_request_in_flight_is_not_repeated(ledger: Ledger):
    item = reference("a", "10.1/late")
    ledger.take(manifest(1, "a"), outcome(item, None, 0))
    ledger.change(
        work("10.1/unrelated"), work("10.1/late"), work("10.1/late", "corrected, with a long title"), work("10.1/behind")
    )
    (event,) = requested(ledger.background_tasks()).values()
    assert event.catalog_offset == 3, "the lowest offset that covers both changes"
    ledger.change(work("10.1/late", "corrected once more, with a long title"))
    assert list(requested(ledger.background_tasks())) == ["a"]  # the evaluation in flight may not include this change
    assert not ledger.background_tasks()


def test_a_reference_that_shares_a_key_but_cannot_cite_the_work_is_not_re_evaluated(new_ledger: NewLedger):
    """It has the volume and page of the work, but another year and title."""
    ledger = new_ledger()
    late = work("10.1/late", authors=("Smith",), year=2001, volume="7", fpage="9", title="On the shape of things to come")
    same = {"title": "On the shape of things to come", "last_names": ["Smith"], "year": 2001, "volume": "7", "first_page": "9"}
    names = {
        "citing": reference("citing", **same),
        "other": reference("other", **{**same, "title": "A long title of another subject", "year": 2005}),
    }
    ledger.take(manifest(1, *names), *(outcome(item, None, 0) for item in names.values()))
    ledger.change(late)
    keys = set(map(hashed, work_keys(late)))
    assert all(keys & set(map(hashed, reference_keys(item))) for item in names.values())
    assert list(requested(ledger.background_tasks())) == ["citing"]
    unfiltered = new_ledger(wake_probability=0)
    unfiltered.take(manifest(1, *names), *(outcome(item, None, 0) for item in names.values()))
    unfiltered.change(late)
    assert sorted(requested(unfiltered.background_tasks())) == sorted(names)


def test_a_request_for_an_older_text_does_not_cover_the_newer_text(new_ledger: NewLedger):
    """Propagation waits for permits while the paper is revised; the next change concerns the new text."""
    ledger = new_ledger(wakes_per_s=1)
    old, new = reference("a", "10.1/old"), reference("a", "10.1/new")
    ledger.take(manifest(1, "a", "b"), outcome(old, None, 0), outcome(reference("b", "10.1/old"), None, 0))
    ledger.change(work("10.1/old"), work("10.1/new"))
    assert len(requested(ledger.background_tasks())) == 1
    ledger.take(manifest(2, "a", "b"), outcome(new, None, 1, version=2), outcome(reference("b"), None, 1, version=2))
    found = {}
    for _ in range(3):
        ledger.now += 1
        found |= requested(ledger.background_tasks())
    assert found["a"].reference == new


@pytest.mark.parametrize("corrected", [work("10.1/a", "another title"), work("10.1/a", status="retracted")])
def test_a_corrected_work_re_evaluates_the_links_to_it(ledger: Ledger, corrected: Work):
    ledger.change(work("10.1/a"))
    ledger.take(manifest(1, "a"), outcome(reference("a", title="with no key in common"), "doi:10.1/a", 1))
    assert not ledger.background_tasks()
    ledger.change(corrected)
    assert list(requested(ledger.background_tasks())) == ["a"]


def test_an_unchanged_work_re_evaluates_nothing(ledger: Ledger):
    ledger.change(work("10.1/a"))
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/a"), "doi:10.1/a", 1))
    ledger.change(work("10.1/a"))
    assert not ledger.background_tasks()


def test_links_to_a_removed_work_are_withdrawn_at_once_and_re_evaluated(ledger: Ledger):
    ledger.change(work("10.1/a"))
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/a"), "doi:10.1/a", 1))
    assert not ledger.background_tasks()
    ledger.change("doi:10.1/a")
    sent = ledger.background_tasks()
    (link,) = published(sent)
    assert (link.link.cited, link.link.unresolved, link.catalog_offset) == (None, "withdrawn", 2)
    assert requested(sent)["a"].catalog_offset == 2
    # An outcome from before the withdrawal is late.
    assert not published(ledger.take(outcome(reference("a", "10.1/a"), "doi:10.1/a", 1)))
    assert ledger.links() == {"a": None}
    assert published(ledger.take(outcome(reference("a", "10.1/a"), None, 2)))[0].link.unresolved == "no-candidate"


def test_links_follow_the_canonical_id_when_works_merge(ledger: Ledger):
    ledger.change(work("10.1/b", ids={"doi": "10.1/b", "pmid": "5"}))
    ledger.take(manifest(1, "a"), outcome(reference("a", title="with no key in common"), "doi:10.1/b", 1, aliases=("pmid:5",)))
    assert not ledger.background_tasks()
    ledger.change(work("10.1/a", ids={"doi": "10.1/a", "pmid": "5"}))
    assert list(requested(ledger.background_tasks())) == ["a"]


def test_links_stay_when_an_alias_is_removed(ledger: Ledger):
    ledger.change(*(work(f"10.1/{name}", ids={"doi": f"10.1/{name}", "pmid": "5"}) for name in "ab"))
    ledger.take(
        manifest(1, "a"), outcome(reference("a", title="with no key in common"), "doi:10.1/a", 2, aliases=("doi:10.1/b",))
    )
    assert not ledger.background_tasks()
    ledger.change("doi:10.1/b")
    assert not published(ledger.background_tasks())


def test_a_paper_whose_newer_version_is_in_flight_is_not_re_evaluated(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0), manifest(2, "a"))
    ledger.change(work("10.1/late"))
    assert not ledger.background_tasks()
    # The outcome of the newer version missed the work too.
    assert list(requested(ledger.take(outcome(reference("a", "10.1/late"), None, 0, version=2)))) == ["a"]


def test_requests_are_limited_by_permits_and_none_is_lost(new_ledger: NewLedger):
    ledger = new_ledger(wakes_per_s=10)
    names = [f"{number:03}" for number in range(57)]
    ledger.take(manifest(1, *names), *(outcome(reference(name, "10.1/late"), None, 0) for name in names))
    ledger.change(work("10.1/other"), work("10.1/late"))
    found: list[str] = []
    for second in range(7):
        sent = requested(ledger.background_tasks())
        assert len(sent) <= 10
        found += sent
        ledger.now += 1
        if second == 3:  # as in another process, which has only the store
            ledger.stage._requested.clear()
    assert sorted(found) == names
    assert not ledger.background_tasks()


def test_the_position_of_propagation_survives_the_process(new_ledger: NewLedger):
    first = new_ledger()
    first.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    first.change(work("10.1/late"))
    output = first.stage.background_task()
    assert output is not None
    assert output.messages
    assert first.stage.background_task() == output  # an uncommitted task is offered again
    second = new_ledger()
    second.store.tables = first.store.tables
    second.catalog = second.stage.catalog = first.catalog
    assert list(requested(second.background_tasks())) == ["a"]
    third = new_ledger()
    third.store.tables, third.stage.catalog = second.store.tables, second.catalog
    assert not third.background_tasks()


def test_a_background_task_names_its_partitions(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    assert ledger.stage.background_task() is None
    ledger.change(work("10.1/late"))
    output = ledger.stage.background_task()
    assert output is not None
    assert output.partitions == {("outcomes", 0)}


def test_an_outcome_that_arrives_during_the_propagation_of_its_change_is_re_evaluated(new_ledger: NewLedger):
    """Propagation has already passed its reference, and the outcome missed the change."""
    ledger = new_ledger(wakes_per_s=20)
    names = [f"n{number:02}" for number in range(40)]
    ledger.take(manifest(1, *names, "a"), *(outcome(reference(name, "10.1/late"), None, 0) for name in names))
    ledger.change(work("10.1/late"))
    found = list(requested(ledger.background_tasks()))
    assert len(found) == 20
    found += requested(ledger.take(outcome(reference("a", "10.1/late"), None, 0)))
    for _ in range(3):
        ledger.now += 1
        found += requested(ledger.background_tasks())
    assert sorted(found) == ["a", *names]


def test_late_outcomes_do_not_multiply_requests(ledger: Ledger):
    """The linker is three changes behind, and the key changes all the time."""
    item = reference("a", "10.1/late")
    ledger.take(manifest(1, "a"), outcome(item, None, 0))
    in_flight: list[int] = []
    for number in range(30):
        ledger.change(work("10.1/late", f"version {number} of a long title"))
        in_flight += [event.catalog_offset for event in requested(ledger.background_tasks()).values()]
        if number > 2:
            sent = ledger.take(outcome(item, "doi:10.1/late", in_flight.pop(0)))
            in_flight += [event.catalog_offset for event in requested(sent).values()]
        assert len(in_flight) <= 4


def test_rows_of_a_newer_worker_are_skipped(ledger: Ledger):
    ledger.take(manifest(1, "a", "b"), *(outcome(reference(name, "10.1/late"), None, 0) for name in "ab"))
    newer = ledger.store.tables["manifests"][CITING].replace(b'"schema_version":1', b'"schema_version":2')
    ledger.store.tables["manifests"][CITING] = newer
    ledger.change(work("10.1/late"))
    assert not ledger.background_tasks()


def test_a_request_too_large_for_its_topic_is_skipped(ledger: Ledger):
    long, short = reference("a", "10.1/late", raw_text="x" * 1_999_900), reference("b", "10.1/late")
    ledger.take(manifest(1, "a", "b"), outcome(long, None, 0), outcome(short, None, 0))
    ledger.change(work("10.1/late"))
    assert list(requested(ledger.background_tasks())) == ["b"]
    assert ledger.decisions["too-large"] == 1


def test_a_year_or_a_version_of_hundreds_of_digits_is_accepted(ledger: Ledger, tmp_path: Path):
    huge = 10**400
    item = reference("a", "10.1/late", year=huge)
    ledger.take(manifest(2**70, "a"), outcome(item, None, 0, version=2**70))
    ledger.change(work("10.1/late", year=huge))
    assert list(requested(ledger.background_tasks())) == ["a"]
    assert keys_of(ledger.store.tables["links"][item.id])
    log = ChangeLog(tmp_path / "changes", topic_id=None, stale_after_s=1e9)
    for offset, what in enumerate((*[work("10.1/late", year=huge)] * 2, work("10.1/late"), "doi:10.1/late")):
        log.apply([(offset, 5, what)], offset + 1)
    assert [change.offset for change in log.changes(0, 9)] == [0, 2, 3]
    log.close()


def test_partitions_take_turns_when_permits_are_scarce(new_ledger: NewLedger):
    ledger = new_ledger(wakes_per_s=10)
    names = [f"{number:03}" for number in range(60)]
    ledger.take(manifest(1, *names), *(outcome(reference(name, "10.1/late"), None, 0) for name in names))
    for partition in range(1, 4):
        ledger.stage.stores[partition] = copy.deepcopy(ledger.store)  # type: ignore[assignment]
    ledger.change(work("10.1/late"))
    by_partition: Counter[int] = Counter()
    for _ in range(12):
        output = ledger.stage.background_task()
        assert output is not None
        by_partition.update(partition for partition, table, _ in output.writes if table == "requested")  # type: ignore[misc]
        ledger.stage.committed(output, {})
        ledger.now += 1
    assert set(by_partition) == {0, 1, 2, 3}


@pytest.mark.parametrize("offset", [0, 4, 5])
def test_an_outcome_older_than_the_log_is_re_evaluated(ledger: Ledger, offset: int):
    """What changed before the log begins is unknown."""
    ledger.change(*(work(f"10.1/{number}") for number in range(8)))
    assert not ledger.background_tasks()
    ledger.catalog.trim(5)
    sent = ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/other"), None, offset))
    found = [event.catalog_offset for event in requested(sent).values()]
    assert found == ([5] if offset < 5 else [])
    assert not requested(ledger.take(outcome(reference("a", "10.1/other"), None, 5)))


def test_an_outcome_is_re_evaluated_if_this_ledger_has_read_less_than_was_propagated(ledger: Ledger):
    """The partition came from a ledger that was further in the catalog."""
    ledger.change(work("10.1/late"), work("10.1/other"))
    assert not ledger.background_tasks()
    ledger.stage.catalog = MemoryChangeLog()
    sent = ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    assert [event.catalog_offset for event in requested(sent).values()] == [2]
    assert not requested(ledger.take(outcome(reference("a", "10.1/late"), None, 2)))


def test_a_work_with_an_identifier_of_the_cited_work_re_evaluates_the_links_to_it(ledger: Ledger):
    """The link names the other ids of its work, so the ledger need not know the work."""
    ledger.change(work("10.1/b", ids={"doi": "10.1/b", "pmid": "5"}), work("10.1/c", ids={"doi": "10.1/c", "pmid": "5"}))
    item = outcome(reference("a", title="with no key in common"), "doi:10.1/b", 2, aliases=("doi:10.1/c", "pmid:5"))
    ledger.take(manifest(1, "a"), item)
    ledger.change(work("10.1/d", ids={"doi": "10.1/d", "pmid": "6"}))
    assert not ledger.background_tasks()
    ledger.change(work("10.1/a", ids={"doi": "10.1/c"}))
    assert list(requested(ledger.background_tasks())) == ["a"]


def test_a_link_stays_while_another_work_has_the_removed_id_as_an_identifier(ledger: Ledger):
    ledger.change(work("10.1/a"), Work.from_dict({"id": "x:1", "ids": {"doi": "10.1/a"}}))
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/a"), "doi:10.1/a", 2, aliases=("x:1",), shared=True))
    ledger.change("doi:10.1/a")
    sent = ledger.background_tasks()
    assert not published(sent)
    assert requested(sent)["a"].catalog_offset == 3


def test_a_link_stays_if_its_work_left_and_returned(ledger: Ledger):
    ledger.change(work("10.1/a"))
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/a"), "doi:10.1/a", 1))
    ledger.change("doi:10.1/a", work("10.1/a", title="Another title of the work"))
    sent = ledger.background_tasks()
    assert not published(sent)
    assert requested(sent)["a"].catalog_offset == 3


def test_a_link_is_published_again_when_its_work_gains_an_identifier(ledger: Ledger):
    """Otherwise a store that is restored from the topic would not know the identifier."""
    item = reference("a", "10.1/a")
    ledger.take(manifest(1, "a"), outcome(item, "doi:10.1/a", 1))
    assert published(ledger.take(outcome(item, "doi:10.1/a", 2, aliases=("pmid:5",))))[0].aliases == ("pmid:5",)
    assert not published(ledger.take(outcome(item, "doi:10.1/a", 3, aliases=("pmid:5",))))

"""The ledger's output for single events, and the events that it rejects."""

from __future__ import annotations

import pytest

from reflink.entities import Work
from reflink.errors import BadRecord
from schemas import CatalogEvent, LinkEvent
from schemas.links import PaperState
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcomes
from workers.ledger.apply_outcomes import apply_outcomes
from workers.ledger.transaction import LedgerTransaction
from workers.ledger.view import LedgerEvent, LedgerView
from workers.records import Received
from workers.stage import Output

# Cases


def test_an_outcome_is_published_with_its_reference_and_a_header(ledger: Ledger):
    ledger.take(manifest(1, "a", "b"))
    linked, unresolved = ledger.take(outcomes(1, 5, {"a": "doi:10.1/x", "b": None}))
    assert linked.key == f"{CITING}#a".encode()
    assert linked.partition_key == CITING.encode()
    assert linked.headers == (("reflink-outcome", b"linked"),)
    assert unresolved.headers == (("reflink-outcome", b"unresolved"),)
    event = LinkEvent.from_json(linked.value or b"")
    assert (event.paper_version, event.catalog_offset, event.judged, event.arrived) == (1, 5, 11, 10)
    assert event.reference.raw_text == "text of a"
    assert ledger.decisions == {"published": 2}


def test_an_equal_outcome_is_not_republished_but_raises_the_offset(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcomes(1, 5, {"a": "doi:10.1/x"}))
    assert ledger.take(outcomes(1, 9, {"a": "doi:10.1/x"})) == []
    assert ledger.take(outcomes(1, 7, {"a": "doi:10.1/y"})) == []
    assert ledger.decisions == {"published": 1, "unchanged": 1, "late": 1}
    assert ledger.links() == {"a": "doi:10.1/x"}


def test_a_repeated_manifest_is_not_republished(ledger: Ledger):
    ledger.take(manifest(1, "a"))
    assert ledger.take(manifest(1, "a")) == []


def test_a_newer_version_removes_only_the_references_that_it_lacks(ledger: Ledger):
    ledger.take(manifest(1, "a", "b"), outcomes(1, 5, {"a": "x:1", "b": "x:2"}))
    gone, state = ledger.take(manifest(2, "b", "c"))
    assert (gone.topic, gone.key, gone.value, gone.partition_key) == ("links", f"{CITING}#a".encode(), None, CITING.encode())
    assert (state.topic, state.key) == ("manifests", CITING.encode())
    assert PaperState.from_json(state.value or b"").paper_version == 2
    assert ledger.links() == {"b": "x:2"}
    assert ledger.decisions["gone"] == 1


def test_a_reference_that_was_never_published_needs_no_tombstone(ledger: Ledger):
    ledger.take(manifest(1, "a"))
    assert [message.topic for message in ledger.take(manifest(2))] == ["manifests"]


def test_a_withdrawn_paper_removes_its_links_and_late_outcomes_do_not_restore_them(ledger: Ledger):
    ledger.take(manifest(1, "a", "b"), outcomes(1, 5, {"a": "x:1", "b": None}))
    ledger.take(manifest(2, withdrawn=True))
    assert ledger.links() == {}
    assert ledger.take(outcomes(1, 99, {"a": "x:3"})) == []
    assert ledger.decisions["late"] == 1
    state = PaperState.from_json(ledger.compacted("manifests")[CITING])
    assert (state.withdrawn, state.references) == (True, ())


def test_an_older_manifest_is_late(ledger: Ledger):
    ledger.take(manifest(2, "a"), outcomes(2, 1, {"a": "x:1"}))
    assert ledger.take(manifest(1, "b")) == []
    assert ledger.decisions["late"] == 1
    assert ledger.links() == {"a": "x:1"}


def test_papers_are_independent(ledger: Ledger):
    other = "doi:10.5555/other"
    ledger.take(manifest(1, "a"), manifest(1, "a", citing=other))
    ledger.take(outcomes(1, 1, {"a": "x:1"}), outcomes(1, 1, {"a": "x:2"}, citing=other))
    ledger.take(manifest(2, withdrawn=True))
    assert [*ledger.compacted("links")] == [f"{other}#a"]


def test_an_outcome_without_a_manifest_is_published(ledger: Ledger):
    assert len(ledger.take(outcomes(1, 1, {"a": "x:1"}))) == 1


def test_catalog_events_have_no_output(ledger: Ledger):
    assert ledger.handle([]) == Output()
    assert ledger.stage.handle([LedgerEvent(0, None)], LedgerView(ledger.stage.stores, ledger.stage.catalog)) == Output()


def test_handling_changes_no_store(ledger: Ledger):
    ledger.handle([manifest(1, "a"), outcomes(1, 1, {"a": "x:1"})])
    assert not any(ledger.store.tables.values())


def test_arrivals_are_observed_only_for_published_outcomes(ledger: Ledger):
    output = Output()
    for version in (1, 2):
        view = LedgerView(ledger.stage.stores, ledger.stage.catalog)
        apply_outcomes(outcomes(3, version, {"a": "x:1"}), LedgerTransaction(0, view, output))
    assert output.observed.arrivals == [(30, True)]


# Decoding


WORK = CatalogEvent(schema_version=1, work=Work(id="doi:10.1/a")).to_json()


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (b"doi:10.1/a", WORK, None),
        (b"doi:10.1/a", None, None),
        (b"doi:10.1/a", CatalogEvent(schema_version=1, withdrawn="gone").to_json(), None),
        (None, None, "key must be a work id"),
        (None, WORK, "key must be a work id"),
        (b"doi:10.1/b", WORK, "the key is"),
        (b"doi:10.1/a", b"{}", "schema_version"),
        (b"doi:10.1/a", b"", "CatalogEvent"),
    ],
)
def test_catalog_events_are_checked(ledger: Ledger, key: bytes | None, value: bytes | None, problem: str | None):
    record = Received("catalog", 0, 4, key, value, (), 0)
    if problem is None:
        assert ledger.stage.decode(record) == LedgerEvent(0, None)
    else:
        with pytest.raises(BadRecord, match=problem):
            ledger.stage.decode(record)


def test_a_decoded_outcome_has_its_partition(ledger: Ledger):
    event = manifest(1, "a")
    record = Received("outcomes", 7, 0, CITING.encode(), event.to_json(), (), 0)
    assert ledger.stage.decode(record) == LedgerEvent(7, event)
    with pytest.raises(BadRecord):
        ledger.stage.decode(Received("outcomes", 7, 0, None, None, (), 0))

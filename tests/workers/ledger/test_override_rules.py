"""Overrides: a curator's decision outranks every outcome, in whatever order they arrive, until it is removed."""

from __future__ import annotations

from itertools import permutations

import pytest

from schemas import OverrideEvent
from tests.workers.ledger.conftest import NewLedger
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcome, pinned, published, reference, requested, work

ITEM = reference("a", "10.1/a")


def override(**decision: object) -> OverrideEvent:
    return OverrideEvent.from_dict(
        {"schema_version": 1, "reference": ITEM.id, "reason": "read it", "at": 3, "by": "me", **decision}
    )


PINNED, NOTHING = override(pinned="doi:10.1/z"), override(nothing=True)


@pytest.mark.parametrize(("event", "cited"), [(PINNED, "doi:10.1/z"), (NOTHING, None)])
def test_an_override_is_published_in_every_order_of_arrival(new_ledger: NewLedger, event: OverrideEvent, cited: str | None):
    for order in permutations(("manifest", "outcome", "override")):
        ledger = new_ledger()
        for step in order:
            if step == "override":
                ledger.override(event)
                ledger.background_tasks()
            else:
                ledger.take(manifest(1, "a") if step == "manifest" else outcome(ITEM, "doi:10.1/a", 0))
        assert ledger.links() == {"a": cited}
        link = published(ledger.log)[-1]
        assert link.curated is not None
        assert (link.curated.reason, link.curated.by, link.curated.at) == ("read it", "me", 3)
        assert link.link.method == ("curator" if cited else None)
        # An outcome at a later offset changes nothing.
        assert not published(ledger.take(outcome(ITEM, "doi:10.1/b", 9)))


def test_a_pinned_link_has_the_status_and_the_canonical_id_of_the_work(ledger: Ledger):
    """The ledger names the work at once as the curator did; a linker returns the rest, again after each change of the work."""
    ledger.take(manifest(1, "a"), outcome(ITEM, None, 0))
    ledger.change(work("10.1/z", status="retracted", ids={"doi": "10.1/z", "pmid": "5"}))
    ledger.override(PINNED)
    sent = ledger.background_tasks()
    assert [event.link.cited for event in published(sent)] == ["doi:10.1/z"]
    assert requested(sent)["a"].pinned == "doi:10.1/z"
    sent = ledger.take(pinned(ITEM, "doi:10.1/z", "doi:10.1/z", 1, "retracted", aliases=("pmid:5",)))
    assert published(sent)[-1].link.status == "retracted"
    assert not requested(sent)
    ledger.change(work("10.1/b", ids={"doi": "10.1/b", "pmid": "5"}))
    assert requested(ledger.background_tasks())["a"].pinned == "doi:10.1/z"
    ledger.take(pinned(ITEM, "doi:10.1/z", "doi:10.1/b", 2, aliases=("doi:10.1/z", "pmid:5")))
    assert ledger.links() == {"a": "doi:10.1/b"}
    # An outcome that missed the pin changes nothing, and is evaluated again.
    sent = ledger.take(outcome(ITEM, "doi:10.1/a", 3))
    assert not published(sent)
    assert requested(sent)["a"].pinned == "doi:10.1/z"
    ledger.change("doi:10.1/b", "doi:10.1/z")  # a pin stays when the work is removed
    assert not published(sent := ledger.background_tasks())
    assert requested(sent)["a"].pinned == "doi:10.1/z"
    ledger.take(pinned(ITEM, "doi:10.1/z", "doi:10.1/z", 4))
    assert ledger.links() == {"a": "doi:10.1/z"}


def test_an_answer_for_a_pin_that_no_longer_holds_is_late(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(PINNED)
    ledger.background_tasks()
    ledger.override(override(pinned="doi:10.1/y"))
    ledger.background_tasks()
    assert not published(ledger.take(pinned(ITEM, "doi:10.1/z", "doi:10.1/b", 5)))
    ledger.override(None, ITEM.id)
    assert requested(ledger.background_tasks())["a"].pinned is None
    assert not published(ledger.take(pinned(ITEM, "doi:10.1/y", "doi:10.1/y", 6)))


def test_a_forbidden_link_is_withdrawn_at_once_and_the_reference_re_evaluated(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(override(forbidden=["doi:10.1/a"]))
    sent = ledger.background_tasks()
    assert [(event.link.cited, event.link.unresolved) for event in published(sent)] == [(None, "forbidden")]
    assert requested(sent)["a"].forbidden == ("doi:10.1/a",)
    # Outcomes that missed the override arrive meanwhile, at a later offset than the requested one.
    event = requested(ledger.take(outcome(ITEM, "doi:10.1/a", 4)))["a"]
    assert (event.forbidden, event.catalog_offset) == (("doi:10.1/a",), 4)
    assert not requested(ledger.take(outcome(ITEM, "doi:10.1/a", 4)))  # that request is in flight
    assert ledger.links() == {"a": None}
    ledger.take(outcome(ITEM, "doi:10.1/second", 4, forbidden=("doi:10.1/a",)))
    assert ledger.links() == {"a": "doi:10.1/second"}
    assert not ledger.background_tasks()


def test_an_unresolved_outcome_that_missed_the_override_is_re_evaluated(ledger: Ledger):
    """Its reasons and its probability are those of the forbidden work."""
    ledger.override(override(forbidden=["doi:10.1/a"]))
    assert requested(ledger.take(manifest(1, "a"), outcome(ITEM, None, 0)))["a"].forbidden == ("doi:10.1/a",)
    assert not requested(ledger.take(outcome(ITEM, None, 0, forbidden=("doi:10.1/a",))))


def test_an_outcome_that_applied_the_override_outranks_one_that_missed_it(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(override(forbidden=["doi:10.1/a"]))
    ledger.background_tasks()
    ledger.take(outcome(ITEM, "doi:10.1/second", 4, forbidden=("doi:10.1/a",)))
    sent = ledger.take(outcome(ITEM, "doi:10.1/a", 4))
    assert not published(sent)
    assert not requested(sent)
    assert ledger.links() == {"a": "doi:10.1/second"}


def test_a_removed_override_requests_at_least_the_offset_of_the_outcome(ledger: Ledger):
    """The linker may be ahead of the works that the ledger knows."""
    ledger.override(PINNED)
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 10))
    ledger.override(None, ITEM.id)
    assert requested(ledger.background_tasks())["a"].catalog_offset == 10


def test_an_alias_of_a_forbidden_work_is_forbidden(ledger: Ledger):
    ledger.change(*(work(f"10.1/{name}", ids={"doi": f"10.1/{name}", "pmid": "5"}) for name in "ab"))
    ledger.override(override(forbidden=["doi:10.1/b"]))
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 2, aliases=("doi:10.1/b", "pmid:5")))
    assert ledger.links() == {"a": None}


@pytest.mark.parametrize("event", [PINNED, NOTHING, override(forbidden=["doi:10.1/a"])])
def test_a_removed_override_re_evaluates_the_reference(ledger: Ledger, event: OverrideEvent):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(event)
    ledger.background_tasks()
    ledger.change(work("10.1/other"))
    ledger.override(None, ITEM.id)
    (again,) = requested(ledger.background_tasks()).values()
    assert (again.forbidden, again.pinned, again.catalog_offset) == ((), None, 1)
    # An outcome that applied the removed override is late.
    if event.forbidden:
        assert not published(ledger.take(outcome(ITEM, None, 7, forbidden=event.forbidden)))
    ledger.take(outcome(ITEM, "doi:10.1/a", 1))
    assert ledger.links() == {"a": "doi:10.1/a"}
    assert published(ledger.log)[-1].curated is None


def test_the_last_of_several_overrides_counts_and_is_stored(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(NOTHING)
    ledger.override(PINNED)
    sent = ledger.background_tasks()
    assert [event.link.cited for event in published(sent)] == ["doi:10.1/z"]
    assert ledger.store.offsets["overrides"] == 2
    assert ledger.store.tables["overrides"] == {ITEM.id: PINNED.to_json()}


def test_an_override_that_differs_only_in_its_decision_counts(ledger: Ledger):
    """As when a list of overrides is edited and applied again."""
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(PINNED)
    ledger.background_tasks()
    ledger.override(override(pinned="doi:10.1/y"))
    assert [event.link.cited for event in published(ledger.background_tasks())] == ["doi:10.1/y"]
    for works in (["doi:10.1/a"], ["doi:10.1/b"]):
        ledger.override(override(forbidden=works))
        assert requested(ledger.background_tasks())["a"].forbidden == tuple(works)
        ledger.take(outcome(ITEM, "doi:10.1/c", 0, forbidden=tuple(works)))


def test_a_link_to_a_removed_work_is_withdrawn_although_an_override_forbids_another_work(ledger: Ledger):
    ledger.change(work("10.1/a"))
    ledger.override(override(forbidden=["doi:10.1/b"]))
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 1, forbidden=("doi:10.1/b",)))
    ledger.change("doi:10.1/a")
    assert [event.link.unresolved for event in published(ledger.background_tasks())] == ["withdrawn"]


def test_a_forbidden_work_that_merges_with_the_cited_work_re_evaluates_the_reference(ledger: Ledger):
    ledger.change(work("10.1/a"), work("10.1/z"))
    ledger.override(override(forbidden=["doi:10.1/z"]))
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 2, forbidden=("doi:10.1/z",)))
    assert not ledger.background_tasks()
    ledger.change(work("10.1/z", ids={"doi": "10.1/a"}))
    assert list(requested(ledger.background_tasks())) == ["a"]


def test_a_rebuilt_store_knows_which_override_an_outcome_applied(ledger: Ledger):
    event = override(forbidden=["doi:10.1/z"])
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(event)
    ledger.background_tasks()
    ledger.take(outcome(ITEM, "doi:10.1/a", 0, forbidden=event.forbidden))
    ledger.rebuild()
    ledger.override(event)
    assert not ledger.background_tasks()


def test_an_invalid_override_becomes_a_dead_letter_and_the_next_one_applies(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.override(override(pinned="x:1"), f"{CITING}#b")
    ledger.override(override(pinned="x:1", reason="r" * 20_000))
    ledger.override(PINNED)
    sent = ledger.background_tasks()
    first, second = (dict(each.headers)["reflink-message"] for each in sent if each.topic == "dead-letters")
    assert b"its key is" in first
    assert b"the limit is 16,000" in second
    assert ledger.links() == {"a": "doi:10.1/z"}
    assert ledger.store.offsets["overrides"] == 3

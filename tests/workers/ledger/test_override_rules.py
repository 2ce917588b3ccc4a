"""Overrides: a curator's word wins over every judgement, whichever comes first, until it is lifted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from schemas import OverrideEvent
from tests.workers.ledger.ledgered import CITING, Ledger, asked, manifest
from tests.workers.ledger.test_change_propagation import outcome, published, reference, work
from workers.config.settings import LedgerSettings

ITEM = reference("a", "10.1/a")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path)
    yield ledger
    ledger.stage.close()


def override(**said: object) -> OverrideEvent:
    return OverrideEvent.from_dict(
        {"schema_version": 1, "reference": ITEM.id, "reason": "read it", "at": 3, "by": "me", **said}
    )


PINNED, NOTHING = override(pinned="doi:10.1/z"), override(nothing=True)


@pytest.mark.parametrize(("said", "cited"), [(PINNED, "doi:10.1/z"), (NOTHING, None)])
def test_in_whatever_order_they_come_the_override_is_what_is_published(tmp_path: Path, said: OverrideEvent, cited: str | None):
    for order in permutations(("manifest", "outcome", "override")):
        ledger = Ledger(tmp_path)
        for step in order:
            if step == "override":
                ledger.say(said)
                ledger.background_tasks()
            else:
                ledger.take(manifest(1, "a") if step == "manifest" else outcome(ITEM, "doi:10.1/a", 0))
        assert ledger.links() == {"a": cited}
        link = published(ledger.log)[-1]
        assert link.curated is not None
        assert (link.curated.reason, link.curated.by, link.curated.at) == ("read it", "me", 3)
        assert link.link.method == ("curator" if cited else None)
        # Judged again, at a later offset: nothing to publish.
        assert not published(ledger.take(outcome(ITEM, "doi:10.1/b", 9)))
        ledger.stage.close()


def test_a_pin_shows_the_works_status_and_moves_with_it(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, None, 0))
    ledger.change(work("10.1/z", status="retracted", ids={"doi": "10.1/z", "pmid": "5"}))
    ledger.say(PINNED)
    assert published(ledger.background_tasks())[-1].link.status == "retracted"
    ledger.change(work("10.1/b", ids={"doi": "10.1/b", "pmid": "5"}))
    sent = ledger.background_tasks()
    assert [event.link.cited for event in published(sent)] == ["doi:10.1/b"]
    assert not asked(sent)
    ledger.change("doi:10.1/b", "doi:10.1/z")  # a pin stays, whatever becomes of the work
    ledger.background_tasks()
    assert ledger.links() == {"a": "doi:10.1/z"}


def test_a_forbidden_link_goes_at_once_and_the_rest_of_the_catalog_is_asked(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.say(override(forbidden=["doi:10.1/a"]))
    sent = ledger.background_tasks()
    assert [(event.link.cited, event.link.unresolved) for event in published(sent)] == [(None, "forbidden")]
    assert asked(sent)["a"].forbidden == ("doi:10.1/a",)
    # Ones judged without knowing come in between, at a later offset than was asked for.
    event = asked(ledger.take(outcome(ITEM, "doi:10.1/a", 4)))["a"]
    assert (event.forbidden, event.catalog_offset) == (("doi:10.1/a",), 4)
    assert not asked(ledger.take(outcome(ITEM, "doi:10.1/a", 4)))  # that one is on its way
    assert ledger.links() == {"a": None}
    ledger.take(outcome(ITEM, "doi:10.1/second", 4, forbidden=("doi:10.1/a",)))
    assert ledger.links() == {"a": "doi:10.1/second"}
    assert not ledger.background_tasks()


def test_what_was_found_without_knowing_that_it_is_forbidden_is_judged_again(ledger: Ledger):
    """Though it links to nothing: its reasons and its probability are those of the forbidden work."""
    ledger.say(override(forbidden=["doi:10.1/a"]))
    assert asked(ledger.take(manifest(1, "a"), outcome(ITEM, None, 0)))["a"].forbidden == ("doi:10.1/a",)
    assert not asked(ledger.take(outcome(ITEM, None, 0, forbidden=("doi:10.1/a",))))


def test_a_judgement_that_did_not_know_what_is_forbidden_yields_to_one_that_did(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.say(override(forbidden=["doi:10.1/a"]))
    ledger.background_tasks()
    ledger.take(outcome(ITEM, "doi:10.1/second", 4, forbidden=("doi:10.1/a",)))
    sent = ledger.take(outcome(ITEM, "doi:10.1/a", 4))
    assert not published(sent)
    assert not asked(sent)
    assert ledger.links() == {"a": "doi:10.1/second"}


def test_what_is_lifted_is_judged_at_no_older_offset(ledger: Ledger):
    """The linker may be ahead of the works that the ledger knows."""
    ledger.say(PINNED)
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 10))
    ledger.say(None, ITEM.id)
    assert asked(ledger.background_tasks())["a"].catalog_offset == 10


def test_an_alias_of_a_forbidden_work_is_forbidden(ledger: Ledger):
    ledger.change(*(work(f"10.1/{name}", ids={"doi": f"10.1/{name}", "pmid": "5"}) for name in "ab"))
    ledger.say(override(forbidden=["doi:10.1/b"]))
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 2))
    assert ledger.links() == {"a": None}


@pytest.mark.parametrize("said", [PINNED, NOTHING, override(forbidden=["doi:10.1/a"])])
def test_what_is_lifted_is_judged_again(ledger: Ledger, said: OverrideEvent):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.say(said)
    ledger.background_tasks()
    ledger.change(work("10.1/other"))
    ledger.say(None, ITEM.id)
    assert asked(ledger.background_tasks())["a"].forbidden == ()
    assert asked(ledger.log[-1:])["a"].catalog_offset == 1
    # A judgement that was made under it comes late.
    if said.forbidden:
        assert not published(ledger.take(outcome(ITEM, None, 7, forbidden=said.forbidden)))
    ledger.take(outcome(ITEM, "doi:10.1/a", 1))
    assert ledger.links() == {"a": "doi:10.1/a"}
    assert published(ledger.log)[-1].curated is None


def test_of_several_the_last_one_counts_and_the_store_keeps_it(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.say(NOTHING)
    ledger.say(PINNED)
    sent = ledger.background_tasks()
    assert [event.link.cited for event in published(sent)] == ["doi:10.1/z"]
    assert ledger.store.offsets["overrides"] == 2
    assert ledger.store.tables["overrides"] == {ITEM.id: PINNED.to_json()}


def test_one_that_differs_in_nothing_but_what_it_says_counts(ledger: Ledger):
    """As when a list of overrides is edited and applied again."""
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.say(PINNED)
    ledger.background_tasks()
    ledger.say(override(pinned="doi:10.1/y"))
    assert [event.link.cited for event in published(ledger.background_tasks())] == ["doi:10.1/y"]
    for works in (["doi:10.1/a"], ["doi:10.1/b"]):
        ledger.say(override(forbidden=works))
        assert asked(ledger.background_tasks())["a"].forbidden == tuple(works)
        ledger.take(outcome(ITEM, "doi:10.1/c", 0, forbidden=tuple(works)))


def test_under_an_override_that_forbids_another_work_links_to_a_gone_one_go_at_once(ledger: Ledger):
    ledger.change(work("10.1/a"))
    ledger.say(override(forbidden=["doi:10.1/b"]))
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 1, forbidden=("doi:10.1/b",)))
    ledger.change("doi:10.1/a")
    assert [event.link.unresolved for event in published(ledger.background_tasks())] == ["withdrawn"]


def test_a_forbidden_work_that_becomes_one_with_the_cited_one_is_noticed(ledger: Ledger):
    ledger.change(work("10.1/a"), work("10.1/z"))
    ledger.say(override(forbidden=["doi:10.1/z"]))
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 2, forbidden=("doi:10.1/z",)))
    assert not ledger.background_tasks()
    ledger.change(work("10.1/z", ids={"doi": "10.1/a"}))
    assert list(asked(ledger.background_tasks())) == ["a"]


def test_what_was_judged_under_it_is_known_to_a_rebuilt_store(ledger: Ledger):
    said = override(forbidden=["doi:10.1/z"])
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.say(said)
    ledger.background_tasks()
    ledger.take(outcome(ITEM, "doi:10.1/a", 0, forbidden=said.forbidden))
    ledger.rebuild()
    ledger.say(said)
    assert not ledger.background_tasks()


def test_an_override_that_is_none_becomes_a_dead_letter_and_the_next_one_holds(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    ledger.say(override(pinned="x:1"), f"{CITING}#b")
    ledger.say(override(pinned="x:1", reason="r" * 20_000))
    ledger.say(PINNED)
    sent = ledger.background_tasks()
    first, second = (dict(each.headers)["reflink-message"] for each in sent if each.topic == "dead-letters")
    assert b"its key is" in first
    assert b"the limit is 16,000" in second
    assert ledger.links() == {"a": "doi:10.1/z"}
    assert ledger.store.offsets["overrides"] == 3


def test_a_rebuilt_store_heeds_what_was_said_before(tmp_path: Path):
    ledger = Ledger(tmp_path, **LedgerSettings(state_dir=tmp_path).model_dump(include={"wakes_per_s"}))
    ledger.say(PINNED)
    ledger.background_tasks()
    ledger.take(manifest(1, "a"), outcome(ITEM, "doi:10.1/a", 0))
    assert ledger.links() == {"a": "doi:10.1/z"}
    ledger.stage.close()

"""Revisions of a paper: unchanged links are not republished, and the catalog has only the newest version."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Link, RelatedWork, VersionRelation, Work
from schemas import CatalogEvent, ManifestEvent, OutcomesEvent
from schemas.links import PaperState
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcome, published, reference, requested, work
from workers.records import Message

ITEM = reference("a", "10.1/a")


def states(messages: list[Message]) -> list[PaperState]:
    return [PaperState.from_json(each.value or b"") for each in messages if each.topic == "manifests"]


def test_a_revision_that_changes_nothing_publishes_no_link(ledger: Ledger):
    ledger.take(manifest(1, "a", "b"), outcome(ITEM, "doi:10.1/a", 3))
    sent = ledger.take(manifest(2, "b", "a"), outcome(ITEM, "doi:10.1/a", 5, version=2))
    assert not published(sent)
    assert [state.kept for state in states(sent)] == [(), (1,)]
    assert ledger.decisions["unchanged"] == 1


def test_a_reference_that_only_moved_is_not_published_again(ledger: Ledger):
    moved = ITEM.model_copy(update={"position": 7, "label": "7."})
    ledger.take(manifest(1, "b", "a"), outcome(ITEM, "doi:10.1/a", 3))
    assert not published(ledger.take(manifest(2, "a"), outcome(moved, "doi:10.1/a", 5, version=2)))
    # An outcome at its former position counts.
    assert published(ledger.take(outcome(ITEM, "doi:10.1/b", 9, version=1)))


@pytest.mark.parametrize("rebuilt", [False, True])
def test_an_outcome_of_the_older_version_counts_if_the_text_is_the_same(ledger: Ledger, rebuilt: bool):
    """A replay requests the published version, and the store may have been rebuilt meanwhile."""
    ledger.take(manifest(1, "a"), outcome(ITEM, None, 3), manifest(2, "a"), outcome(ITEM, None, 4, version=2))
    if rebuilt:
        ledger.rebuild()
    (link,) = published(ledger.take(outcome(ITEM, "doi:10.1/a", 9, version=1)))
    assert (link.link.cited, link.paper_version) == ("doi:10.1/a", 2)


def test_a_kept_reference_is_re_evaluated_from_a_rebuilt_store(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, None, 0), manifest(2, "a"), outcome(ITEM, None, 0, version=2))
    ledger.rebuild()
    ledger.change(work("10.1/a"))
    assert requested(ledger.background_tasks())["a"].paper_version == 2


def test_an_outcome_of_the_older_text_is_late(ledger: Ledger):
    changed = reference("a", "10.1/a", title="changed")
    ledger.take(manifest(1, "a"), outcome(ITEM, None, 3), manifest(2, "a"), outcome(changed, None, 4, version=2))
    assert not published(ledger.take(outcome(ITEM, "doi:10.1/a", 9, version=1)))
    assert ledger.decisions["late"] == 1


def test_an_older_outcome_is_late_before_the_newer_version_has_an_outcome(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(ITEM, None, 3), manifest(2, "a"))
    assert not published(ledger.take(outcome(ITEM, "doi:10.1/a", 9, version=1)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations([(version, offset) for version in (1, 2) for offset in (1, 2, 3)]), st.booleans())
def test_the_outcome_at_the_highest_offset_counts_for_an_unchanged_text(
    ledger: Ledger, order: list[tuple[int, int]], rebuilt: bool
):
    """In every order of arrival, after the first outcome of the newest version."""
    ledger.reset()
    ledger.take(manifest(1, "a"), manifest(2, "a"))
    for version, offset in order:
        ledger.take(outcome(ITEM, f"doi:10.1/{offset}", offset, version))
        if rebuilt:
            ledger.rebuild()
    counted = [
        offset for position, (version, offset) in enumerate(order) if version == 2 or max(order[:position] or [(0, 0)]) > (2, 0)
    ]
    assert ledger.links() == {"a": f"doi:10.1/{max(counted)}"}


def offered(version: int, what: Work | None) -> ManifestEvent:
    return manifest(version, withdrawn=what is None).model_copy(update={"offered": True, "work": what})


def entries(messages: list[Message]) -> list[Work | str | None]:
    events = [each.value and CatalogEvent.from_json(each.value) for each in messages if each.topic == "catalog"]
    return [event and (event.work or event.withdrawn) for event in events]


def test_the_newest_version_of_a_paper_is_entered_in_the_catalog_and_a_late_older_one_is_not(ledger: Ledger):
    first, second = (Work(id=CITING, ids=Ids(doi="10.5555/citing"), title=title) for title in ("first", "second"))
    sent = ledger.take(offered(2, second), offered(1, first))
    assert entries(sent) == [second]
    assert [each.key for each in sent if each.topic == "catalog"] == [CITING.encode()]
    better = second.model_copy(update={"year": 2020})
    again = ledger.take(offered(2, better))  # the same version, parsed anew
    assert entries(again) == [better]
    assert not states(again)


def test_a_withdrawn_paper_is_removed_from_the_catalog_with_its_reason_and_its_links(ledger: Ledger):
    paper = Work(id=CITING, title="a paper")
    there = manifest(1, "a").model_copy(update={"offered": True, "work": paper})
    ledger.take(there, outcome(ITEM, "doi:10.1/a", 3))
    sent = ledger.take(offered(2, None))
    assert entries(sent) == ["its source withdrew the paper", None]
    assert [(each.key, each.value) for each in sent if each.topic == "links"] == [(ITEM.id.encode(), None)]
    assert not entries(ledger.take(there))


def test_a_paper_that_is_not_offered_is_not_entered_in_the_catalog(ledger: Ledger):
    assert not entries(ledger.take(manifest(1, "a"), manifest(2, withdrawn=True)))


@pytest.mark.parametrize(
    ("field", "value", "differs"),
    [
        ("probability", 0.905, False),
        ("probability", 0.93, True),
        ("score", 0.1, False),
        ("status", "retracted", True),
        ("cited", "doi:10.1/b", True),
        ("method", "place", True),
        ("reasons", ("same-title",), False),
    ],
)
def test_an_outcome_is_published_if_it_differs_in_a_published_field(ledger: Ledger, field: str, value: object, differs: bool):
    def applied(offset: int, **changed: object) -> list[Message]:
        event = outcome(ITEM, "doi:10.1/a", offset)
        link = {**event.items[0].link.to_dict(), "probability": 0.9, "score": 1.0, **changed}
        item = event.items[0].model_copy(update={"link": Link.from_dict(link)})
        return ledger.take(event.model_copy(update={"items": (item,)}))

    ledger.take(manifest(1, "a"))
    applied(1)
    assert bool(published(applied(2, **{field: value}))) == differs
    row = orjson.loads(ledger.store.tables["links"][ITEM.id])
    assert row["catalog_offset"] == 2  # stored whether it is published or not


def of_version(work_id: str, offset: int, relation: VersionRelation = "version-of") -> OutcomesEvent:
    """Return an outcome that names another version of the cited work."""
    event = outcome(ITEM, None, offset)
    version = {"unresolved": "other-version", "related": RelatedWork(work=work_id, relation=relation)}
    item = event.items[0].model_copy(update={"link": event.items[0].link.model_copy(update=version)})
    return event.model_copy(update={"items": (item,)})


def test_an_outcome_with_another_version_or_relation_is_published(ledger: Ledger):
    ledger.take(manifest(1, "a"), of_version("doi:10.9/v", 3))
    assert not published(ledger.take(of_version("doi:10.9/v", 4)))
    assert published(ledger.take(of_version("doi:10.9/v", 5, "update-of")))
    assert published(ledger.take(of_version("doi:10.9/w", 6)))


def test_an_outcome_is_re_evaluated_when_its_version_or_the_cited_work_changes(ledger: Ledger):
    version = work("10.9/v", title="Nothing in common with the reference")
    ledger.change(version)
    ledger.take(manifest(1, "a"), of_version(version.id, 1))
    ledger.background_tasks()
    ledger.change(work("10.9/other", title="Another work without a common key"))
    assert not requested(ledger.background_tasks())
    ledger.change(version.id)
    assert set(requested(ledger.background_tasks())) == {"a"}

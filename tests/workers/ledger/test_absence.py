"""The ledger counts each live outcome once, publishes tallies, and the owner of partition 0 publishes the shares."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from reflink.entities import Link
from reflink.linking.shares import MIN_OF_ALL, Seen, Shares, Tally
from schemas import Outcome, OutcomesEvent
from schemas.absence import SharesEvent, TallyEvent, read_absence
from tests.workers.ledger.conftest import NewLedger
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcomes, reference
from workers.ledger import absence
from workers.records import Message

MANY = {f"r{number}": None for number in range(600)}


def judged(names: list[str], probability: float, offset: int = 1, citing: str = CITING, **event: Any) -> OutcomesEvent:
    """Return the outcomes of a paper, all with this probability of the best candidate."""
    items = []
    for name in names:
        item = reference(name).model_copy(update={"id": f"{citing}#{name}", "citing": citing})
        link = Link(reference=item.id, citing=citing, cited=None, probability=probability, unresolved="not-in-catalog")
        items.append(Outcome(reference=item, link=link))
    made = outcomes(1, offset, {}, citing)
    return made.model_copy(update={"items": tuple(items), **event})


def tally(ledger: Ledger) -> Tally:
    row = ledger.store.get("progress", absence.TALLY)
    return Tally.from_dict(orjson.loads(row)[1]) if row else Tally()


def sent(messages: list[Message]) -> list[Any]:
    return [read_absence(each.key, each.value or b"") for each in messages if each.topic == "absence"]


def known(ledger: Ledger, seen: Tally) -> None:
    """Let the ledger read a tally from the topic."""
    ledger.stage.absence.follower.tallies[3] = seen
    ledger.stage.absence.follower.version += 1


def test_an_outcome_counts_with_the_probability_that_its_work_is_absent(ledger: Ledger):
    ledger.take(manifest(1, "a", "b"), judged(["a", "b"], 0.25))
    seen = tally(ledger).sources["10.5555"]
    assert seen.weight == pytest.approx(2, abs=0.01)
    assert seen.absent == pytest.approx(1.5, abs=0.01)


def test_an_outcome_counts_by_its_odds_at_equal_shares(new_ledger: NewLedger):
    """The same evidence, decided under another share, counts the same."""
    found = []
    for absent, probability in ((0.5, 0.25), (0.8, 1 / 13)):  # odds 1/3 and a quarter of that
        ledger = new_ledger()
        ledger.take(manifest(1, "a"), judged(["a"], probability, absent=absent))
        found.append(tally(ledger).all().absent)
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_each_live_reference_counts_once(ledger: Ledger):
    ledger.take(manifest(1, "a"), judged(["a"], 0.1))
    before = tally(ledger).to_dict()
    ledger.take(judged(["a"], 0.1, offset=2, live=False))
    ledger.take(judged(["a"], 0.1, offset=0))  # late
    ledger.take(judged(["gone"], 0.1, offset=2))
    assert tally(ledger).to_dict() == before


def test_the_output_of_a_batch_is_the_same_each_time(ledger: Ledger):
    ledger.take(manifest(1, *MANY))
    events = [judged([name], 0.1) for name in list(MANY)[:550]]
    first, second = ledger.handle(events), ledger.handle(events)
    assert first.writes == second.writes
    assert [(each.topic, each.value) for each in first.messages] == [(each.topic, each.value) for each in second.messages]
    assert tally(ledger).to_dict() == Tally().to_dict(), "an uncommitted batch counts nothing"


def test_a_tally_is_published_every_500_references(ledger: Ledger):
    names = list(MANY)
    ledger.take(manifest(1, *names))
    assert not sent(ledger.take(judged(names[:499], 0.1)))
    ((partition, event),) = sent(ledger.take(judged(names[499:500], 0.1)))
    assert partition == 0
    assert isinstance(event, TallyEvent)
    seen = {each.source: [each.weight, each.absent] for each in event.seen}
    assert seen == tally(ledger).to_dict()
    assert not sent(ledger.take(judged(names[500:], 0.1)))


def test_a_store_without_a_tally_continues_from_the_topic(ledger: Ledger):
    ledger.stage.absence.follower.tallies[0] = Tally({"10.1371": Seen(500.0, 400.0)})
    ledger.stage.absence.restore(0, ledger.store)  # type: ignore[arg-type]
    ledger.take(manifest(1, "a"), judged(["a"], 0.1))
    assert tally(ledger).sources["10.1371"].weight == pytest.approx(500, abs=0.1)
    assert "10.5555" in tally(ledger).sources
    before = tally(ledger).to_dict()
    ledger.stage.absence.restore(0, ledger.store)  # type: ignore[arg-type]
    assert tally(ledger).to_dict() == before, "the store is newer than the topic"


def test_changed_shares_are_published_once(ledger: Ledger):
    assert not ledger.background_tasks()
    known(ledger, Tally({"10.1371": Seen(2 * MIN_OF_ALL, 1.8 * MIN_OF_ALL)}))
    (event,) = sent(ledger.background_tasks())
    assert isinstance(event, SharesEvent)
    assert [(each.source, each.absent) for each in event.sources] == [("10.1371", event.overall)]
    assert event.overall == pytest.approx(0.88, abs=0.01)
    assert ledger.stage.absence.follower.shares == Shares(event.overall, {"10.1371": event.overall})
    known(ledger, Tally({"10.1371": Seen(2 * MIN_OF_ALL, 1.75 * MIN_OF_ALL)}))
    assert not ledger.background_tasks(), "the estimate has not moved enough"


def test_shares_that_were_not_committed_are_offered_again(ledger: Ledger):
    known(ledger, Tally({"10.1371": Seen(2 * MIN_OF_ALL, 1.8 * MIN_OF_ALL)}))
    first, second = ledger.stage.background_task(), ledger.stage.background_task()
    assert first is not None
    assert second is not None
    assert sent(first.messages) == sent(second.messages)
    assert first.partitions == frozenset({("outcomes", 0)}), "the broker refuses a former owner"


def test_only_the_owner_of_the_first_partition_publishes_shares(ledger: Ledger):
    ledger.stage.stores[1] = ledger.stage.stores.pop(0)
    known(ledger, Tally({"10.1371": Seen(2 * MIN_OF_ALL, 1.8 * MIN_OF_ALL)}))
    assert not ledger.background_tasks()

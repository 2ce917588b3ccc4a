"""The ledger: whatever order versions and outcomes come in, what is published last is the newest, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflink.entities import Link, Reference, Work
from reflink.errors import BadRecord
from schemas import CatalogEvent, LinkEvent, ManifestEvent, Outcome, OutcomesEvent
from schemas.links import PaperState
from tests.kafka import send, worker_settings
from workers.ledger import LedgerEvent, LedgerStage, LedgerView, roll_forward, take_outcomes
from workers.settings import LedgerSettings
from workers.stage import Message, Output, Received
from workers.store import TABLES, PartitionStore, Table

CITING = "doi:10.5555/citing"
Ledgered = ManifestEvent | OutcomesEvent


def manifest(version: int, *references: str, citing: str = CITING, withdrawn: bool = False) -> ManifestEvent:
    return ManifestEvent(
        schema_version=1,
        kind="manifest",
        citing=citing,
        paper_version=version,
        arrived=version * 10,
        references=tuple(f"{citing}#{name}" for name in references),
        withdrawn=withdrawn,
    )


def outcomes(version: int, offset: int, found: dict[str, str | None], citing: str = CITING) -> OutcomesEvent:
    """``found``: the cited work by reference."""
    items = [
        Outcome(
            reference=Reference(id=f"{citing}#{name}", citing=citing, position=1, raw_text=f"text of {name}"),
            link=Link(
                reference=f"{citing}#{name}",
                citing=citing,
                cited=cited,
                method="semantic",
                unresolved=None if cited else "not-in-catalog",
            ),
        )
        for name, cited in found.items()
    ]
    return OutcomesEvent(
        schema_version=1,
        kind="outcomes",
        citing=citing,
        paper_version=version,
        arrived=version * 10,
        catalog_offset=offset,
        judged=version * 10 + 1,
        items=tuple(items),
    )


class Memory:
    """A PartitionStore without disk; test_store.py shows that the real one is no different."""

    def __init__(self) -> None:
        self.tables: dict[Table, dict[str, bytes]] = {table: {} for table in TABLES}
        self.offsets: dict[Table, int] = dict.fromkeys(TABLES, 0)

    wipe = __init__

    def get(self, table: Table, key: str) -> bytes | None:
        return self.tables[table].get(key)

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Table, int]) -> None:
        self.offsets.update(next_offsets)
        for table, key, value in rows:
            if value is None:
                self.tables[table].pop(key, None)
            else:
                self.tables[table][key] = value

    def close(self) -> None:
        pass


class Ledger:
    """The stage on one partition, with the topics it writes to."""

    def __init__(self, folder: Path) -> None:
        self.stage = LedgerStage(LedgerSettings(state_dir=folder))
        self.store = Memory()
        self.stage.stores[0] = self.store  # type: ignore[assignment]
        self.log: list[Message] = []
        self.decisions: dict[str, int] = {}

    def begin_anew(self) -> None:
        self.store.wipe()
        self.log.clear()
        self.decisions.clear()

    def take(self, *events: Ledgered) -> list[Message]:
        output = self.handle(events)
        return self.commit(output)

    def handle(self, events: Sequence[Ledgered], view: LedgerView | None = None) -> Output:
        batch = [LedgerEvent(0, event) for event in events]
        return self.stage.handle(batch, view or self.stage.view(batch))

    def commit(self, output: Output) -> list[Message]:
        offsets = {}
        for message in output.messages:
            self.log.append(message)
            offsets[message.topic, 0] = sum(each.topic == message.topic for each in self.log) - 1
        self.stage.committed(output, offsets)
        for decision, count in output.observed.decisions.items():
            self.decisions[decision] = self.decisions.get(decision, 0) + count
        return output.messages

    def compacted(self, topic: str) -> dict[str, bytes]:
        """What a reader of the topic ends up with."""
        rows: dict[str, bytes] = {}
        for message in self.log:
            if message.topic == topic:
                key = (message.key or b"").decode()
                rows.pop(key, None)
                if message.value is not None:
                    rows[key] = message.value
        return rows

    def links(self) -> dict[str, str | None]:
        read = {key: LinkEvent.from_json(value) for key, value in self.compacted("links").items()}
        assert all(key == event.reference.id == event.link.reference for key, event in read.items())
        return {key.split("#")[1]: event.link.cited for key, event in read.items()}

    def rebuild(self) -> None:
        """As a worker that has the partition for the first time."""
        offsets = dict(self.store.offsets)
        self.store.wipe()
        for table in TABLES:
            rows: list[tuple[Table, str, bytes | None]] = [(table, key, value) for key, value in self.compacted(table).items()]
            self.store.write(rows, {table: offsets[table]})


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path)
    yield ledger
    ledger.stage.close()


# Laws


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Ledgered], dict[str, str | None], bool]:
    """Events as they arrive, what must be published in the end, and whether no two outcomes say the same."""
    distinct = draw(st.booleans())
    names = st.sampled_from("abcd")
    manifests: dict[int, ManifestEvent] = {}
    told: dict[int, list[OutcomesEvent]] = {}
    final: dict[str, str | None] = {}
    versions = range(1, draw(st.integers(1, 4)) + 1)
    for version in versions:
        withdrawn = draw(st.integers(0, 4)) == 0
        references = [] if withdrawn else sorted(draw(st.sets(names)))
        manifests[version] = manifest(version, *references, withdrawn=withdrawn)
        told[version], final = [], {}
        for offset in draw(st.permutations(range(draw(st.integers(1, 3))))) if references else []:
            found: dict[str, str | None] = {}
            # The first judgement is of all, later ones of some.
            for name in references if offset == 0 else sorted(draw(st.sets(st.sampled_from(references)))):
                found[name] = f"doi:10.1/{version}.{offset}.{name}" if distinct else draw(st.sampled_from([None, "doi:10.1/x"]))
            told[version].append(outcomes(version, offset, found))
        for event in sorted(told[version], key=lambda event: event.catalog_offset):
            final.update({item.reference.id.split("#")[1]: item.link.cited for item in event.items})
    tokens = [version for version in versions for _ in range(1 + len(told[version]))]
    # The first of a version is its manifest, as in the topic; nothing else is in order.
    arrived: list[Ledgered] = [
        manifests.pop(version) if version in manifests else told[version].pop(0) for version in draw(st.permutations(tokens))
    ]
    for again in draw(st.lists(st.sampled_from(arrived), max_size=3)):  # replayed records
        arrived.insert(draw(st.integers(arrived.index(again), len(arrived))), again)
    return arrived, final, distinct


quick = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@quick
@given(histories(), st.data())
def test_in_whatever_order_the_newest_version_is_what_is_published(ledger: Ledger, history: Any, data: st.DataObject):
    arrived, final, distinct = history
    ledger.begin_anew()
    while arrived:
        size = data.draw(st.integers(1, len(arrived)), label="batch")
        ledger.take(*arrived[:size])
        arrived = arrived[size:]
        if distinct and data.draw(st.booleans(), label="rebuild"):
            ledger.rebuild()
    assert ledger.links() == final
    for table in TABLES:
        assert ledger.store.tables[table].keys() == ledger.compacted(table).keys()
        assert ledger.store.offsets[table] == sum(message.topic == table for message in ledger.log)


@quick
@given(histories(), st.data())
def test_a_batch_in_parts_publishes_what_the_whole_publishes(ledger: Ledger, history: Any, data: st.DataObject):
    arrived, _, _ = history
    ledger.begin_anew()
    before = data.draw(st.integers(0, len(arrived)), label="committed before")
    if before:
        ledger.take(*arrived[:before])
    batch = arrived[before:]
    whole = ledger.handle(batch)
    view, parts = LedgerView(ledger.stage.stores), Output()
    while batch:
        size = data.draw(st.integers(1, len(batch)), label="part")
        output = ledger.handle(batch[:size], view)
        view = view.after(output)
        parts.add(output)
        batch = batch[size:]
    assert parts == whole


@quick
@given(histories())
def test_taking_everything_again_publishes_nothing_new_for_readers(ledger: Ledger, history: Any):
    arrived, final, _ = history
    ledger.begin_anew()
    ledger.take(*arrived)
    ledger.take(*arrived)
    assert ledger.links() == final


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


def test_what_says_the_same_is_not_published_again_and_still_counts_as_newer(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcomes(1, 5, {"a": "doi:10.1/x"}))
    assert ledger.take(outcomes(1, 9, {"a": "doi:10.1/x"})) == []
    assert ledger.take(outcomes(1, 7, {"a": "doi:10.1/y"})) == []
    assert ledger.decisions == {"published": 1, "unchanged": 1, "late": 1}
    assert ledger.links() == {"a": "doi:10.1/x"}


def test_the_same_manifest_again_says_nothing(ledger: Ledger):
    ledger.take(manifest(1, "a"))
    assert ledger.take(manifest(1, "a")) == []


def test_a_newer_version_takes_away_the_references_it_lacks_and_keeps_the_others(ledger: Ledger):
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


def test_a_withdrawn_paper_takes_its_links_along_and_late_outcomes_do_not_bring_them_back(ledger: Ledger):
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


def test_papers_do_not_touch_each_other(ledger: Ledger):
    other = "doi:10.5555/other"
    ledger.take(manifest(1, "a"), manifest(1, "a", citing=other))
    ledger.take(outcomes(1, 1, {"a": "x:1"}), outcomes(1, 1, {"a": "x:2"}, citing=other))
    ledger.take(manifest(2, withdrawn=True))
    assert [*ledger.compacted("links")] == [f"{other}#a"]


def test_an_outcome_without_a_manifest_is_published(ledger: Ledger):
    assert len(ledger.take(outcomes(1, 1, {"a": "x:1"}))) == 1


def test_catalog_events_are_only_checked(ledger: Ledger):
    assert ledger.handle([]) == Output()
    assert ledger.stage.handle([LedgerEvent(0, None)], LedgerView(ledger.stage.stores)) == Output()


def test_handling_changes_no_store(ledger: Ledger):
    ledger.handle([manifest(1, "a"), outcomes(1, 1, {"a": "x:1"})])
    assert not any(ledger.store.tables.values())


def test_arrivals_are_observed_only_for_what_is_published(ledger: Ledger):
    output = Output()
    take_outcomes(0, outcomes(3, 1, {"a": "x:1"}), LedgerView(ledger.stage.stores), output)
    take_outcomes(0, outcomes(3, 2, {"a": "x:1"}), LedgerView(ledger.stage.stores), output)
    assert output.observed.arrivals == [(30, True)]


# Decoding


def catalog_record(key: bytes | None, value: bytes | None) -> Received:
    return Received("catalog", 0, 4, key, value, (), 0)


WORK = CatalogEvent(schema_version=1, work=Work(id="doi:10.1/a")).to_json()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"doi:10.1/a", WORK),
        (b"doi:10.1/a", None),
        (b"doi:10.1/a", CatalogEvent(schema_version=1, withdrawn="gone").to_json()),
    ],
)
def test_sound_catalog_events_pass(ledger: Ledger, key: bytes, value: bytes | None):
    assert ledger.stage.decode(catalog_record(key, value)) == LedgerEvent(0, None)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (None, None, "key must be a work id"),
        (None, WORK, "key must be a work id"),
        (b"doi:10.1/b", WORK, "its key is"),
        (b"doi:10.1/a", b"{}", "schema_version"),
        (b"doi:10.1/a", b"", "CatalogEvent"),
    ],
)
def test_bad_catalog_events_are_refused(ledger: Ledger, key: bytes | None, value: bytes | None, message: str):
    with pytest.raises(BadRecord, match=message):
        ledger.stage.decode(catalog_record(key, value))


def test_outcomes_know_their_partition(ledger: Ledger):
    event = manifest(1, "a")
    record = Received("outcomes", 7, 0, CITING.encode(), event.to_json(), (), 0)
    assert ledger.stage.decode(record) == LedgerEvent(7, event)
    with pytest.raises(BadRecord):
        ledger.stage.decode(Received("outcomes", 7, 0, None, None, (), 0))


# After a crash


def test_what_was_committed_and_not_written_is_read_from_the_topics(kafka, tmp_path: Path):
    """A worker is killed between its commit and the write to its store; another partition's store is ahead of its topic."""
    configuration = worker_settings(kafka, tmp_path, LedgerSettings)
    ledger = Ledger(tmp_path / "first")
    ledger.take(manifest(1, "a", "b"), outcomes(1, 1, {"a": "x:1", "b": "x:2"}))
    ledger.take(manifest(2, "b"))
    stores = {number: PartitionStore(tmp_path / str(number), stale_after_s=1e9) for number in range(3)}
    half = len(ledger.log) // 2
    for messages in (ledger.log[:half], ledger.log[half:]):
        # Keys are hashed to partitions here; rolling forward takes what lies in a partition, whatever the key.
        for table in TABLES:
            send(kafka, table, [(each.key, each.value) for each in messages if each.topic == table])
        if messages == ledger.log[:half]:
            roll_forward({0: stores[0], 1: stores[1]}, configuration)
    stores[2].write([("links", "made up", b"{}")], {"links": 10**6})
    roll_forward(stores, configuration)
    for table in TABLES:
        found = {key: value for store in stores.values() for key, value in store.rows(table)}
        assert found == ledger.compacted(table)
    assert sum(store.next_offset("links") for store in stores.values()) == sum(each.topic == "links" for each in ledger.log)
    roll_forward({}, configuration)
    for store in stores.values():
        store.close()

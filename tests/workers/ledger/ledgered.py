"""Inputs of the ledger, and a ledger on one partition that records its output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from reflink.entities import Link, Reference, Work
from schemas import LinkEvent, ManifestEvent, Outcome, OutcomesEvent, OverrideEvent, ReferenceEvent
from schemas.links import PROPAGATION_KEY
from tests.workers.ledger.changelogs import MemoryChangeLog
from workers.config.settings import LedgerSettings
from workers.ledger.stage import LedgerStage
from workers.ledger.stores.key_index import keys_of
from workers.ledger.stores.outcome_store import TABLES, Table, Topical
from workers.ledger.view import LedgerEvent, LedgerView
from workers.records import Message, Received
from workers.stage import Output

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


def outcomes(
    version: int, offset: int, found: dict[str, str | None], citing: str = CITING, text: str = "text"
) -> OutcomesEvent:
    """Return the outcomes of a paper. ``found``: the cited work by reference name; ``text``: start of the references' text."""
    items = []
    for name, cited in found.items():
        item = Reference(id=f"{citing}#{name}", citing=citing, position=1, raw_text=f"{text} of {name}")
        link = Link(reference=item.id, citing=citing, cited=cited, method="semantic", unresolved=_unresolved(cited))
        items.append(Outcome(reference=item, link=link))
    return _event(version, offset, citing, items)


def outcome(item: Reference, cited: str | None, offset: int, version: int = 1, **fields: Any) -> OutcomesEvent:
    """Return the outcome of one reference. ``fields``: others of the Outcome, such as its aliases."""
    method: Any = "identifier" if cited else None
    link = Link(reference=item.id, citing=CITING, cited=cited, method=method, unresolved=_unresolved(cited))
    return _event(version, offset, CITING, [Outcome(reference=item, link=link, **fields)])


def pinned(item: Reference, pin: str, cited: str, offset: int, status: str | None = None, **fields: Any) -> OutcomesEvent:
    """Return what a linker answers for a reference with a pin: the canonical id and the status of the work."""
    link = Link(reference=item.id, citing=CITING, cited=cited, method="curator", status=status)
    return _event(1, offset, CITING, [Outcome(reference=item, link=link, pinned=pin, **fields)])


def _unresolved(cited: str | None) -> Any:
    return None if cited else "no-candidate"


def _event(version: int, offset: int, citing: str, items: list[Outcome]) -> OutcomesEvent:
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


def work(doi: str, title: str = "", **fields: object) -> Work:
    return Work.from_dict(
        {"id": f"doi:{doi}", "ids": {"doi": doi}, "title": title or f"A long title of the work {doi}", **fields}
    )


def reference(name: str, doi: str | None = None, **fields: object) -> Reference:
    ids = {"doi": doi} if doi else {}
    return Reference.from_dict({"id": f"{CITING}#{name}", "citing": CITING, "position": 1, **fields, "ids": ids})


class Memory:
    """A PartitionStore in memory; test_outcome_store.py compares the real store with dictionaries."""

    def __init__(self) -> None:
        self.tables: dict[Table, dict[str, bytes]] = {table: {} for table in get_args(Table)}
        self.offsets: dict[Topical, int] = dict.fromkeys(TABLES, 0)

    wipe = __init__

    def next_offset(self, table: Topical) -> int:
        return self.offsets[table]

    def rows(self, table: Table, after: str = "") -> Iterator[tuple[str, bytes]]:
        yield from sorted((key, value) for key, value in self.tables[table].items() if key > after)

    def references(self, key: bytes, after: str = "", limit: int = 1000) -> list[str]:
        found = sorted(name for name, value in self.tables["links"].items() if name > after and key in keys_of(value))
        return found[:limit]

    def get(self, table: Table, key: str) -> bytes | None:
        return self.tables[table].get(key)

    def borne(self, keys: Sequence[bytes]) -> list[bytes]:
        return [key for key in keys if self.references(key, limit=1)]

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Topical, int]) -> None:
        self.offsets.update(next_offsets)
        for table, key, value in rows:
            if value is None:
                self.tables[table].pop(key, None)
            else:
                self.tables[table][key] = value

    def close(self) -> None:
        pass


def requested(messages: Iterable[Message]) -> dict[str, ReferenceEvent]:
    """Return the requests for re-evaluation by the reference's name. Check that none is repeated."""
    events = [ReferenceEvent.from_json(each.value or b"") for each in messages if each.topic == "retries"]
    found = {event.reference.id.split("#")[1]: event for event in events}
    assert len(found) == len(events)
    return found


def published(messages: Iterable[Message]) -> list[LinkEvent]:
    """Return the published links without tombstones."""
    return [LinkEvent.from_json(each.value) for each in messages if each.topic == "links" and each.value]


class Nowhere:
    """Replaces the reader of overrides in a ledger without Kafka."""

    def assign(self, positions: Mapping[int, int]) -> None:
        pass

    def close(self) -> None:
        pass


class Ledger:
    """The stage on one partition, with a log of its output. ``now`` is its clock, in seconds."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.now = 1_000_000.0
        self.stage = LedgerStage(LedgerSettings(state_dir=folder, **settings), clock=lambda: self.now)
        self.stage.overrides._reader = Nowhere()  # type: ignore[assignment]
        self.store = Memory()
        self.stage.stores[0] = self.store  # type: ignore[assignment]
        self.catalog = self.stage.catalog = MemoryChangeLog()
        self.next_override = 0
        self.log: list[Message] = []
        self.decisions: dict[str, int] = {}

    def reset(self) -> None:
        self.store.wipe()
        self.log.clear()
        self.decisions.clear()

    def take(self, *events: Ledgered) -> list[Message]:
        output = self.handle(events)
        return self.commit(output)

    def handle(self, events: Sequence[Ledgered], view: LedgerView | None = None) -> Output:
        batch = [LedgerEvent(0, event) for event in events]
        return self.stage.handle(batch, view or self.stage.view(batch))

    def change(self, *works: Work | str, arrived: int = 5) -> None:
        """Apply the next records of the catalog topic: works, or ids of removed works."""
        start = self.stage.catalog.offset
        records = [(start + number, arrived, work) for number, work in enumerate(works)]
        self.catalog.apply(records, start + len(works))

    def override(self, event: OverrideEvent | None, reference: str = "") -> None:
        """Add a record of ``overrides``. None: a tombstone."""
        key = (reference or (event.reference if event else "")).encode()
        value = None if event is None else event.to_json()
        self.stage.overrides.add([(0, Received("overrides", 0, self.next_override, key, value, (), 0))])
        self.next_override += 1

    def background_task(self) -> list[Message]:
        """Run and commit one background task."""
        output = self.stage.background_task()
        return [] if output is None else self.commit(output)

    def background_tasks(self, limit: int = 50) -> list[Message]:
        """Run and commit background tasks until none is left."""
        messages = []
        for _ in range(limit):
            output = self.stage.background_task()
            if output is None:
                return messages
            messages += self.commit(output)
        raise AssertionError("background tasks are still left")

    def commit(self, output: Output) -> list[Message]:
        offsets = {}
        for message in output.messages:
            self.log.append(message)
            offsets[message.topic, 0] = sum(each.topic == message.topic for each in self.log) - 1
        self.stage.committed(output, offsets)
        for decision, count in output.observed.decisions.items():
            self.decisions[decision] = self.decisions.get(decision, 0) + count
        return [message for message in output.messages if message.key != PROPAGATION_KEY.encode()]

    def compacted(self, topic: str) -> dict[str, bytes]:
        """Return the last value of each key in the topic."""
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
        """Restore the store from the topics."""
        offsets = dict(self.store.offsets)
        self.store.wipe()
        for table in TABLES:
            rows: list[tuple[Table, str, bytes | None]] = [(table, key, value) for key, value in self.compacted(table).items()]
            self.store.write(rows, {table: offsets[table]})

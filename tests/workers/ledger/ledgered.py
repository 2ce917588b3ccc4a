"""What comes to the ledger, and a ledger on one partition that remembers what it publishes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from reflink.entities import Link, Reference, Work
from schemas import LinkEvent, ManifestEvent, Outcome, OutcomesEvent, OverrideEvent, ReferenceEvent
from tests.workers.ledger.worktables import MemoryWorkTable
from workers.config.settings import LedgerSettings
from workers.ledger.stage import LedgerEvent, LedgerStage, LedgerView
from workers.ledger.stores.key_index import keys_of
from workers.ledger.stores.outcome_store import TABLES, Table, Topical
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
    """``found``: the cited work by reference; ``text``: what the references say beside their names."""
    items = [
        Outcome(
            reference=Reference(id=f"{citing}#{name}", citing=citing, position=1, raw_text=f"{text} of {name}"),
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
    """A PartitionStore without disk; test_outcome_store.py shows that the real one is no different."""

    def __init__(self) -> None:
        self.tables: dict[Table, dict[str, bytes]] = {table: {} for table in get_args(Table)}
        self.offsets: dict[Topical, int] = dict.fromkeys(TABLES, 0)

    wipe = __init__

    def next_offset(self, table: Topical) -> int:
        return self.offsets[table]

    def rows(self, table: Table, after: str = "") -> Iterator[tuple[str, bytes]]:
        yield from sorted((key, value) for key, value in self.tables[table].items() if key > after)

    def references(self, key: bytes, after: str = "", most: int = 1000) -> list[str]:
        found = sorted(name for name, value in self.tables["links"].items() if name > after and key in keys_of(value))
        return found[:most]

    def get(self, table: Table, key: str) -> bytes | None:
        return self.tables[table].get(key)

    def borne(self, keys: Sequence[bytes]) -> list[bytes]:
        return [key for key in keys if self.references(key, most=1)]

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Topical, int]) -> None:
        self.offsets.update(next_offsets)
        for table, key, value in rows:
            if value is None:
                self.tables[table].pop(key, None)
            else:
                self.tables[table][key] = value

    def close(self) -> None:
        pass


def asked(messages: Iterable[Message]) -> dict[str, ReferenceEvent]:
    """What is sent to be judged again, by the reference's name; none twice."""
    events = [ReferenceEvent.from_json(each.value or b"") for each in messages if each.topic == "retries"]
    found = {event.reference.id.split("#")[1]: event for event in events}
    assert len(found) == len(events)
    return found


class Nowhere:
    """In place of the reader of overrides, of ledgers without Kafka."""

    def assign(self, positions: Mapping[int, int]) -> None:
        pass

    def close(self) -> None:
        pass


class Ledger:
    """The stage on one partition, with the topics it writes to. ``now`` is its clock, in seconds."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.now = 1_000_000.0
        self.stage = LedgerStage(LedgerSettings(state_dir=folder, **settings), clock=lambda: self.now)
        self.stage.overrides._reader = Nowhere()  # type: ignore[assignment]
        self.store = Memory()
        self.stage.stores[0] = self.store  # type: ignore[assignment]
        self.works = self.stage.works = MemoryWorkTable()
        self.said = 0
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

    def change(self, *works: Work | str, arrived: int = 5) -> None:
        """What the catalog topic says next: works as they now are, or ids of those that are gone."""
        start = self.stage.works.offset
        records = [(start + number, arrived, work) for number, work in enumerate(works)]
        self.works.apply(records, start + len(works))

    def say(self, override: OverrideEvent | None, reference: str = "") -> None:
        """What a curator says, as a record of ``overrides``."""
        key = (reference or (override.reference if override else "")).encode()
        value = None if override is None else override.to_json()
        self.stage.overrides.add([(0, Received("overrides", 0, self.said, key, value, (), 0))])
        self.said += 1

    def background_task(self) -> list[Message]:
        """One background task, committed."""
        output = self.stage.background_task()
        return [] if output is None else self.commit(output)

    def background_tasks(self, most: int = 50) -> list[Message]:
        """Background tasks until there is nothing left to do."""
        messages = []
        for _ in range(most):
            output = self.stage.background_task()
            if output is None:
                return messages
            messages += self.commit(output)
        raise AssertionError("the ledger does not come to rest")

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

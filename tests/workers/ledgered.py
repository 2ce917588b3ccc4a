"""What comes to the ledger, and a ledger on one partition that remembers what it publishes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reflink.entities import Link, Reference
from schemas import LinkEvent, ManifestEvent, Outcome, OutcomesEvent
from workers.ledger import LedgerEvent, LedgerStage, LedgerView
from workers.settings import LedgerSettings
from workers.stage import Message, Output
from workers.store import TABLES, Table

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

"""The consumer of docs/consuming.md on a real broker."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kafka import KafkaProducer

from reflink.entities import Link, Reference
from schemas import SCHEMA_VERSION, LinkEvent
from tests.kafka import await_markers
from workers.config.settings import KafkaSettings

ROOT = Path(__file__).resolve().parent.parent
CITING = "doi:10.5555/a.paper"


def link_event(number: int, cited: str | None) -> bytes:
    reference = Reference(id=f"{CITING}#B{number}.1", citing=CITING, position=number, raw_text="Somebody. Something. 2001.")
    found = {"cited": cited, "method": "lexical"} if cited else {"cited": None, "unresolved": "not-in-catalog"}
    times = {"paper_version": 1, "arrived": 0, "catalog_offset": 0, "judged": 0}
    link = Link(reference=reference.id, citing=CITING, **found)
    return LinkEvent(schema_version=SCHEMA_VERSION, citing=CITING, **times, link=link, reference=reference).to_json()


class Ledger:
    """Writes links as the ledger does: in transactions, with the header."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self.topic, self.address = kafka.topic("links"), kafka.kafka_bootstrap_servers
        self.producer = KafkaProducer(bootstrap_servers=self.address, transactional_id=kafka.topic("test-ledger"))
        self.producer.init_transactions()

    def write(self, changes: dict[int, str | None], gone: tuple[int, ...] = (), *, commit: bool = True) -> None:
        self.producer.begin_transaction()
        for number, cited in changes.items():
            header = ("reflink-outcome", b"linked" if cited else b"unresolved")
            self._send(number, link_event(number, cited), [header])
        for number in gone:
            self._send(number, None, [])
        self.producer.flush()
        (self.producer.commit_transaction if commit else self.producer.abort_transaction)()
        await_markers(self.address)

    def _send(self, number: int, value: bytes | None, headers: list[tuple[str, bytes]]) -> None:
        self.producer.send(self.topic, key=f"{CITING}#B{number}.1".encode(), value=value, headers=headers, partition=1)


@pytest.fixture
def ledger(kafka: KafkaSettings) -> Any:
    ledger = Ledger(kafka)
    yield ledger
    ledger.producer.close()


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("consumer_example", ROOT / "examples" / "consumer.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def everything(example: ModuleType, consumer: Any, links: dict[str, str]) -> list[str]:
    lines = example.read(consumer, links)
    while not example.caught_up(consumer):
        lines += example.read(consumer, links)
    return lines


def test_the_consumer_starts_at_the_beginning_and_follows(kafka, ledger, example):
    ledger.write({1: "doi:10.1000/one", 2: "doi:10.1000/two", 3: None})
    ledger.write({4: "doi:10.1000/never"}, commit=False)
    consumer, links = example.open_links(kafka.kafka_bootstrap_servers, kafka.topic("links")), {}
    try:
        assert everything(example, consumer, links) == [
            f"{CITING}#B1.1 cites doi:10.1000/one",
            f"{CITING}#B2.1 cites doi:10.1000/two",
            f"{CITING}#B3.1 cites nothing known: not-in-catalog",
        ]
        assert links == {f"{CITING}#B1.1": "doi:10.1000/one", f"{CITING}#B2.1": "doi:10.1000/two"}
        # A better link, a removed reference, and a late link of an unresolved reference.
        ledger.write({1: "doi:10.1000/better", 3: "doi:10.1000/late"}, gone=(2,))
        everything(example, consumer, links)
        assert links == {f"{CITING}#B1.1": "doi:10.1000/better", f"{CITING}#B3.1": "doi:10.1000/late"}
        ledger.write({1: None})
        everything(example, consumer, links)
        assert links == {f"{CITING}#B3.1": "doi:10.1000/late"}
    finally:
        consumer.close()


def test_reading_everything_again_changes_nothing(kafka, ledger, example):
    ledger.write({1: "doi:10.1000/one", 2: "doi:10.1000/two"})
    ledger.write({2: None})
    links: dict[str, str] = {}
    seen = []
    for _ in range(2):
        consumer = example.open_links(kafka.kafka_bootstrap_servers, kafka.topic("links"))
        everything(example, consumer, links)
        consumer.close()
        seen.append(dict(links))
    assert seen[0] == seen[1] == {f"{CITING}#B1.1": "doi:10.1000/one"}


def test_the_page_shows_the_code_of_the_example():
    code = (ROOT / "examples" / "consumer.py").read_text()
    page = (ROOT / "docs" / "consuming.md").read_text()
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert shown
    assert all(each.strip() in code for each in shown)

"""Many invalid live records, each counted once, end a worker. Invalid records of a background input never do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from schemas import CatalogEvent, LinkEvent
from tests.kafka import lag, read_all, send, worker_settings
from tests.workers.echo import Echo, running, until
from tests.workers.ledger.ledgered import CITING, manifest, outcomes
from workers.config.settings import LedgerSettings
from workers.ledger.stage import LedgerStage
from workers.records import Received
from workers.stage import NoView
from workers.telemetry import metrics

FLOOD = 60


def misnamed(number: int) -> tuple[bytes, bytes]:
    """Return a catalog event that violates the contract: its identifier has a prefix."""
    work = b'{"id":"doi:10.5555/%d","ids":{"doi":"https://doi.org/10.5555/%d"}}' % (number, number)
    return b"doi:10.5555/%d" % number, b'{"schema_version":1,"work":%b}' % work


def test_bad_catalog_records_never_end_the_ledger_and_links_come_out(kafka, state):
    send(kafka, "catalog", [misnamed(number) for number in range(FLOOD)])
    before = metrics.DEAD_LETTERS.labels("catalog", "BadRecord")._value.get()
    key = CITING.encode()
    with running(LedgerStage(settings := worker_settings(kafka, state, LedgerSettings)), settings) as worker:
        assert settings.flood_run < FLOOD
        until(lambda: len(read_all(kafka, "dead-letters")) == FLOOD or not worker.thread.is_alive())
        send(kafka, "outcomes", [(key, each.to_json()) for each in (manifest(1, "a"), outcomes(1, 0, {"a": "doi:10.5555/x"}))])
        until(lambda: read_all(kafka, "links") or not worker.thread.is_alive(), what="no link comes out")
    (link,) = read_all(kafka, "links")
    assert LinkEvent.from_json(link.value).link.cited == "doi:10.5555/x"
    dead = read_all(kafka, "dead-letters")
    assert [(each.key, each.header("reflink-topic")) for each in dead] == [(misnamed(n)[0], "catalog") for n in range(FLOOD)]
    assert metrics.DEAD_LETTERS.labels("catalog", "BadRecord")._value.get() == before + FLOOD


class Behind(Echo):
    """Echo with retries as a background input."""

    name = "behind"
    background_inputs = ("retries",)


def test_a_flood_in_a_background_input_neither_ends_a_worker_nor_fills_its_log(kafka, state, our_warnings: Any):
    send(kafka, "retries", [(b"k", b"bad %d" % number) for number in range(FLOOD)])
    with running(Behind(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "behind", "retries") == 0)
        send(kafka, "references", [(b"k", b"sound")])
        until(lambda: len(read_all(kafka, "outcomes")) == 1)
    assert len(read_all(kafka, "dead-letters")) == FLOOD
    lines = [each for each in our_warnings() if each.getMessage() == "dead letter"]
    assert 0 < len(lines) < FLOOD


class Again(Echo):
    """A stage whose batch is discarded while it handles it, as by a rebalance or an aborted transaction."""

    name = "again"

    def __init__(self) -> None:
        super().__init__()
        self.give_up: Callable[[], None] = lambda: None
        self.may_begin = threading.Event()
        self.seen = 0

    def warm(self) -> None:
        self.may_begin.wait(60)

    def view(self, batch: Sequence[Received]) -> NoView:
        self.seen += 1
        if self.seen <= 3:
            self.give_up()
        return NoView()


def test_a_batch_that_is_read_again_counts_once(kafka, state):
    """A batch with 20 invalid records, handled four times, counts as 20 dead letters: fewer than 50 in a row."""
    send(kafka, "references", [(b"k", b"sound"), *((b"k", b"bad %d" % number) for number in range(20))])
    stage = Again()
    with running(stage, worker_settings(kafka, state)) as worker:
        stage.give_up = worker.runtime.flow.discard
        stage.may_begin.set()
        until(lambda: lag(kafka, "again", "references") == 0 or not worker.thread.is_alive())
    assert stage.seen > 3
    assert len(read_all(kafka, "dead-letters")) == 20


def test_a_sound_event_of_the_catalog_is_what_this_page_takes_it_for():
    """Without the prefix the event is valid, so the prefix is what makes the events of the flood above invalid."""
    key, value = misnamed(1)
    sound = value.replace(b"https://doi.org/", b"")
    assert CatalogEvent.from_json(sound).work.id == key.decode()

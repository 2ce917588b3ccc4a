"""The log of changes follows a real catalog topic, from any position and no further than its window allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reflink.entities import Work
from schemas import CatalogEvent
from tests.kafka import send, worker_settings
from tests.workers.echo import until
from workers.config.settings import KafkaSettings, LedgerSettings
from workers.kafka.clients import end_of
from workers.ledger.catalog_following import CatalogFollowing
from workers.ledger.stores.change_log import ChangeLog

WINDOW = 4


def load(kafka: KafkaSettings, *numbers: int) -> None:
    works = [Work(id=f"w{number}", title=f"The title of work {number}") for number in numbers]
    events = [CatalogEvent(schema_version=1, work=work).to_json() for work in works]
    send(kafka, "catalog", [(work.id.encode(), event) for work, event in zip(works, events, strict=True)])


@pytest.fixture
def log(tmp_path: Path) -> ChangeLog:
    return ChangeLog(tmp_path / "changes", topic_id=None, stale_after_s=1e9)


@pytest.fixture
def following(kafka: KafkaSettings, tmp_path: Path, log: ChangeLog) -> Iterator[CatalogFollowing]:
    found = CatalogFollowing(worker_settings(kafka, tmp_path, LedgerSettings), log, WINDOW)
    yield found
    found.close()


def offsets(log: ChangeLog) -> list[int]:
    return [change.offset for change in log.changes(0, 100)]


def test_a_new_log_begins_a_window_before_the_end(kafka: KafkaSettings, log: ChangeLog, following: CatalogFollowing):
    load(kafka, *range(10))
    following.start()
    assert (log.start, log.offset, log.end) == (6, 10, 10)
    assert offsets(log) == [6, 7, 8, 9]


def test_it_waits_for_propagation_and_reads_again_from_any_position(
    kafka: KafkaSettings, log: ChangeLog, following: CatalogFollowing
):
    load(kafka, *range(3))
    following.start()
    assert (log.start, offsets(log)) == (0, [0, 1, 2])
    load(kafka, *range(3, 20))
    until(lambda: following.follow(0.1, 0) or log.offset > WINDOW)
    until(lambda: not following.follow(0.1, 0) and log.end == 20)
    read = log.offset
    assert read > WINDOW, "one fetch may exceed the window"
    assert offsets(log) == list(range(read)), "a change that is not propagated is not forgotten"
    until(lambda: following.follow(0.1, log.offset) or log.offset == 20)
    until(lambda: not following.follow(0.1, log.offset) and log.offset == 20)
    assert log.start == 16
    log.begin(2)
    following.open()
    until(lambda: following.follow(0.1, log.offset) or log.offset == 20)
    until(lambda: log.offset == 20)
    assert offsets(log)[-1] == 19


def test_the_end_is_that_of_the_broker(kafka: KafkaSettings, log: ChangeLog, following: CatalogFollowing):
    """Another ledger may have propagated changes that this one has not read."""
    following.start()
    load(kafka, 1, 2)
    following.update_end()
    assert log.end == end_of(kafka, "catalog") == 2

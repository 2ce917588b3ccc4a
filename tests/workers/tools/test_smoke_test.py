"""The check: a running pipeline publishes a link and removes it again; for a broken pipeline the check names the worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import inf
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from reflink import jats
from reflink.entities import Link, Reference, Work
from reflink.linking.policy import Open
from schemas import CatalogEvent, FallbackEvent, ManifestEvent, Outcome, OutcomesEvent
from tests.kafka import create_topics, lag, new_prefix, read_all, worker_settings
from tests.workers.commands import Command, set_environment
from tests.workers.echo import Running, until
from workers.config.settings import FallbackSettings, KafkaSettings, LedgerSettings, LinkerSettings, ParserSettings
from workers.devkit.broker import Broker
from workers.kafka.bulk_producer import Sender
from workers.ledger.stage import LedgerStage
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage
from workers.papers.stage import ParserStage
from workers.tools.sentinel import PREFIX, Sentinel
from workers.tools.smoke_test import CheckFailed, Watch, check

STAGES: dict[str, tuple[Any, Any]] = {
    "parser": (ParserStage, ParserSettings),
    "linker": (LinkerStage, LinkerSettings),
    "fallback": (FallbackStage, FallbackSettings),
    "ledger": (LedgerStage, LedgerSettings),
}


class Workers:
    """All four workers in threads, each of which can be stopped and started."""

    def __init__(self, kafka: KafkaSettings, folder: Path) -> None:
        self.kafka, self._folder = kafka, folder
        self.running: dict[str, Running] = {}

    def start(self, name: str, **more: Any) -> None:
        stage, model = STAGES[name]
        settings = worker_settings(self.kafka, self._folder / name, model, **more)
        self.running[name] = Running(stage(settings), settings)

    def wait_ready(self) -> None:
        pollers = [worker.runtime for worker in self.running.values()]
        until(lambda: all(each.poller is not None and each.poller.joined for each in pollers), 200, "all have joined")

    def stop(self, name: str) -> None:
        worker = self.running.pop(name)
        worker.stop()
        assert worker.error is None


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Start all workers with an empty catalog, because the check does not depend on its works."""
    workers = Workers(create_topics(broker.address, new_prefix(), partitions=2), tmp_path_factory.mktemp("check"))
    for name in STAGES:
        workers.start(name)
    try:
        workers.wait_ready()
        yield workers
    finally:
        for name in list(workers.running):
            workers.running[name].stop()


@pytest.fixture
def bound(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    set_environment(monkeypatch, workers.kafka)
    return workers.kafka


def left(kafka: KafkaSettings, topic: str) -> set[bytes | None]:
    """Return the keys whose newest record is not a tombstone."""
    newest = {record.key: record.value for record in read_all(kafka, topic)}
    return {key for key, value in newest.items() if value is not None}


def test_a_link_is_published_and_removed(bound: KafkaSettings, command: Command):
    code, out, err = command("check", "--timeout", "200")
    assert code == 0, err
    lines = out.splitlines()
    names = ["work offered", "paper parsed", "reference linked", "other reference settled", "withdrawn"]
    assert [line.split("s  ")[1].split(":")[0] for line in lines] == names
    assert f"by identifier to doi:{PREFIX}" in lines[2]
    assert "by the fallback: no" in lines[3]
    assert left(bound, "links") == left(bound, "catalog") == set()
    assert read_all(bound, "dead-letters") == []


def test_the_result_is_printed_as_json(bound: KafkaSettings, command: Command):
    code, out, _ = command("check", "--timeout", "200", "--json")
    result = json.loads(out)
    seconds = [step["seconds"] for step in result["steps"]]
    assert (code, result["ok"], len(seconds)) == (0, True, 5)
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("name", ["linker", "fallback"])
def test_without_a_worker_the_check_fails_names_it_and_withdraws_all(
    name: str, workers: Workers, bound: KafkaSettings, command: Command
):
    workers.stop(name)
    try:
        for seconds in ("6", "60"):  # a busy machine may need longer to get this far
            code, out, err = command("check", "--timeout", seconds, "--json")
            failure = json.loads(out)["failure"]
            if failure.startswith(f"{name}: "):
                break
        assert failure.startswith(f"{name}: ")
        assert f"check that a {name} runs" in failure
        assert code == 1
        assert err == f"reflink-worker: CheckFailed: {failure}\n"
    finally:
        workers.start(name)
        workers.wait_ready()
    for group, topic in {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}.items():
        until(lambda group=group, topic=topic: lag(bound, group, topic) == 0, what=f"{group} has read all")
    until(lambda: left(bound, "links") == left(bound, "catalog") == set(), what="all is withdrawn")


def test_a_dead_letter_of_the_paper_is_reported_at_once(workers: Workers, bound: KafkaSettings):
    workers.stop("parser")
    workers.start("parser", max_paper_bytes=100)
    try:
        with pytest.raises(
            CheckFailed, match=r"^it became a dead letter: parser could not handle it: TooLarge: the paper has more than"
        ):
            check(bound, 200)
    finally:
        workers.stop("parser")
        workers.start("parser")


def test_a_reference_decided_before_its_work_arrived_is_re_evaluated_without_sending_the_paper_again(
    workers: Workers, bound: KafkaSettings
):
    sentinel = Sentinel("aabbccddeeff0011")
    with Watch(bound, sentinel) as watch, Sender(bound) as sender:
        sentinel.send(sender)
        watch.wait(lambda: sentinel.settled and len(sentinel.outcomes) == 2, monotonic() + 100, sentinel.stopped_at)
        assert not sentinel.linked
        sentinel.offer_work(sender)
        watch.wait(lambda: sentinel.linked, monotonic() + 100, sentinel.stopped_at)
        assert (sentinel.version, sentinel.method) == (1, "identifier")
        sentinel.withdraw(sender)
        watch.wait(lambda: sentinel.gone, monotonic() + 100, sentinel.left_behind)


# The paper of the check


def test_the_paper_has_one_reference_to_the_work_and_one_without_identifiers():
    sentinel = Sentinel("00112233445566ff")
    paper = jats.parse(sentinel.paper(), source="check")
    first, second = paper.references
    assert paper.id == sentinel.citing
    assert f"doi:{first.ids.doi}" == sentinel.work.id
    assert first.title == sentinel.work.title
    assert [each.id for each in paper.references] == [sentinel._id("r1"), sentinel._id("r2")]
    assert not second.ids.keys()
    assert (second.volume, second.first_page) == (None, None), "with these the linker could refuse it alone"


def outcome(sentinel: Sentinel, reference: str, **link: Any) -> Any:
    fields = {"reference": f"{sentinel.citing}#{reference}.1", "citing": sentinel.citing, "cited": None, **link}
    cited = Reference(id=fields["reference"], citing=sentinel.citing, position=1)
    event = {"citing": sentinel.citing, "paper_version": sentinel.version, "arrived": 0, "catalog_offset": 1, "judged": 0}
    item = Outcome(reference=cited, link=Link(**fields))
    return OutcomesEvent(schema_version=1, kind="outcomes", items=(item,), **event)


def observe(sentinel: Sentinel, topic: str, event: Any, key: str = "") -> None:
    record = SimpleNamespace(key=(key or sentinel.citing).encode(), value=event.to_json(), headers=[], offset=7)
    sentinel.observe(topic, record)


def test_the_observed_records_determine_the_worker_that_stopped():
    sentinel = Sentinel("00", version=1)
    assert sentinel.stopped_at().startswith("broker: the work that it cites")
    work = CatalogEvent(schema_version=1, work=sentinel.work)
    observe(sentinel, "catalog", work, key=sentinel.work.id)
    assert sentinel.stopped_at().startswith("parser: ")
    paper = {"citing": sentinel.citing, "paper_version": 1, "arrived": 0}
    observe(sentinel, "outcomes", ManifestEvent(schema_version=1, kind="manifest", references=(), **paper))
    assert sentinel.stopped_at().startswith("linker: no reference was decided")
    observe(sentinel, "outcomes", outcome(sentinel, "r1", cited=sentinel.work.id, method="identifier"))
    assert sentinel.stopped_at().startswith("linker: a reference was not decided")
    opened = Open(reference=Reference(id=f"{sentinel.citing}#r2.1", citing=sentinel.citing, position=2))
    observe(sentinel, "fallback", FallbackEvent(schema_version=1, catalog_offset=1, items=(opened,), **paper))
    assert sentinel.stopped_at().startswith("fallback: ")
    observe(sentinel, "outcomes", outcome(sentinel, "r2", unresolved="no-candidate"))
    assert sentinel.stopped_at().startswith("ledger: ")


def test_records_of_other_papers_are_ignored():
    sentinel, other = Sentinel("00", version=1), Sentinel("01", version=1)
    observe(sentinel, "outcomes", outcome(other, "r1"), key=other.citing)
    observe(sentinel, "catalog", CatalogEvent(schema_version=1, work=other.work), key=other.work.id)
    assert sentinel == Sentinel("00", version=1)


def test_the_worker_responsible_for_a_remaining_record_is_named():
    sentinel = Sentinel("00", version=1)
    assert sentinel.left_behind().startswith("parser: ")
    paper = {"citing": sentinel.citing, "paper_version": 2, "arrived": 0, "withdrawn": True}
    observe(sentinel, "outcomes", ManifestEvent(schema_version=1, kind="manifest", references=(), **paper))
    observe(sentinel, "catalog", CatalogEvent(schema_version=1, work=sentinel.work), key=sentinel.work.id)
    assert sentinel.left_behind() == f"broker: {sentinel.work.id} remains in the catalog topic"
    own = Work(id=sentinel.citing)
    observe(sentinel, "catalog", CatalogEvent(schema_version=1, work=own), key=own.id)
    assert sentinel.left_behind().startswith("ledger: the paper itself remains in the catalog topic: check that a ledger runs")


def test_the_paper_is_sent_again_only_if_it_was_decided_without_its_work():
    sentinel = Sentinel("00", version=1, offered=True, parsed=True, _sent_at=-inf)
    assert not sentinel.must_be_sent_again(), "not decided yet: the workers may have lag"
    for reference in ("r1", "r2"):
        observe(sentinel, "outcomes", outcome(sentinel, reference, unresolved="not-in-catalog"))
    assert sentinel.must_be_sent_again()
    sentinel._sent_at = monotonic()
    assert not sentinel.must_be_sent_again(), "the ledger may still re-evaluate it"
    sentinel._sent_at = -inf
    assert "at offset -1 of the catalog topic (not-in-catalog): compare reflink_catalog_offset" in sentinel.stopped_at()
    sentinel.version = 2
    assert not sentinel.must_be_sent_again(), "the next version was sent"

"""The export of the topic ``links`` from a real broker: the newest link of each reference at one moment, with a manifest."""

from __future__ import annotations

import json
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.kafka import new_prefix, read_all, send, worker_settings
from tests.reflink.graph.test_export import GOOD
from tests.workers.commands import Command, start
from tests.workers.echo import until
from workers.config.settings import KafkaSettings, WorkerSettings
from workers.errors import WrongTopic
from workers.kafka.clients import transactional_producer
from workers.kafka.topics import partition_of
from workers.kafka.transactional_producer import BoundedProducer
from workers.tools.link_export import export

FORMATS = ("parquet", "csv", "jsonl")


def link(citing: str, number: int = 1, cited: str | None = "pmid:1") -> tuple[bytes, bytes]:
    reference = f"{citing}#b{number}.1"
    event = {**GOOD, "link": {"reference": reference, "citing": citing, "cited": cited}}
    return reference.encode(), json.dumps(event).encode()


def papers_of(partition: int, count: int) -> list[str]:
    names = (f"doi:10.1/{number}" for number in range(1000))
    return [name for name in names if partition_of(name.encode(), 3) == partition][:count]


def publish(producer: BoundedProducer, kafka: KafkaSettings, *records: tuple[bytes, bytes | None]) -> None:
    """Send each record to the partition of the citing paper, as the ledger does."""
    for key, value in records:
        citing = key.partition(b"#")[0]
        producer.send(kafka.topic("links"), key=key, value=value, partition=partition_of(citing, 3))
    producer.producer.flush()


@contextmanager
def ledger(kafka: KafkaSettings, state: Path, slot: str = "a") -> Iterator[BoundedProducer]:
    settings: WorkerSettings = worker_settings(kafka, state, slot=slot, transaction_timeout_s=600)
    producer = BoundedProducer(transactional_producer(settings, "ledger"), 60.0)
    try:
        producer.init_transactions()
        yield producer
    finally:
        producer.close(5)


def committed(producer: BoundedProducer, kafka: KafkaSettings, *records: tuple[bytes, bytes | None]) -> None:
    producer.begin_transaction()
    publish(producer, kafka, *records)
    producer.commit_transaction()


def exported(out: Path) -> dict[str, str | None]:
    lines = map(json.loads, (out / "links.jsonl").read_text().splitlines())
    return {line["link"]["reference"]: line["link"]["cited"] for line in lines}


def test_the_newest_link_of_each_reference_is_exported_and_aborted_links_are_not(
    kafka: KafkaSettings, state: Path, tmp_path: Path
):
    (a, b), (c,), (d,) = papers_of(0, 2), papers_of(1, 1), papers_of(2, 1)
    with ledger(kafka, state) as producer:
        committed(producer, kafka, link(a), link(b), link(c), link(d))
        producer.begin_transaction()
        publish(producer, kafka, link(a, cited="pmid:666"), link(d, 6))
        producer.abort_transaction()
        committed(producer, kafka, link(b, cited=None), (link(c)[0], None), link(d, 2, "pmid:2"))
    out = tmp_path / "graph"
    manifest = export(kafka, out, FORMATS)
    wanted = {f"{a}#b1.1": "pmid:1", f"{b}#b1.1": None, f"{d}#b1.1": "pmid:1", f"{d}#b2.1": "pmid:2"}
    assert exported(out) == wanted
    table = pyarrow.parquet.read_table(out / "links.parquet")
    assert dict(zip(table["reference"].to_pylist(), table["cited"].to_pylist(), strict=True)) == wanted
    assert (out / "citations.csv").read_text().splitlines()[0] == "oci,citing,cited,creation,timespan,journal_sc,author_sc"
    assert json.loads((out / "manifest.json").read_text()) == manifest
    source = manifest["source"]
    assert (source["topic"], source["whole_transactions"], source["records"]) == (kafka.topic("links"), True, 7)
    assert source["cluster"]
    last = {str(each): 0 for each in range(3)}
    for record in read_all(kafka, "links"):
        last[str(record.partition)] = record.offset
    assert all(source["offsets"][partition] > offset for partition, offset in last.items())
    assert (manifest["references"], manifest["linked"], manifest["unresolved"]) == (4, 3, 1)


def test_the_export_waits_for_an_open_transaction_or_reports_it(kafka: KafkaSettings, state: Path, tmp_path: Path):
    (a,), (b,) = papers_of(0, 1), papers_of(1, 1)
    with ledger(kafka, state) as producer:
        committed(producer, kafka, link(a), link(b))
        producer.begin_transaction()
        publish(producer, kafka, link(a, cited="pmid:2"), link(b, cited="pmid:2"))
        torn = export(kafka, tmp_path / "now", ("jsonl",), wait_s=0)
        assert torn["source"]["whole_transactions"] is False
        assert set(exported(tmp_path / "now").values()) == {"pmid:1"}
        end = threading.Timer(1.0, producer.commit_transaction)
        end.start()
        whole = export(kafka, tmp_path / "then", ("jsonl",), wait_s=60)
        end.join()
    assert whole["source"]["whole_transactions"] is True
    assert set(exported(tmp_path / "then").values()) == {"pmid:2"}


def test_a_transaction_is_in_the_export_with_all_partitions_or_with_none(kafka: KafkaSettings, state: Path, tmp_path: Path):
    """Each transaction of a ledger writes one value to three partitions, so every whole export has one value."""
    papers = [papers_of(partition, 1)[0] for partition in range(3)]
    stop, written = threading.Event(), 0
    with ledger(kafka, state) as producer:

        def write() -> None:
            nonlocal written
            while not stop.is_set():
                written += 1
                committed(producer, kafka, *(link(paper, cited=f"pmid:{written}") for paper in papers))
                stop.wait(random.uniform(0, 0.5))  # long enough for two requests of an export now and then

        thread = threading.Thread(target=write)
        thread.start()
        try:
            until(lambda: read_all(kafka, "links"))
            manifests = [export(kafka, tmp_path / str(n), ("jsonl",), wait_s=60) for n in range(4)]
        finally:
            stop.set()
            thread.join()
    assert all(manifest["source"]["whole_transactions"] for manifest in manifests)
    found = [exported(tmp_path / str(n)) for n in range(4)]
    assert all(len(set(each.values())) <= 1 and len(each) in (0, 3) for each in found), found
    assert any(found)


def test_unreadable_records_are_listed_and_the_exit_code_is_1(
    kafka: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
):
    newer = json.dumps({**GOOD, "schema_version": 2}).encode()
    send(kafka, "links", [link("doi:10.1/a"), (b"doi:10.1/b#b1.1", newer), (b"doi:10.1/c#b1.1", b'{"schema'), (b"\xff", b"{}")])
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", kafka.kafka_bootstrap_servers)
    out = tmp_path / "graph"
    arguments = ["export", "--out", str(out), "--prefix", kafka.topic_prefix, "--format", "csv", "jsonl", "--json"]
    code, shown, err = command(*arguments)
    manifest = json.loads(shown)
    assert (code, manifest["folder"], manifest["references"], manifest["unreadable"]) == (1, str(out), 1, 3)
    assert "reflink-worker: 3 records cannot be read" in err
    listed = [json.loads(line) for line in (out / "unreadable.jsonl").read_text().splitlines()]
    assert {each["key"]: each["why"].split()[0] for each in listed} == {
        "doi:10.1/b#b1.1": "schema_version",
        "doi:10.1/c#b1.1": "not",
        "\\xff": "schema_version",
    }
    code, _, err = command(*arguments)
    assert (code, "ExportFailed" in err) == (1, True), "the folder exists"


def test_an_empty_topic_is_an_empty_graph(kafka: KafkaSettings, tmp_path: Path):
    manifest = export(kafka, tmp_path / "graph", FORMATS)
    assert (manifest["references"], manifest["source"]["offsets"]) == (0, {"0": 0, "1": 0, "2": 0})
    assert pyarrow.parquet.read_table(tmp_path / "graph" / "links.parquet").num_rows == 0


def test_a_missing_topic_is_refused_and_no_file_remains(kafka: KafkaSettings, tmp_path: Path):
    with pytest.raises(WrongTopic, match="does not exist"):
        export(kafka.model_copy(update={"topic_prefix": new_prefix()}), tmp_path / "graph", ("csv",))
    assert list(tmp_path.iterdir()) == []


def test_sigterm_ends_the_export_with_143_and_no_file_remains(kafka: KafkaSettings, state: Path, tmp_path: Path):
    with ledger(kafka, state) as producer:
        producer.begin_transaction()
        publish(producer, kafka, link("doi:10.1/a"))
        arguments = ("--out", tmp_path / "graph", "--format", "csv", "--wait", "600")
        process = start("workers.cli", "export", *arguments, kafka=kafka)
        until(lambda: list(tmp_path.glob(".graph.*/table")))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    assert not list(tmp_path.glob("*graph*"))

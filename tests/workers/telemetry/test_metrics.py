"""The metrics of real workers: before the first record, and after papers were processed."""

from __future__ import annotations

import http.client
import math
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import Counter, Gauge, Histogram

from reflink.catalog import Catalog
from reflink.catalog import snapshot as snapshots
from reflink.entities import Work
from schemas import SCHEMA_VERSION, CatalogEvent
from tests.kafka import create_topics, new_prefix, send, worker_settings
from tests.programs import program
from tests.workers.corpus import example_papers, loaded
from tests.workers.echo import until
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import show_next
from workers.config.settings import CatalogSettings, KafkaSettings
from workers.devkit.processes import WORKERS, Metrics, Pipeline, Process
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import publish, record_of
from workers.runtime.initial_series import free_bytes, size_bytes
from workers.telemetry import metrics

#: Series that must exist before the first record, because alerts use their increase.
FROM_THE_START: Final[dict[str, list[tuple[str, dict[str, str]]]]] = {
    "parser": [
        ("reflink_records_in_total", {"topic": "papers"}),
        ("reflink_records_out_total", {"topic": "references"}),
        ("reflink_parsed_references_total", {"fields": "unread"}),
        ("reflink_dead_letters_total", {"topic": "papers", "reason": "NotAPaper"}),
        ("reflink_dead_letters_total", {"topic": "papers", "reason": "KilledWorker"}),
    ],
    "linker": [
        ("reflink_records_in_total", {"topic": "references"}),
        ("reflink_outcomes_total", {"method": "place", "reason": ""}),
        ("reflink_outcomes_total", {"method": "", "reason": "not-in-catalog"}),
        ("reflink_dead_letters_total", {"topic": "retries", "reason": "BadVector"}),
        ("reflink_score_count", {"method": "semantic"}),
        ("reflink_stage_seconds_count", {"step": "follow"}),
        ("reflink_encoder_out_of_memory_total", {}),
    ],
    "fallback": [
        ("reflink_records_in_total", {"topic": "fallback"}),
        ("reflink_probability_bucket", {"linked": "no", "le": "0.5"}),
    ],
    "ledger": [
        ("reflink_end_to_end_seconds_bucket", {"live": "yes", "le": "30.0"}),
        ("reflink_ledger_decisions_total", {"decision": "late"}),
        ("reflink_dead_letters_total", {"topic": "catalog", "reason": "BadRecord"}),
        ("reflink_dead_letters_total", {"topic": "overrides", "reason": "BadRecord"}),
        ("reflink_absent_share_references", {"source": "all"}),
    ],
}
EVERYWHERE: Final = [
    ("reflink_transactions_total", {"end": "aborted"}),
    ("reflink_rebalances_total", {"kind": "lost"}),
    ("reflink_stage_seconds_count", {"step": "wait"}),
]


def scraped(process: Process) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=20)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


@pytest.fixture(scope="module")
def scrapes(broker, works, snapshot, tmp_path_factory) -> Iterator[tuple[dict[str, str], dict[str, str], Path]]:
    """Yield the text of /metrics of each worker, before the first paper and after the last, and the workers' snapshot."""
    kafka = create_topics(broker.address, new_prefix())
    folder = tmp_path_factory.mktemp("metrics")
    settings = {
        "catalog_snapshot": loaded(works, snapshot, kafka, folder),
        "kafka_bootstrap_servers": broker.address,
        "topic_prefix": kafka.topic_prefix,
        "lag_interval_s": 0.3,
        "idle_commit_s": 0.2,
    }
    with Pipeline(folder, **settings) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        # The metric is set after each poll, so a moment after the probe succeeds.
        until(
            lambda: all(each.metrics().sum("reflink_ready") for each in pipeline.processes), 60, "all say that they are ready"
        )
        before = {each.worker: scraped(each) for each in pipeline.processes}
        with Sender(kafka) as sender:
            publish((record_of(name, data) for name, data in example_papers().items()), sender)
            sender.send("papers", b"bad", b"no paper at all")  # the third, beside two among the examples
        until(lambda: pipeline.check() or _quiet(pipeline), 180, "all is done")
        yield before, {each.worker: scraped(each) for each in pipeline.processes}, settings["catalog_snapshot"]


def _quiet(pipeline: Pipeline) -> bool:
    seen = {each.worker: each.metrics() for each in pipeline.processes}
    published = seen["ledger"].sum("reflink_end_to_end_seconds_count")
    behind = sum(each.sum("reflink_lag_records") + each.sum("reflink_catalog_lag_records") for each in seen.values())
    return published > 0 and behind == 0 and seen["parser"].sum("reflink_dead_letters_total") == 3


@pytest.mark.parametrize("worker", WORKERS)
def test_series_are_there_before_the_first_record(scrapes, worker):
    shown = Metrics.parse(scrapes[0][worker])
    for name, labels in (*EVERYWHERE, *FROM_THE_START[worker]):
        found = shown.find(name, **labels)
        assert len(found) == 1, (name, labels)
        # The ledger has already handled batches, of catalog events.
        assert found[0].value == 0.0 or name == "reflink_stage_seconds_count", (name, labels)
    assert shown.sum("reflink_ready") == 1
    assert time.time() - 600 < shown.sum("reflink_start_timestamp_seconds") < time.time()
    assert [each.labels for each in shown.find("reflink_build_info")] == [{"version": "0.1.0"}]
    assert 0 < shown.sum("reflink_state_free_bytes") <= shown.sum("reflink_state_size_bytes")


@pytest.mark.parametrize("worker", WORKERS)
def test_promtool_finds_no_fault_with_names_units_and_help(scrapes, worker):
    for text in (scrapes[0][worker], scrapes[1][worker]):
        ours = "".join(f"{line}\n" for line in text.splitlines() if "reflink_" in line)
        done = subprocess.run(
            [program("promtool"), "check", "metrics"], input=ours, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_promtool_would_have_found_one():
    bad = "# TYPE reflink_wait_milliseconds counter\nreflink_wait_milliseconds 1\n"
    done = subprocess.run([program("promtool"), "check", "metrics"], input=bad, capture_output=True, text=True, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize("worker", WORKERS)
def test_what_is_shown_is_what_is_declared(scrapes, worker):
    declared: dict[str, set[str]] = {}
    for each in vars(metrics).values():
        if isinstance(each, Counter | Gauge | Histogram):
            suffixes = {Counter: ("_total",), Histogram: ("_bucket", "_sum", "_count")}.get(type(each), ("",))
            declared |= {each._name + suffix: set(each._labelnames) for suffix in suffixes}
    for sample in Metrics.parse(scrapes[1][worker]).samples:
        if sample.name.startswith("reflink_"):
            assert set(sample.labels) - {"le"} == declared[sample.name]


@pytest.mark.parametrize("worker", WORKERS)
def test_no_label_grows_with_the_data(scrapes, worker):
    """No label contains papers, references or works, so the processed papers added few series."""
    before, after = (len(Metrics.parse(scrape[worker]).samples) for scrape in scrapes[:2])
    assert after - before < 120, "33 phrases of reasons, linked or not, are the most there is"


def test_what_went_through_is_seen(scrapes):
    after = {worker: Metrics.parse(text) for worker, text in scrapes[1].items()}
    for worker, shown in after.items():
        assert time.time() - 600 < shown.sum("reflink_last_commit_timestamp_seconds") < time.time(), worker
        assert shown.sum("reflink_transactions_total", end="committed") > 0
    assert after["parser"].sum("reflink_dead_letters_total", reason="NotAPaper") == 3
    assert after["parser"].sum("reflink_parsed_references_total", fields="tagged") > 0
    assert after["ledger"].sum("reflink_end_to_end_seconds_count", live="yes") > 0
    assert after["linker"].sum("reflink_outcomes_total", reason="") > 0
    (model,) = after["linker"].find("reflink_model_info")
    assert model.labels["model"].startswith("all-MiniLM-L6-v2@")


def test_the_snapshot_of_the_next_start_is_shown_with_its_time(scrapes):
    folder = scrapes[2]
    created = datetime.fromisoformat(Catalog.open(folder).manifest.created).timestamp()
    for worker in ("linker", "fallback"):
        assert Metrics.parse(scrapes[0][worker]).sum("reflink_catalog_snapshot_timestamp_seconds") == created
        assert Metrics.parse(scrapes[0][worker]).sum("reflink_catalog_snapshot_expected") == 1
    for worker in ("parser", "ledger"):
        assert Metrics.parse(scrapes[0][worker]).sum("reflink_catalog_snapshot_timestamp_seconds") == 0
        assert Metrics.parse(scrapes[0][worker]).sum("reflink_catalog_snapshot_expected") == 0


def shown_time(folder: Path | None) -> float:
    show_next(folder)
    return float(metrics.CATALOG_SNAPSHOT._value.get())


def test_a_snapshot_that_is_replaced_lost_or_damaged_is_shown_so(tmp_path: Path):
    assert shown_time(None) == 0.0
    for name in ("old", "new"):
        Catalog.empty().save(tmp_path / name)
        snapshots.bind(tmp_path / name, cluster="c", topic="catalog", offset=0, topic_id="t")
    current = tmp_path / "current"
    current.symlink_to("old")
    assert time.time() - 60 < shown_time(current) <= time.time()
    current.unlink()
    assert shown_time(current) == 0.0
    current.symlink_to("new")
    assert shown_time(current) > 0.0
    (current / "meta.json").write_bytes(b"{")
    assert shown_time(current) == 0.0


def test_the_catalogs_lag_is_told_before_it_is_taken_in_and_gone_afterwards(kafka: KafkaSettings, tmp_path: Path):
    settings = worker_settings(kafka, tmp_path, CatalogSettings)
    works = [Work(id=f"doi:10.5555/{number}", title="A title") for number in range(200)]
    event = [CatalogEvent(schema_version=SCHEMA_VERSION, work=work).to_json() for work in works]
    follower = CatalogFollower(settings, Catalog.empty(), None)

    def lag() -> float:
        return float(metrics.CATALOG_LAG._value.get())

    def follows() -> bool:
        follower.apply(0.0)
        return lag() > 0

    try:
        follower.start()
        send(kafka, "catalog", [(work.id.encode(), each) for work, each in zip(works, event, strict=True)])
        until(follows, 30, "the follower hears of the end")
        assert 0 < lag() <= 200
        follower.wait_for(200, 30)
        assert lag() == 0
    finally:
        follower.close()


def test_a_folder_that_does_not_answer_keeps_no_one_from_following(
    kafka: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """This is the state of a network file system that hangs: a thread that reads the folder waits forever."""
    answered, asked = threading.Event(), threading.Event()

    def look(_: Path | None) -> None:
        asked.set()
        answered.wait()

    monkeypatch.setattr("workers.catalog.follower._SNAPSHOT_CHECK_S", 0.0)
    monkeypatch.setattr("workers.catalog.follower.show_next", look)
    follower = CatalogFollower(
        worker_settings(kafka, tmp_path, CatalogSettings, catalog_snapshot=tmp_path), Catalog.empty(), None
    )
    try:
        follower.start()
        assert asked.wait(30)
        send(kafka, "catalog", [(b"doi:10.5555/1", None)])
        follower.wait_for(1, 30)
    finally:
        answered.set()
        follower.close()


def test_a_folder_that_is_not_there_has_no_bytes_known(tmp_path: Path):
    assert math.isnan(free_bytes(tmp_path / "gone"))
    assert math.isnan(size_bytes(tmp_path / "gone"))
    assert 0 <= free_bytes(tmp_path) <= size_bytes(tmp_path)


def test_the_objective_has_a_bound_of_its_own():
    assert 30.0 in metrics.END_TO_END_SECONDS._upper_bounds

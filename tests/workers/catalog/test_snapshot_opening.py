"""Snapshots from which a worker starts, snapshots that it skips for an alternative, and snapshots that end it."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reflink.catalog import Catalog, snapshot
from reflink.catalog.manifest import MANIFEST
from reflink.entities import Work
from reflink.errors import SnapshotError, UnusableSnapshot
from schemas import CatalogEvent
from tests.kafka import send, worker_settings
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import check_origin, open_catalog
from workers.config.settings import CatalogSettings, KafkaSettings
from workers.kafka.topics import TopicAdmin
from workers.telemetry import metrics

CLUSTER, TOPIC = "cluster", "reflink.catalog"
OLD = "2020-01-01T00:00:00+00:00"


def changed(folder: Path, **what: object) -> None:
    """Write a manifest with these changes and a valid checksum."""
    manifest = snapshot.read(folder).model_copy(update=what)
    (folder / MANIFEST).write_bytes(manifest.to_bytes())


def test_the_age_of_a_bound_snapshot_counts_from_binding_not_from_building(tmp_path: Path):
    folder = tmp_path / "catalog"
    Catalog.empty(lexical_mode=None).save(folder)
    changed(folder, created=OLD)
    snapshot.bind(folder, cluster=CLUSTER, topic=TOPIC, offset=0)
    settings = CatalogSettings(catalog_snapshot=folder)
    check_origin(Catalog.open(folder), CLUSTER, settings)
    changed(folder, created=OLD)
    with pytest.raises(UnusableSnapshot, match="days old"):
        check_origin(Catalog.open(folder), CLUSTER, settings)
    with pytest.raises(SnapshotError, match="follows"):
        check_origin(Catalog.open(folder), "elsewhere", settings)


def test_a_snapshot_from_the_future_is_unusable(tmp_path: Path):
    folder = tmp_path / "catalog"
    Catalog.empty(lexical_mode=None).save(folder)
    settings = CatalogSettings(catalog_snapshot=folder)
    snapshot.bind(folder, cluster=CLUSTER, topic=TOPIC, offset=0, as_of=datetime.now(UTC) + timedelta(minutes=5))
    check_origin(Catalog.open(folder), CLUSTER, settings)
    snapshot.bind(folder, cluster=CLUSTER, topic=TOPIC, offset=0, as_of=datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(UnusableSnapshot, match="is in the future, so its age is unknown: correct the clock"):
        check_origin(Catalog.open(folder), CLUSTER, settings)


def works(count: int) -> list[Work]:
    return [Work(id=f"doi:10.1/{number}", title=f"Title {number}") for number in range(count)]


@pytest.fixture
def settings(kafka: KafkaSettings, tmp_path: Path) -> CatalogSettings:
    """Make a topic of five works, a snapshot of all of them, and a previous snapshot of the first three."""
    folder = tmp_path / "snapshots" / "catalog"
    send(kafka, "catalog", [(work.id.encode(), CatalogEvent(schema_version=1, work=work).to_json()) for work in works(5)])
    with TopicAdmin(kafka) as admin:
        cluster, topic_id = admin.cluster_id(), admin.topic_ids(["catalog"])["catalog"]
    assert topic_id
    for count in (3, 5):
        catalog = Catalog.empty()
        catalog.add(works(count))
        catalog.save(folder)
        snapshot.bind(folder, cluster=cluster, topic=kafka.topic("catalog"), offset=count, topic_id=topic_id)
    chosen: CatalogSettings = worker_settings(kafka, tmp_path, CatalogSettings, catalog_snapshot=folder)
    return chosen


def started(settings: CatalogSettings, *, trigrams: bool = True) -> tuple[str, int]:
    """Return the source of a worker's catalog and its number of works when opened. Check that it then follows to all five."""
    catalog = open_catalog(settings, vectors=False, trigrams=trigrams, empty=Catalog.empty())
    count = len(catalog)
    follower = CatalogFollower(settings, catalog, None)
    try:
        follower.wait_for(follower.start(), 90)
    finally:
        follower.close()
    assert len(catalog) == 5
    states = {source: metrics.CATALOG_SOURCE.labels(source)._value.get() for source in ("snapshot", "previous", "topic")}
    assert sorted(states.values()) == [0, 0, 1]
    return max(states, key=lambda source: states[source]), count


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


#: Effects of time or of a fault on a snapshot. Only the first requires reading every byte to be found.
FAULTS: dict[str, Callable[[Path], object]] = {
    "a flipped bit": lambda folder: flip(folder / "trigrams" / "postings.npy"),
    "a torn manifest": lambda folder: cut(folder / MANIFEST),
    "a lost manifest": lambda folder: (folder / MANIFEST).unlink(),
    "a cut file": lambda folder: cut(folder / "works" / "works.jsonl.zst"),
    "a lost file": lambda folder: (folder / "works" / "rows.npy").unlink(),
    "another format": lambda folder: changed(folder, format=0),
    "too old": lambda folder: changed(folder, created=OLD),
    "a recreated topic": lambda folder: changed(folder, topic_id="another"),
    "ahead of its topic": lambda folder: changed(folder, offset=99),
}


def test_a_worker_starts_from_a_valid_snapshot(settings: CatalogSettings):
    assert started(settings) == ("snapshot", 5)
    without = settings.model_copy(update={"catalog_snapshot": None})
    assert started(without) == ("topic", 0)


def test_an_unusable_snapshot_is_replaced_by_the_previous_snapshot_then_by_the_topic(
    settings: CatalogSettings,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    our_warnings: Callable[[], list[Any]],
):
    folder = settings.catalog_snapshot
    assert folder is not None
    shutil.copytree(folder.parent, tmp_path / "kept")
    for name, fault in FAULTS.items():
        shutil.rmtree(folder.parent)
        shutil.copytree(tmp_path / "kept", folder.parent)
        caplog.clear()
        fault(folder)
        assert started(settings) == ("previous", 3), name
        (line,) = [record for record in our_warnings() if record.levelno >= logging.ERROR]
        assert str(folder) in line.__dict__["reason"]
        assert "previous" in line.__dict__["instead"]
        caplog.clear()
        fault(snapshot.previous(folder))
        assert started(settings) == ("topic", 0), name
        lines = [record for record in our_warnings() if record.levelno >= logging.ERROR]
        assert len(lines) == 2
        assert "from its beginning" in lines[1].__dict__["instead"]


def test_the_topic_is_read_without_a_previous_snapshot(settings: CatalogSettings):
    assert settings.catalog_snapshot is not None
    shutil.rmtree(snapshot.previous(settings.catalog_snapshot))
    cut(settings.catalog_snapshot / MANIFEST)
    assert started(settings) == ("topic", 0)


def test_a_worker_with_a_copy_holds_no_file_of_the_snapshot(settings: CatalogSettings, tmp_path: Path):
    copying = settings.model_copy(update={"catalog_copy": tmp_path / "copy"})
    assert settings.catalog_snapshot is not None
    catalog = open_catalog(copying, vectors=False, trigrams=True, empty=Catalog.empty())
    mapped = Path("/proc/self/maps").read_text()
    assert str(tmp_path / "copy") in mapped
    assert str(settings.catalog_snapshot.resolve()) not in mapped
    shutil.rmtree(settings.catalog_snapshot)
    assert [catalog.get(work.id) for work in works(5)] == works(5)


def test_the_previous_snapshot_is_copied_if_the_newest_is_damaged(settings: CatalogSettings, tmp_path: Path):
    assert settings.catalog_snapshot is not None
    (settings.catalog_snapshot / MANIFEST).write_text("{")
    copying = settings.model_copy(update={"catalog_copy": tmp_path / "copy"})
    assert started(copying) == ("previous", 3)


def test_a_missing_snapshot_is_replaced_by_the_previous_snapshot(settings: CatalogSettings):
    assert settings.catalog_snapshot is not None
    shutil.rmtree(settings.catalog_snapshot)
    assert started(settings) == ("previous", 3)


def test_content_is_not_verified_if_the_setting_is_off_or_it_is_not_opened(settings: CatalogSettings):
    assert settings.catalog_snapshot is not None
    flip(settings.catalog_snapshot / "trigrams" / "postings.npy")
    assert started(settings.model_copy(update={"verify_snapshot": False})) == ("snapshot", 5)
    assert started(settings, trigrams=False) == ("snapshot", 5), "trigrams are not opened"


def test_a_wrong_choice_of_snapshot_ends_the_worker(settings: CatalogSettings, tmp_path: Path):
    folder = settings.catalog_snapshot
    assert folder is not None
    mistakes: list[tuple[dict[str, object], str]] = [
        ({"cluster": "another"}, "on cluster another"),
        ({"topic": None}, "of no topic"),
        ({"lexical_mode": "T", "trigrams": None}, "no trigrams"),
    ]
    for change, message in mistakes:
        before = (folder / MANIFEST).read_bytes()
        changed(folder, **change)
        with pytest.raises(SnapshotError, match=message) as caught:
            started(settings)
        assert not isinstance(caught.value, UnusableSnapshot)
        (folder / MANIFEST).write_bytes(before)
    with pytest.raises(SnapshotError, match="has no vectors"):
        open_catalog(settings, vectors=True, trigrams=False, empty=Catalog.empty(dim=8, model="m", precision="fp32"))
    (tmp_path / "thesis").mkdir()
    for wrong in ("absent", "thesis"):
        with pytest.raises(SnapshotError, match=r"no such folder|not a catalog"):
            started(settings.model_copy(update={"catalog_snapshot": tmp_path / wrong}))


def test_vectors_and_trigrams_of_another_kind_end_the_worker(settings: CatalogSettings):
    """There is no later check: the linker and the fallback use the catalog that they get here."""
    folder = settings.catalog_snapshot
    assert folder is not None
    with pytest.raises(SnapshotError, match=r"has trigrams of mode Raw, but REFLINK_LEXICAL_MODE is T: build it again"):
        open_catalog(settings, vectors=False, trigrams=True, empty=Catalog.empty(lexical_mode="T"))
    bound = snapshot.read(folder)
    catalog = Catalog.empty(dim=8, model="m@1", precision="fp32", lexical_mode=None)
    catalog.save(folder, keep_previous=False, cluster=bound.cluster, topic=bound.topic, offset=0)

    def opened(**other: str) -> Catalog:
        wanted: Any = {"model": "m@1", "precision": "fp32", "mode": catalog.mode, **other}
        return open_catalog(settings, vectors=True, trigrams=False, empty=Catalog.empty(dim=8, lexical_mode=None, **wanted))

    assert len(opened()) == 0
    for what, name in {"model": "m@2", "precision": "bf16", "mode": "T", "separator": "~"}.items():
        with pytest.raises(SnapshotError, match=rf"vectors are of {what} .*, not '?{name}'?: build it again"):
            opened(**{what: name})


def test_an_unusable_previous_snapshot_does_not_end_the_worker(settings: CatalogSettings):
    assert settings.catalog_snapshot is not None
    cut(settings.catalog_snapshot / MANIFEST)
    changed(snapshot.previous(settings.catalog_snapshot), cluster="another")
    assert started(settings) == ("topic", 0)

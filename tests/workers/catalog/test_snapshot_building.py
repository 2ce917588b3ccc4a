"""Snapshots made from the topic: their content, the snapshots that they continue, and the files that they do not change."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reflink.catalog import Catalog, generations, snapshot
from reflink.catalog.manifest import MANIFEST
from reflink.entities import Ids, Work
from reflink.errors import SnapshotError
from schemas import CatalogEvent
from tests.data import ROOT
from tests.kafka import create_topics, new_prefix, send, worker_settings
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_building import Made, make
from workers.catalog.snapshot_opening import OLDEST, open_catalog
from workers.config.settings import CatalogSettings, KafkaSettings, LinkerSettings
from workers.devkit.broker import Broker


class Words:
    """An encoder that hashes words, and records the texts that it encoded."""

    name, precision, dim, separator = "words@1", "fp32", 32, " "

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        vectors = np.full((len(texts), self.dim), 0.01, np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                vectors[row, sum(word.encode()) % self.dim] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def encoder() -> Words:
    return Words()


@pytest.fixture
def settings(kafka: KafkaSettings, tmp_path: Path) -> LinkerSettings:
    chosen: LinkerSettings = worker_settings(kafka, tmp_path / "state", LinkerSettings)
    return chosen


def work(number: int, title: str = "") -> Work:
    doi = f"10.1/{number}"
    return Work(id=f"doi:{doi}", ids=Ids(doi=doi), title=title or f"A title of number {number}", volume="7", fpage=str(number))


def put(kafka: KafkaSettings, *works: Work | str) -> None:
    """Send works, and tombstones for ids of works, to the catalog topic."""
    send(
        kafka,
        "catalog",
        [
            (each.encode(), None)
            if isinstance(each, str)
            else (each.id.encode(), CatalogEvent(schema_version=1, work=each).to_json())
            for each in works
        ],
    )


def made(out: Path, settings: LinkerSettings, encoder: Words | None, **more: Any) -> Made:
    return make(out, settings, encoder, **{"lexical_mode": "Raw", "keep": 3, **more})


def ids(catalog: Catalog) -> list[str]:
    return sorted(each.id for each in catalog)


def age(folder: Path, days: float) -> None:
    """Set the snapshot's time of creation to ``days`` before now."""
    manifest = snapshot.read(folder)
    created = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    (folder / MANIFEST).write_bytes(manifest.model_copy(update={"created": created}).to_bytes())


def opened(settings: KafkaSettings, folder: Path, encoder: Words, tmp_path: Path) -> Catalog:
    """Open the snapshot with vectors, as a linker does, and with trigrams, as a fallback worker does."""
    chosen = worker_settings(settings, tmp_path / "state", CatalogSettings, catalog_snapshot=folder)
    empty = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision, separator=encoder.separator)
    return open_catalog(chosen, vectors=True, trigrams=True, empty=empty)


def test_the_first_snapshot_has_the_whole_topic_and_the_next_continues_it(
    settings: LinkerSettings, encoder: Words, tmp_path: Path
):
    out = tmp_path / "catalogs"
    put(settings, *map(work, range(4)), work(1, "Another title"), "doi:10.1/2")
    first = made(out, settings, encoder)
    assert (first.what, first.works, first.offset, first.events) == ("written", 3, 6, 6)
    assert (out / "current").resolve() == first.folder.resolve()
    catalog = opened(settings, out / "current", encoder, tmp_path)
    assert ids(catalog) == [work(number).id for number in (0, 1, 3)]
    assert catalog.offset == 6
    assert catalog.vectors is not None
    assert catalog.trigrams is not None
    assert len(catalog.vectors) == len(catalog.trigrams) == 3
    encoder.encoded.clear()
    put(settings, work(8), "doi:10.1/0")
    second = made(out, settings, encoder)
    assert (second.what, second.works, second.events) == ("written", 3, 2)
    assert len(encoder.encoded) == 1, "known works are not encoded again"
    snapshot.verify(second.folder)
    anew = made(tmp_path / "anew", settings, encoder)
    assert sorted(Catalog.open(second.folder), key=lambda each: each.id) == sorted(
        Catalog.open(anew.folder), key=lambda each: each.id
    )
    for name in ("ids.npy", "vectors.npy"):
        assert (anew.folder / "vectors" / name).read_bytes() == (second.folder / "vectors" / name).read_bytes()


def test_an_unchanged_topic_only_refreshes_the_age(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    put(settings, work(1))
    first = made(out, settings, encoder)
    before = {each: each.stat().st_mtime_ns for each in out.rglob("*") if each.name != ".lock"}
    again = made(out, settings, encoder)
    assert (again.what, again.folder.name, again.events) == ("unchanged", first.folder.name, 0)
    assert {each: each.stat().st_mtime_ns for each in out.rglob("*") if each.name != ".lock"} == before
    age(first.folder, OLDEST.days * 0.6)
    assert made(out, settings, encoder).what == "refreshed"
    assert datetime.now(UTC) - datetime.fromisoformat(snapshot.read(first.folder).created) < timedelta(hours=1)
    snapshot.verify(first.folder)
    assert generations.all_in(out) == [first.folder]


def test_an_empty_topic_makes_an_empty_snapshot(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    assert made(tmp_path / "catalogs", settings, encoder).works == 0
    assert ids(opened(settings, tmp_path / "catalogs" / "current", encoder, tmp_path)) == []


def test_a_reader_of_a_removed_snapshot_continues(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    put(settings, *map(work, range(20)))
    made(out, settings, encoder, keep=2)
    reader = opened(settings, out / "current", encoder, tmp_path)
    follower = CatalogFollower(worker_settings(settings, tmp_path / "state", CatalogSettings), reader, encoder)
    end = follower.start()
    try:
        for number in range(100, 103):
            put(settings, work(number))
            newest = made(out, settings, encoder, keep=2)
        assert len(generations.all_in(out)) == 2
        assert generations.previous(out / "current") == generations.all_in(out)[0]
        follower.wait_for(end + 3, 60)
        assert ids(reader) == ids(Catalog.open(newest.folder))
        assert reader.get("doi:10.1/7") == work(7), "from a removed file"
    finally:
        follower.close()


def test_readers_write_nothing_beside_a_snapshot(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    put(settings, *map(work, range(5)))
    made(out, settings, encoder)
    state = {each: each.lstat().st_mtime_ns for each in (out, *out.rglob("*"))}
    catalog = opened(settings, out / "current", encoder, tmp_path)
    follower = CatalogFollower(worker_settings(settings, tmp_path / "state", CatalogSettings), catalog, encoder)
    try:
        put(settings, work(9), "doi:10.1/3")
        follower.wait_for(follower.start(), 60)
        assert catalog.lookup(Ids(doi="10.1/9"))
    finally:
        follower.close()
    # A file that was made and removed again would have changed its folder's modification time.
    assert {each: each.lstat().st_mtime_ns for each in (out, *out.rglob("*"))} == state


def test_a_damaged_snapshot_is_replaced_by_the_previous_snapshot(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    for number in range(2):
        put(settings, work(number))
        newest = made(out, settings, encoder)
    (newest.folder / "works" / "works.jsonl.zst").write_bytes(b"")
    assert ids(opened(settings, out / "current", encoder, tmp_path)) == ["doi:10.1/0"]
    encoder.encoded.clear()
    mended = made(out, settings, encoder)
    assert (mended.what, mended.works, len(encoder.encoded)) == ("written", 2, 1)


def test_only_the_vectors_of_an_old_snapshot_are_used(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    put(settings, *map(work, range(3)))
    age(made(out, settings, encoder).folder, OLDEST.days + 2)
    put(settings, work(3))
    encoder.encoded.clear()
    anew = made(out, settings, encoder)
    assert (anew.works, anew.events, len(encoder.encoded)) == (4, 4, 1)


def test_a_snapshot_of_another_model_is_rebuilt(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    put(settings, *map(work, range(3)))
    made(out, settings, encoder)
    encoder.name = "words@2"
    encoder.encoded.clear()
    anew = made(out, settings, encoder)
    assert (anew.what, anew.events, len(encoder.encoded)) == ("written", 3, 3)
    assert snapshot.read(out / "current").model == "words@2"


def test_a_snapshot_for_a_search_engine_has_works_alone(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    put(settings, *map(work, range(3)))
    made(out, settings, encoder)
    put(settings, work(3), "doi:10.1/0")
    bare = made(out, settings, None, lexical_mode=None)
    assert (bare.what, bare.works, bare.events) == ("written", 3, 2), "it continues a snapshot that has vectors"
    manifest = snapshot.read(out / "current")
    assert (manifest.vectors, manifest.trigrams) == (None, None)
    chosen = worker_settings(settings, tmp_path / "state", CatalogSettings, catalog_snapshot=out / "current")
    catalog = open_catalog(chosen, vectors=False, trigrams=False, empty=Catalog.empty(lexical_mode=None))
    assert ids(catalog) == [work(number).id for number in (1, 2, 3)]
    assert catalog.offset == 5
    put(settings, work(4))
    again = [made(out, settings, None, lexical_mode=None) for _ in range(2)]
    assert [(each.what, each.events) for each in again] == [("written", 1), ("unchanged", 0)]
    anew = made(out, settings, encoder)
    assert (anew.events, anew.works) == (6, 4), "one with vectors is built anew"
    assert snapshot.read(out / "current").vectors == 4


def test_the_command_makes_a_snapshot_without_vectors_for_a_search_engine(kafka: KafkaSettings, tmp_path: Path):
    put(kafka, *map(work, range(3)))
    engine = {"REFLINK_ENGINE": "opensearch", "REFLINK_ENGINE_URLS": "http://nobody:9200", "REFLINK_MODEL": "/no/such/model"}
    done, rest = command(kafka, tmp_path / "catalogs", **engine).communicate(timeout=120)
    assert '"works": 3' in done.replace('":3', '": 3'), rest
    assert snapshot.read(tmp_path / "catalogs" / "current").vectors is None


def test_a_snapshot_of_another_topic_is_rejected(settings: LinkerSettings, encoder: Words, broker: Broker, tmp_path: Path):
    out = tmp_path / "catalogs"
    before = made(out, settings, encoder).folder
    other = create_topics(broker.address, new_prefix())
    with pytest.raises(SnapshotError, match="choose another folder"):
        made(out, worker_settings(other, tmp_path / "state", LinkerSettings), encoder)
    assert generations.current(out) == before.resolve()


def test_the_first_snapshot_takes_only_vectors_from_a_built_folder(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    built = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision, separator=encoder.separator)
    built.add_encoded([*map(work, range(3)), work(50)], encoder)
    built.save(tmp_path / "built")
    put(settings, *map(work, range(4)))
    encoder.encoded.clear()
    first = made(tmp_path / "catalogs", settings, encoder, source=tmp_path / "built")
    assert (first.works, first.events, len(encoder.encoded)) == (4, 4, 1)
    with pytest.raises(SnapshotError, match="no such folder"):
        made(tmp_path / "others", settings, encoder, source=tmp_path / "absent")


def test_the_first_snapshot_continues_a_folder_that_is_bound_to_the_topic(
    settings: LinkerSettings, encoder: Words, tmp_path: Path
):
    put(settings, *map(work, range(3)))
    bound = made(tmp_path / "elsewhere", settings, encoder).folder
    put(settings, work(3))
    first = made(tmp_path / "catalogs", settings, encoder, source=bound)
    assert (first.what, first.works, first.events) == ("written", 4, 1)


def test_an_exception_leaves_no_new_snapshot(
    settings: LinkerSettings, encoder: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "catalogs"
    put(settings, work(1))
    before = made(out, settings, encoder).folder
    put(settings, work(2))

    def end(*_: object) -> None:
        raise SystemExit(143)

    monkeypatch.setattr("reflink.catalog.manifest.checksums.of_all", end)
    with pytest.raises(SystemExit):
        made(out, settings, encoder)
    assert {each.name for each in out.iterdir()} == {before.name, "current", ".lock"}


def test_a_full_disk_raises_an_error_with_the_required_space(
    settings: LinkerSettings, encoder: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(settings, work(1))

    def full(*_: object) -> None:
        raise OSError("76340 requested and 28544 written")  # numpy's message

    monkeypatch.setattr("reflink.catalog.manifest.checksums.of_all", full)
    with pytest.raises(SnapshotError, match=r"catalogs.*cannot be written: 76340 requested .* must have room for 4 snapshots"):
        made(tmp_path / "catalogs", settings, encoder)


def test_a_snapshot_from_the_future_is_rebuilt(settings: LinkerSettings, encoder: Words, tmp_path: Path):
    out = tmp_path / "catalogs"
    put(settings, work(1))
    age(made(out, settings, encoder).folder, -400)
    again = made(out, settings, encoder)
    assert (again.what, again.events) == ("written", 1), "its age is not known, so tombstones may be gone"
    assert generations.current(out) == again.folder.resolve()


# `current` in a worker


def test_a_worker_reads_the_topic_and_warns_before_the_first_snapshot(
    settings: LinkerSettings,
    encoder: Words,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    our_warnings: Callable[[], list[logging.LogRecord]],
):
    (tmp_path / "catalogs").mkdir()
    assert len(opened(settings, tmp_path / "catalogs" / "current", encoder, tmp_path)) == 0
    (line,) = our_warnings()
    assert line.getMessage() == "no catalog snapshot exists yet"
    for wrong in (tmp_path / "catalogs" / "curent", tmp_path / "not-mounted" / "current"):
        with pytest.raises(SnapshotError, match="no such folder"):
            opened(settings, wrong, encoder, tmp_path)


# The command


def test_a_number_to_keep_below_two_is_rejected(capsys: Any):
    from workers.cli import main

    with pytest.raises(SystemExit):
        main(["snapshot", "--out", "catalogs", "--keep", "1"])
    assert "'1' is not a number >= 2" in capsys.readouterr().err


def command(kafka: KafkaSettings, out: Path, **more: str) -> subprocess.Popen[str]:
    """Start the command with the real model in its own process; ``more``: further variables."""
    variables = {
        "REFLINK_KAFKA_BOOTSTRAP_SERVERS": kafka.kafka_bootstrap_servers,
        "REFLINK_TOPIC_PREFIX": kafka.topic_prefix,
        "REFLINK_PRECISION": "fp32",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "workers.cli", "snapshot", "--out", str(out), "--json"],
        env={**os.environ, **variables, **more},
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_the_command_ends_cleanly_at_sigterm_and_the_next_run_succeeds(
    kafka: KafkaSettings, settings: LinkerSettings, encoder: Words, tmp_path: Path
):
    out = tmp_path / "catalogs"
    put(kafka, *(work(number, f"A title of {number} " + "that takes long to encode " * 20) for number in range(2000)))
    process = command(kafka, out)
    assert process.stderr is not None
    for line in process.stderr:
        if "reading the catalog topic" in line:
            break
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 143, rest
    assert "Traceback" not in rest
    assert {each.name for each in out.iterdir()} == {".lock"}
    assert made(out, settings, encoder).works == 2000

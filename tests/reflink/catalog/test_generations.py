"""Snapshots in one folder: the current and the previous one, which ones are removed, and writers that are killed."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reflink.catalog import Catalog, Manifest, generations, snapshot
from reflink.errors import SnapshotError, UnusableSnapshot
from tests.killing import kills
from tests.reflink.catalog.works_of import work

BEGAN = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory if the machine has one, because every writer flushes its files."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield Path(folder) / "catalogs"


def name(hour: int) -> str:
    return generations.name_of(BEGAN + timedelta(hours=hour), 100 + hour)


def write(place: Path, hour: int) -> Path:
    """Write a minimal snapshot without publishing it."""
    with snapshot.publish(place / name(hour), Manifest(offset=100 + hour), keep_previous=False) as new:
        (new / "works").write_text(f"of hour {hour}")
    snapshot.bind(place / name(hour), cluster="c", topic="t", offset=100 + hour)
    return place / name(hour)


def make(place: Path, hour: int, keep: int = 3) -> None:
    with generations.alone(place):
        generations.publish(write(place, hour), keep)


def names(place: Path) -> list[str]:
    return [each.name for each in generations.all_in(place)]


def test_the_name_of_a_snapshot_is_its_time_and_offset():
    assert name(1) == "20261122T103000Z-000000000101"
    assert name(9) < name(10) < generations.name_of(BEGAN + timedelta(hours=10), 2_000_000_000_000)


def test_current_is_a_relative_link_to_the_newest_and_keep_snapshots_remain(place: Path):
    for hour in range(5):
        make(place, hour)
        assert (place / "current").readlink() == Path(name(hour))
        assert names(place) == [name(each) for each in range(max(0, hour - 2), hour + 1)]
    assert generations.current(place) == (place / name(4)).resolve()
    moved = place.rename(place.with_name("mounted"))
    assert snapshot.read(moved / "current").offset == 104


def test_at_least_two_snapshots_remain(place: Path):
    for hour in range(3):
        make(place, hour, keep=1)
    assert names(place) == [name(1), name(2)]


def test_the_previous_snapshot_is_the_next_older_neighbour(place: Path):
    for hour in range(3):
        make(place, hour)
    assert generations.previous(place / "current") == place / name(1)
    assert generations.previous(place / name(1)) == place / name(0)
    assert not generations.previous(place / name(0)).exists()
    (place / "current").unlink()
    assert generations.previous(place / "current") == place / name(2), "without a link, the newest"
    assert generations.previous(place / "other") == snapshot.previous(place / "other")


def test_a_link_set_back_by_an_operator_counts_and_the_next_writer_removes_newer_snapshots(place: Path):
    for hour in range(3):
        make(place, hour)
    (place / "current").unlink()
    (place / "current").symlink_to(name(0))
    assert generations.current(place) == (place / name(0)).resolve()
    make(place, 3)
    assert names(place) == [name(0), name(3)]


def test_none_yet_holds_for_an_existing_folder_without_snapshots(place: Path):
    link = place / "current"
    assert not generations.none_yet(link), "the place is missing: mistyped, or not mounted"
    place.mkdir()
    assert generations.none_yet(link)
    (place / "lost+found").mkdir()
    assert generations.none_yet(link)
    assert not generations.none_yet(place / "curent")
    link.symlink_to("nothing")
    assert not generations.none_yet(link)
    link.unlink()
    Catalog.empty(lexical_mode=None).save(place / "built")
    assert not generations.none_yet(link), "a snapshot of another name"
    shutil.rmtree(place / "built")
    write(place, 0)
    assert not generations.none_yet(link)


def test_a_second_writer_is_refused(place: Path):
    with generations.alone(place), pytest.raises(SnapshotError, match="another process is making a snapshot"):
        make(place, 0)
    make(place, 0)


def test_a_folder_named_current_is_not_replaced(place: Path):
    (place / "current").mkdir(parents=True)
    with pytest.raises(SnapshotError, match="is not a link to a snapshot: move it away"):
        make(place, 0)


def test_foreign_folders_remain(place: Path):
    place.mkdir()
    foreign = {"lost+found", "20261122", ".snapshots", "thesis"}
    for other in foreign:
        (place / other).mkdir()
    for hour in range(4):
        make(place, hour, keep=2)
    assert {each.name for each in place.iterdir()} == {name(2), name(3), "current", ".lock"} | foreign


def test_a_reader_keeps_a_snapshot_that_is_removed(place: Path):
    catalog = Catalog.empty()
    catalog.add([work(f"w{n}", "a title of some length", pmid=str(n + 1)) for n in range(50)])
    first = place / name(0)
    with generations.alone(place):
        catalog.save(first)
        generations.publish(first, 2)
    reader = Catalog.open(place / "current")
    for hour in range(1, 4):
        make(place, hour, keep=2)
    assert not first.exists()
    assert [each.id for each in reader] == [each.id for each in catalog]
    assert "w7" in (reader.trigrams or ())


def test_a_copy_outlives_its_snapshot_and_is_made_once(place: Path, tmp_path: Path):
    make(place, 0)
    into = tmp_path / "mine"
    copy = generations.copied(place / "current", into)
    assert copy == into / f"copy-of-{name(0)}"
    made = (copy / "works").stat()
    assert generations.copied(place / "current", into) == copy
    assert (copy / "works").stat().st_ino == made.st_ino
    shutil.rmtree(place / name(0))
    assert (copy / "works").read_text() == "of hour 0"


def test_a_newer_copy_replaces_the_old_one_and_the_files_of_a_killed_process(place: Path, tmp_path: Path):
    into = tmp_path / "mine"
    into.mkdir()
    (into / f".copy-of-{name(0)}.new").mkdir()
    (into / "theirs").write_text("stays")
    for hour in (0, 1):
        make(place, hour)
        generations.copied(place / "current", into)
    assert sorted(each.name for each in into.iterdir()) == [f"copy-of-{name(1)}", "theirs"]
    assert (into / f"copy-of-{name(1)}" / "works").read_text() == "of hour 1"


def test_a_rewritten_snapshot_is_copied_again(place: Path, tmp_path: Path):
    make(place, 0)
    generations.copied(place / "current", tmp_path)
    snapshot.bind(place / name(0), cluster="c", topic="t", offset=100, as_of=BEGAN + timedelta(days=1))
    assert snapshot.read(generations.copied(place / "current", tmp_path)) == snapshot.read(place / "current")


def test_a_copy_into_a_folder_of_snapshots_removes_none(place: Path, tmp_path: Path):
    for hour in range(3):
        make(place, hour)
    shutil.copytree(place / name(2), tmp_path / "built")
    generations.copied(tmp_path / "built", place)
    assert names(place) == [name(0), name(1), name(2)]


def test_a_failed_copy_leaves_nothing_and_gives_the_reason_once(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make(place, 0)

    def full(source: Path, target: Path) -> None:
        (target / "works").mkdir(parents=True)
        raise shutil.Error(
            [(str(source / each), str(target / each), "[Errno 28] No space left on device") for each in ("works", "vectors")]
        )

    monkeypatch.setattr("shutil.copytree", full)
    with pytest.raises(SnapshotError, match="No space left") as raised:
        generations.copied(place / "current", tmp_path / "mine")
    assert str(raised.value).count("No space left") == 1
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_file_system_without_locks_or_links_is_refused_before_any_work(place: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    with monkeypatch.context() as without:
        without.setattr("fcntl.flock", refuse)
        with pytest.raises(SnapshotError, match="cannot be locked: Operation not supported: choose a file system"):
            make(place, 0)
    monkeypatch.setattr(Path, "symlink_to", refuse)
    with pytest.raises(SnapshotError, match="no symbolic link can be made: Operation not supported"), generations.alone(place):
        pytest.fail("it continued")


def test_a_folder_that_nfs_cannot_delete_yet_stops_no_writer(place: Path, monkeypatch: pytest.MonkeyPatch):
    """On NFS the folder of a deleted file is not empty until the file is closed."""
    make(place, 0)
    make(place, 1)
    rmdir = os.rmdir

    def busy(path: object, **more: object) -> None:
        if str(path).endswith(".gone"):
            raise OSError(errno.ENOTEMPTY, "Directory not empty", path)
        rmdir(path, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as nfs:
        nfs.setattr(os, "rmdir", busy)
        for hour in (2, 3):
            make(place, hour, keep=2)
        assert names(place) == [name(2), name(3)]
    make(place, 4, keep=2)
    assert not [each for each in place.iterdir() if each.name.endswith(".gone")]


def test_a_copy_that_is_impossible_is_reported(place: Path, tmp_path: Path):
    make(place, 0)
    (tmp_path / "file").write_text("")
    with pytest.raises(SnapshotError, match=r"current: cannot be copied to .*file: .*"):
        generations.copied(place / "current", tmp_path / "file")
    with pytest.raises(UnusableSnapshot, match="cannot be copied"):
        generations.copied(place / "nothing", tmp_path)


@pytest.mark.parametrize("there", [0, 1, 3])
def test_current_is_complete_when_a_writer_is_killed_at_any_change(place: Path, there: int):
    template = place.with_name("template")
    for hour in range(there):
        make(template, hour, keep=3)
    template.mkdir(exist_ok=True)

    def prepare() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place, symlinks=True)

    seen: Counter[str] = Counter()
    for kill in kills(prepare, lambda: make(place, 7, keep=3)):
        published = generations.current(place)
        if published is None:
            assert not there, kill
        else:
            snapshot.verify(published)
            seen[published.name] += 1
            before = generations.previous(place / "current")
            if before.exists():
                snapshot.verify(before)
        make(place, 8, keep=3)
        assert generations.current(place) == (place / name(8)).resolve()
        for each in generations.all_in(place):
            snapshot.verify(each)
        assert {each.name for each in place.iterdir()} == {*names(place), "current", ".lock"}, kill
    assert seen[name(7)] > 0
    assert not there or seen[name(there - 1)] > 10, "it was killed at every change, not at a few"

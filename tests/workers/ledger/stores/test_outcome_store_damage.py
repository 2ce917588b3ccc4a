"""A damaged store is rebuilt, or has an earlier state in which rows and offsets agree."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.echo import until
from workers.errors import StoreFailed
from workers.ledger.stores import outcome_store as module
from workers.ledger.stores.outcome_store import PartitionStore

pytestmark = pytest.mark.full

#: Forked from a process of their own, where no thread of RocksDB held a lock.
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["workers.ledger.stores.outcome_store"])

KEYS = 40
BATCHES = 400


def opened(folder: Path, **more: object) -> PartitionStore:
    return PartitionStore(folder, stale_after_s=1e9, **more)  # type: ignore[arg-type]


def written(store: PartitionStore, number: int) -> None:
    """Write batch ``number``: a new row, rows that all batches write, and the offset."""
    rows = [("links", f"{number:06}", os.urandom(150))]
    rows += [("manifests", str(key), b"%d" % number) for key in range(number % 7, KEYS, 7)]
    store.write(rows, {"links": number, "manifests": number})  # type: ignore[arg-type]


def batches_in(store: PartitionStore) -> int:
    """Return the number of batches in the store. Check that each is complete."""
    number = store.next_offset("links")
    assert store.next_offset("manifests") == number
    assert [key for key, _ in store.rows("links")] == [f"{each:06}" for each in range(1, number + 1)]
    newest = {str(key): b"%d" % each for each in range(1, number + 1) for key in range(each % 7, KEYS, 7)}
    assert dict(store.rows("manifests")) == newest
    assert all(store.get("manifests", key) == value for key, value in newest.items())
    return number


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that rows are in files, and not only in RocksDB's log, after some batches."""
    monkeypatch.setattr(module, "_WRITE_BUFFER_BYTES", 1 << 15)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a process that was killed: with files, a list of them that grew, and a log."""
    folder = tmp_path_factory.mktemp("store") / "0"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WRITE_BUFFER_BYTES", 1 << 15)
        child = CHILDREN.Process(target=write_and_die, args=(folder,))
        child.start()
        child.join(120)
        assert child.exitcode == -signal.SIGKILL
    assert len(list(folder.glob("*.sst"))) > 1
    assert sum(path.stat().st_size for path in folder.glob("*.log")) > 1000
    return folder


def write_and_die(folder: Path) -> None:
    module._WRITE_BUFFER_BYTES = 1 << 15  # type: ignore[misc]
    store = opened(folder)
    for number in range(1, BATCHES + 1):
        written(store, number)
        if number % 50 == 0 or number == BATCHES - 2:
            time.sleep(0.05)  # the next batch records the length of the list after the flush
    os.kill(os.getpid(), signal.SIGKILL)


def write_on(folder: Path, written_log: Path) -> None:
    """Write until killed, and record each batch after it is written."""
    module._WRITE_BUFFER_BYTES = 1 << 15  # type: ignore[misc]
    store = opened(folder)
    with written_log.open("wb", buffering=0) as file:
        for number in range(batches_in(store) + 1, 10**6):
            written(store, number)
            file.write(b"%d\n" % number)


@pytest.fixture
def copy(killed: Path, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    def again() -> Path:
        shutil.rmtree(tmp_path / "0", ignore_errors=True)
        return Path(shutil.copytree(killed, tmp_path / "0"))

    return again  # type: ignore[return-value]


def found_in(folder: Path) -> int:
    """Return the number of batches in the store after reading all rows: 0 if reading shows damage."""
    store = opened(folder)
    try:
        try:
            number = batches_in(store)
        except StoreFailed:
            assert not folder.exists(), "a damaged store is removed"
            store = opened(folder)
            number = batches_in(store)
            assert number == 0
        written(store, number + 1)
        assert batches_in(store) == number + 1
        return number
    finally:
        store.close()


def test_a_store_without_damage_is_complete(copy: Callable[[], Path]) -> None:
    assert found_in(copy()) == BATCHES


def test_a_store_with_a_changed_byte_is_consistent(copy: Callable[[], Path], killed: Path) -> None:
    draw, seen = random.Random(1), Counter[str]()
    for path in sorted(killed.iterdir()):
        if not path.stat().st_size or path.name.startswith(("LOG", "OPTIONS")):
            continue
        for _ in range(3):
            folder = copy()
            content = bytearray((folder / path.name).read_bytes())
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            (folder / path.name).write_bytes(content)
            seen["whole" if (number := found_in(folder)) == BATCHES else "older" if number else "rebuilt"] += 1
    assert seen["rebuilt"] > 5
    assert seen["older"] > 0


def test_a_store_with_a_truncated_file_is_consistent(copy: Callable[[], Path], killed: Path) -> None:
    draw, seen = random.Random(2), Counter[str]()
    for path in sorted(killed.iterdir()):
        if path.name.startswith(("LOG", "OPTIONS")):
            continue
        for _ in range(20 if path.name.startswith("MANIFEST") else 3):
            folder = copy()
            os.truncate(folder / path.name, draw.randrange(path.stat().st_size + 1))
            seen["whole" if (number := found_in(folder)) == BATCHES else "older" if number else "rebuilt"] += 1
    assert seen["rebuilt"] > 10


def test_a_list_of_files_that_lost_its_end_is_detected(copy: Callable[[], Path]) -> None:
    """RocksDB opens such a store and lacks rows in its middle, so the size of the list is written with every batch."""
    name = next(copy().glob("MANIFEST-*")).name
    size = (copy() / name).stat().st_size
    for length in range(0, size, size // 50):
        folder = copy()
        os.truncate(folder / name, length)
        assert found_in(folder) == 0


def test_a_record_that_rocksdb_would_read_forever_is_detected(copy: Callable[[], Path]) -> None:
    for kind in (5, 6, 7, 8):
        folder = copy()
        path = next(folder.glob("MANIFEST-*"))
        content = bytearray(path.read_bytes())
        second = 7 + int.from_bytes(content[4:6], "little")
        content[second + 6] = kind
        path.write_bytes(content)
        assert found_in(folder) == 0


def test_a_store_without_one_of_its_files_is_consistent(copy: Callable[[], Path], killed: Path) -> None:
    for path in sorted(killed.iterdir()):
        folder = copy()
        (folder / path.name).unlink()
        found_in(folder)
        if path.name.startswith(("CURRENT", "MANIFEST")) or path.suffix == ".sst":
            assert opened(copy().with_name("1")).next_offset("links") == 0


def test_foreign_files_are_replaced_by_an_empty_store(tmp_path: Path, our_warnings: Callable[[], list[Any]]) -> None:
    (tmp_path / "0").write_text("a file")
    assert found_in(tmp_path / "0") == 0
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "CURRENT").write_text("something else")
    assert found_in(tmp_path / "1") == 0
    assert [record.levelno for record in our_warnings()] == [logging.ERROR] * 2, "one line each"


def damaged_within(folder: Path, monkeypatch: pytest.MonkeyPatch) -> PartitionStore:
    """A store that opens and whose links are damaged, in one file."""
    monkeypatch.setattr(module, "_WRITE_BUFFER_BYTES", 1 << 24)
    store = opened(folder)
    for number in range(1, BATCHES + 1):
        written(store, number)
    store.close()
    opened(folder).close()  # moves the rows from the log to a file
    (path,) = folder.glob("*.sst")
    content = bytearray(path.read_bytes())
    for at in range(10_000, len(content) // 3, 50):  # links; the store's own rows are before and after
        content[at] ^= 1
    path.write_bytes(content)
    return opened(folder)


def test_damage_found_while_reading_ends_the_worker_and_the_next_start_rebuilds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = damaged_within(tmp_path / "0", monkeypatch)
    with pytest.raises(StoreFailed, match=r"is damaged .*checksum mismatch.* was removed: start the worker again"):
        store.get("links", "000100")
    assert not (tmp_path / "0").exists()
    with pytest.raises(StoreFailed, match="closed"):
        store.get("links", "000001")
    store.close()
    assert found_in(tmp_path / "0") == 0


def test_damage_raises_an_error_while_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = damaged_within(tmp_path / "0", monkeypatch)
    with pytest.raises(StoreFailed, match="damaged"):
        list(store.rows("links"))


def test_a_store_that_another_process_has_open_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOCK_S", 0.2)
    store = opened(tmp_path / "0")
    written(store, 1)
    with pytest.raises(StoreFailed, match="another process has it open"):
        opened(tmp_path / "0")
    assert batches_in(store) == 1
    store.close()
    store = opened(tmp_path / "0")
    assert batches_in(store) == 1
    store.close()


def test_a_refusal_by_the_system_names_the_setting_and_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    with pytest.raises(StoreFailed, match=r"state/0: .*REFLINK_STATE_DIR.*nothing is lost"):
        opened(tmp_path / "state" / "0")
    assert (tmp_path / "state").read_text()


def test_a_store_of_another_format_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, our_warnings: Callable[[], list[Any]]
):
    store = opened(tmp_path / "0")
    written(store, 1)
    store.close()
    monkeypatch.setattr(module, "FORMAT", module.FORMAT + 1)
    store = opened(tmp_path / "0")
    assert batches_in(store) == 0
    store.close()
    assert [record.__dict__["reason"] for record in our_warnings()] == [
        f"it is of format {module.FORMAT - 1}, this one writes {module.FORMAT}"
    ]
    opened(tmp_path / "0").close()
    assert len(our_warnings()) == 1


def test_a_store_of_a_recreated_topic_is_rebuilt(tmp_path: Path) -> None:
    def batches_with(topic_id: str | None) -> int:
        store = opened(tmp_path / "0", topic_ids={"links": topic_id, "manifests": "m"})
        try:
            return batches_in(store)
        finally:
            written(store, batches_in(store) + 1)
            store.close()

    assert [batches_with("a"), batches_with("a"), batches_with(None), batches_with("b"), batches_with("b")] == [0, 1, 2, 0, 1]


def test_writers_killed_at_any_moment_leave_whole_batches(tmp_path: Path) -> None:
    folder, draw, written_log = tmp_path / "0", random.Random(3), tmp_path / "written_log"

    reached = most = 0
    for turn in range(60):
        written_log.write_bytes(b"")
        child = CHILDREN.Process(target=write_on, args=(folder, written_log))
        child.start()
        if turn % 3 == 0:  # else a busy machine might kill all of them before they have written anything
            until(lambda: written_log.stat().st_size > 0, what="the writer writes")
        time.sleep(draw.uniform(0.005, 0.12))
        child.kill()
        child.join()
        store = opened(folder)
        number = batches_in(store)
        store.close()
        last = written_log.read_bytes().split(b"\n")[-2:-1]
        assert number >= max(reached, *(int(each) for each in last), 0), "a killed process loses no batch that was written"
        reached, most = number, max(most, number)
        if number > 1500:
            shutil.rmtree(folder)
            reached = 0
    assert most > 0

"""A table of works that was hurt is begun anew, or holds all that it held at some earlier offset; the topic brings the rest."""

from __future__ import annotations

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

from reflink.entities import Work
from tests.workers.echo import until
from tests.workers.ledger.stores.test_work_table import NODES, assert_same, opened, random_history, records
from tests.workers.ledger.worktables import MemoryWorkTable
from workers.errors import StoreFailed
from workers.ledger.stores import work_table as module
from workers.ledger.stores.work_table import WorkTable

pytestmark = pytest.mark.full

#: Forked from a process of their own, where no thread of RocksDB held a lock.
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["tests.workers.ledger.stores.test_work_table"])

BATCH, BATCHES = 5, 300
HISTORY = random_history(1, BATCH * BATCHES)


def written(table: WorkTable | MemoryWorkTable, upto: int) -> None:
    """Goes on, batch by batch, to this offset."""
    while table.offset < upto:
        start = table.offset
        table.apply(records(HISTORY[start : start + BATCH], start), start + BATCH)


def assert_whole(table: WorkTable) -> int:
    """It is as the history left it at its offset, which is returned."""
    assert table.offset % BATCH == 0
    plain = MemoryWorkTable()
    written(plain, table.offset)
    assert_same(table, plain)
    return table.offset


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that rows are in files, and not only in RocksDB's log, after some batches."""
    monkeypatch.setattr(module, "_WRITE_BUFFER_BYTES", 1 << 15)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of a process that was killed: with files, and a log."""
    folder = tmp_path_factory.mktemp("table") / "works"
    child = CHILDREN.Process(target=write_and_die, args=(folder,))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    assert list(folder.glob("*.sst"))
    assert sum(path.stat().st_size for path in folder.glob("*.log")) > 1000
    return folder


def write_and_die(folder: Path) -> None:
    module._WRITE_BUFFER_BYTES = 1 << 15  # type: ignore[misc]
    table = opened(folder)
    written(table, (BATCHES - 10) * BATCH)
    time.sleep(
        0.2
    )  # what was flushed meanwhile is entered in RocksDB's list of files, and the next batch says how long that is
    written(table, BATCHES * BATCH)
    os.kill(os.getpid(), signal.SIGKILL)


def write_on(folder: Path, told: Path) -> None:
    """Writes until it is killed, and says after each batch that it is written."""
    table = opened(folder)
    with told.open("wb", buffering=0) as file:
        while table.offset < len(HISTORY):
            written(table, table.offset + BATCH)
            file.write(b"%d\n" % table.offset)
    time.sleep(60)


@pytest.fixture
def copy(killed: Path, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    def again() -> Path:
        shutil.rmtree(tmp_path / "works", ignore_errors=True)
        return Path(shutil.copytree(killed, tmp_path / "works"))

    return again  # type: ignore[return-value]


def found_in(folder: Path) -> str:
    """What the table in the folder still has: all, an earlier offset, or nothing; and it can be gone on from."""
    table = opened(folder)
    try:
        offset = gone_on_from(table)
    except StoreFailed:
        assert not folder.exists(), "it was damaged, and is removed"
        table = opened(folder)
        offset = gone_on_from(table)
        assert offset == 0
    finally:
        table.close()
    return "whole" if offset == BATCHES * BATCH else "older" if offset else "anew"


def gone_on_from(table: WorkTable) -> int:
    """Its offset, after which it took two batches more."""
    offset = assert_whole(table)
    written(table, offset + 2 * BATCH)
    assert_whole(table)
    return offset


def test_without_damage_everything_is_there(copy: Callable[[], Path]) -> None:
    assert found_in(copy()) == "whole"


def test_bytes_changed_and_files_cut_anywhere(copy: Callable[[], Path], killed: Path) -> None:
    draw, seen = random.Random(1), Counter[str]()
    for path in sorted(killed.iterdir()):
        if not path.stat().st_size or path.name.startswith(("LOG", "OPTIONS")):
            continue
        hurt = copy() / path.name
        content = bytearray(hurt.read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        hurt.write_bytes(content)
        seen[found_in(hurt.parent)] += 1
        hurt = copy() / path.name
        os.truncate(hurt, draw.randrange(path.stat().st_size))
        seen[found_in(hurt.parent)] += 1
    assert seen["anew"] > 2
    assert seen["older"] > 0


def test_something_else_is_there(tmp_path: Path, our_warnings: Callable[[], list[Any]]) -> None:
    (tmp_path / "works").write_text("a file")
    assert found_in(tmp_path / "works") == "anew"
    (line,) = our_warnings()
    assert line.getMessage() == "the ledger's table of works is damaged and rebuilt from its topics"


def test_damage_that_shows_while_reading_ends_the_worker_and_the_next_start_begins_anew(tmp_path: Path) -> None:
    folder = tmp_path / "works"
    table = opened(folder)
    draw = random.Random(2)
    table.apply(records([Work(id=f"w{n:04}", title=draw.randbytes(80).hex()) for n in range(2000)], 0), 2000)
    table.close()
    opened(folder).close()  # what was in the log is in a file now
    for path in folder.glob("*.sst"):
        content = bytearray(path.read_bytes())
        for at in range(5_000, 50_000, 50):  # works; what the table says of itself is behind
            content[at] ^= 1
        path.write_bytes(content)
    table = opened(folder)
    with pytest.raises(StoreFailed, match=r"is damaged .*checksum mismatch.* was removed: start the worker again"):
        [table.get(f"w{n:04}") for n in range(2000)]
    assert not folder.exists()
    with pytest.raises(StoreFailed, match="the ledger's table of works is closed"):
        table.changes(0, 1)
    assert found_in(folder) == "anew"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda patch: patch.setattr(module, "FORMAT", 99), "it is of format 1, this one writes 99"),
        (lambda patch: {"topic_id": "u"}, "the topic catalog was recreated: its id was t and is u"),
        (lambda patch: {"stale_after_s": -3600.0}, "it was last written more than -1 hours ago"),
    ],
)
def test_what_cannot_be_gone_on_from_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, our_warnings: Callable[[], list[Any]], change: Any, reason: str
) -> None:
    table = opened(tmp_path / "works")
    written(table, 50)
    table.close()
    opened(tmp_path / "works", topic_id=None).close()
    table = opened(tmp_path / "works", **(change(monkeypatch) or {}))
    assert (table.offset, len(table), table.changes(0, 9)) == (0, 0, [])
    assert not any(map(table.alive, NODES))
    assert [line.__dict__["reason"] for line in our_warnings()] == [reason]
    written(table, 10)
    table.close()


def test_a_table_that_another_process_has_open_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOCK_S", 0.2)
    table = opened(tmp_path / "works")
    written(table, 50)
    with pytest.raises(StoreFailed, match="another process has it open: give each worker a REFLINK_STATE_DIR of its own"):
        opened(tmp_path / "works")
    assert assert_whole(table) == 50
    table.close()


def test_writers_killed_at_any_moment_leave_whole_batches(tmp_path: Path) -> None:
    folder, draw, told = tmp_path / "works", random.Random(3), tmp_path / "told"
    reached, most = 0, len(HISTORY)
    for _ in range(8):
        told.write_bytes(b"")
        child = CHILDREN.Process(target=write_on, args=(folder, told))
        child.start()
        until(lambda done=reached == most: done or told.stat().st_size > 0, what="the writer writes")
        time.sleep(draw.uniform(0.0, 0.03))
        child.kill()
        child.join()
        last = max((int(line) for line in told.read_bytes().split(b"\n")[:-1]), default=0)
        table = opened(folder)
        offset = assert_whole(table)
        table.close()
        assert offset >= max(reached, last), "a killed process loses nothing it was told is written"
        reached = offset

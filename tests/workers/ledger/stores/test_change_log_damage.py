"""A damaged log of changes is rebuilt, or has its complete state at an earlier offset."""

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
from tests.workers.ledger.changelogs import MemoryChangeLog
from tests.workers.ledger.stores.test_change_log import assert_same, opened, random_history, records
from workers.errors import StoreFailed
from workers.ledger.stores import change_log as module
from workers.ledger.stores.change_log import ChangeLog

pytestmark = pytest.mark.full

#: Forked from a process of their own, where no thread of RocksDB held a lock.
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["tests.workers.ledger.stores.test_change_log"])

BATCH, BATCHES = 5, 300
HISTORY = random_history(1, BATCH * BATCHES)


def written(log: ChangeLog | MemoryChangeLog, upto: int) -> None:
    """Apply the next batches up to this offset."""
    while log.offset < upto:
        start = log.offset
        log.apply(records(HISTORY[start : start + BATCH], start), start + BATCH)


def assert_whole(log: ChangeLog) -> int:
    """Return the log's offset. Check that the log has the state of the history at this offset."""
    assert log.offset % BATCH == 0
    plain = MemoryChangeLog()
    written(plain, log.offset)
    assert_same(log, plain)
    return log.offset


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that rows are in files, and not only in RocksDB's log, after some batches."""
    monkeypatch.setattr(module, "_WRITE_BUFFER_BYTES", 1 << 15)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a process that was killed: with files, and a log."""
    folder = tmp_path_factory.mktemp("log") / "changes"
    child = CHILDREN.Process(target=write_and_die, args=(folder,))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    assert list(folder.glob("*.sst"))
    assert sum(path.stat().st_size for path in folder.glob("*.log")) > 1000
    return folder


def write_and_die(folder: Path) -> None:
    module._WRITE_BUFFER_BYTES = 1 << 15  # type: ignore[misc]
    log = opened(folder)
    written(log, (BATCHES - 10) * BATCH)
    time.sleep(1.0)  # the next batch records the length of RocksDB's list of files after the flush
    written(log, BATCHES * BATCH)
    os.kill(os.getpid(), signal.SIGKILL)


def write_on(folder: Path, written_log: Path) -> None:
    """Write until killed, and record each batch after it is written."""
    log = opened(folder)
    with written_log.open("wb", buffering=0) as file:
        while log.offset < len(HISTORY):
            written(log, log.offset + BATCH)
            file.write(b"%d\n" % log.offset)
    time.sleep(60)


@pytest.fixture
def copy(killed: Path, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    def again() -> Path:
        shutil.rmtree(tmp_path / "changes", ignore_errors=True)
        return Path(shutil.copytree(killed, tmp_path / "changes"))

    return again  # type: ignore[return-value]


def found_in(folder: Path) -> str:
    """Return whether the log in the folder is whole, older or rebuilt. Check that it accepts more batches."""
    log = opened(folder)
    try:
        offset = continued(log)
    except StoreFailed:
        assert not folder.exists(), "a damaged log is removed"
        log = opened(folder)
        offset = continued(log)
        assert offset == 0
    finally:
        log.close()
    return "whole" if offset == BATCHES * BATCH else "older" if offset else "rebuilt"


def continued(log: ChangeLog) -> int:
    """Return its offset, then apply two more batches."""
    offset = assert_whole(log)
    written(log, offset + 2 * BATCH)
    assert_whole(log)
    return offset


def test_a_log_without_damage_is_complete(copy: Callable[[], Path]) -> None:
    assert found_in(copy()) == "whole"


def test_a_log_with_a_changed_byte_or_a_truncated_file_is_consistent(copy: Callable[[], Path], killed: Path) -> None:
    draw, seen = random.Random(1), Counter[str]()
    for path in sorted(killed.iterdir()):
        if not path.stat().st_size or path.name.startswith(("LOG", "OPTIONS")):
            continue
        damaged = copy() / path.name
        content = bytearray(damaged.read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        damaged.write_bytes(content)
        seen[found_in(damaged.parent)] += 1
        damaged = copy() / path.name
        os.truncate(damaged, draw.randrange(path.stat().st_size))
        seen[found_in(damaged.parent)] += 1
    assert seen["rebuilt"] > 2, seen
    assert seen["older"] > 0, seen


def test_a_foreign_file_is_replaced_by_an_empty_log(tmp_path: Path, our_warnings: Callable[[], list[Any]]) -> None:
    (tmp_path / "changes").write_text("a file")
    assert found_in(tmp_path / "changes") == "rebuilt"
    (line,) = our_warnings()
    assert line.getMessage() == "the ledger's log of changes is damaged and rebuilt from its topics"


def test_damage_found_while_reading_ends_the_worker_and_the_next_start_rebuilds(tmp_path: Path) -> None:
    folder = tmp_path / "changes"
    log = opened(folder)
    draw = random.Random(2)
    log.apply(records([Work(id=f"w{n:04}", title=draw.randbytes(80).hex()) for n in range(2000)], 0), 2000)
    log.close()
    opened(folder).close()  # moves the rows from the log to a file
    for path in folder.glob("*.sst"):
        content = bytearray(path.read_bytes())
        for at in range(60_000, 540_000, 500):  # keys and changes, between digests and the log's own rows
            content[at] ^= 1
        path.write_bytes(content)
    log = opened(folder)
    with pytest.raises(StoreFailed, match=r"is damaged .*checksum mismatch.* was removed: start the worker again"):
        log.changes(0, 2000)
    assert not folder.exists()
    with pytest.raises(StoreFailed, match="the ledger's log of changes is closed"):
        log.changes(0, 1)
    assert found_in(folder) == "rebuilt"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda patch: patch.setattr(module, "FORMAT", 99), f"it is of format {module.FORMAT}, this one writes 99"),
        (lambda patch: {"topic_id": "u"}, "the topic catalog was recreated: its id was t and is u"),
        (lambda patch: {"stale_after_s": -3600.0}, "it was last written more than -1 hours ago"),
    ],
)
def test_an_unusable_log_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, our_warnings: Callable[[], list[Any]], change: Any, reason: str
) -> None:
    log = opened(tmp_path / "changes")
    written(log, 50)
    log.close()
    opened(tmp_path / "changes", topic_id=None).close()
    log = opened(tmp_path / "changes", **(change(monkeypatch) or {}))
    assert (log.start, log.offset, log.changes(0, 9)) == (0, 0, [])
    assert [line.__dict__["reason"] for line in our_warnings()] == [reason]
    written(log, 10)
    log.close()


def test_a_log_that_another_process_has_open_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOCK_S", 0.2)
    log = opened(tmp_path / "changes")
    written(log, 50)
    with pytest.raises(StoreFailed, match="another process has it open: give each worker a REFLINK_STATE_DIR of its own"):
        opened(tmp_path / "changes")
    assert assert_whole(log) == 50
    log.close()


def test_writers_killed_at_any_moment_leave_whole_batches(tmp_path: Path) -> None:
    folder, draw, written_log = tmp_path / "changes", random.Random(3), tmp_path / "written_log"
    reached, most = 0, len(HISTORY)
    for _ in range(8):
        written_log.write_bytes(b"")
        child = CHILDREN.Process(target=write_on, args=(folder, written_log))
        child.start()
        until(lambda done=reached == most: done or written_log.stat().st_size > 0, what="the writer writes")
        time.sleep(draw.uniform(0.0, 0.03))
        child.kill()
        child.join()
        last = max((int(line) for line in written_log.read_bytes().split(b"\n")[:-1]), default=0)
        log = opened(folder)
        offset = assert_whole(log)
        log.close()
        assert offset >= max(reached, last), "a killed process loses no batch that was written"
        reached = offset

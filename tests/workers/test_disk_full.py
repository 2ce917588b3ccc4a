"""A full disk under the ledger's store: the worker ends with a named error, loses nothing, and continues once space is free."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kafka import lag, read_all, send
from tests.workers.ledger.ledgered import manifest, outcomes
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline
from workers.errors import StoreFailed
from workers.ledger.stores.outcome_store import PartitionStore

MEGABYTE = 2**20


class Disk:
    """A small file system if this process may mount one, otherwise a limit on the size of a process's files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self._filler = folder, folder / "filler"
        command = ["mount", "-t", "tmpfs", "-o", "size=8m", "reflink-test", str(folder)]
        with suppress(FileNotFoundError):
            subprocess.run(command, capture_output=True, check=False)
        self.mounted = os.path.ismount(folder)

    def fill(self, pid: int) -> None:
        if not self.mounted:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            return
        with self._filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self, pid: int | None = None) -> None:
        self._filler.unlink(missing_ok=True)
        if pid is not None and not self.mounted:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def remove(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk")
    yield disk
    disk.remove()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


def written(store: PartitionStore, number: int) -> None:
    store.write([("links", str(key), b"%d" % number + b" " * 2000) for key in range(10)], {"links": number})


def number_in(store: PartitionStore) -> int:
    """Return the number of the store's last batch, after a check that all rows are of this batch."""
    number = store.next_offset("links")
    assert {value.strip() for _, value in store.rows("links")} == ({b"%d" % number} if number else set())
    return number


def write_on(store: PartitionStore) -> None:
    for number in range(store.next_offset("links") + 1, 2000):
        written(store, number)


def begin_and_write(folder: Path) -> None:
    store = PartitionStore(folder, stale_after_s=1e9)
    try:
        write_on(store)
    finally:
        store.close()


def test_a_store_on_a_full_disk_says_so_and_holds_what_it_held(disk: Disk) -> None:
    folder = disk.folder / "state" / "0"
    store = PartitionStore(folder, stale_after_s=1e9)
    for number in range(1, 21):
        written(store, number)
    disk.fill(os.getpid())
    try:
        with pytest.raises(StoreFailed, match=r"state/0: .*(No space left|File too large).*free space there.*nothing is lost"):
            write_on(store)
        with pytest.raises(StoreFailed, match="closed"):  # its rows are stale: no decision may rest on them
            store.get("links", "0")
        store.close()
        for _ in range(2):  # a restart fails in the same way
            with pytest.raises(StoreFailed, match="free space there"):
                begin_and_write(folder)
    finally:
        disk.free(os.getpid())
    store = PartitionStore(folder, stale_after_s=1e9)
    assert number_in(store) >= 20
    written(store, 5000)
    assert number_in(store) == 5000
    store.close()


def test_a_ledger_on_a_full_disk_ends_and_goes_on_without_a_wrong_or_doubled_link(
    kafka: KafkaSettings, tmp_path: Path, disk: Disk
) -> None:
    def publish(papers: range) -> None:
        """Send a manifest and 40 outcomes of each paper, which are not sent again."""
        events = []
        for paper in papers:
            citing = f"doi:10.5555/{paper}"
            names = [f"r{number}" for number in range(40)]
            found: dict[str, str | None] = {name: f"doi:10.1/{paper}.{name}" for name in names}
            events += [manifest(1, *names, citing=citing), outcomes(1, 1, found, citing=citing)]
        send(kafka, "outcomes", [(event.citing.encode(), event.to_json()) for event in events])

    more = {"topic_prefix": kafka.topic_prefix, "session_timeout_s": 6.0, "revocation_deadline_s": 2.0}
    with Pipeline(tmp_path / "run", kafka_bootstrap_servers=kafka.kafka_bootstrap_servers, **more) as pipeline:
        ledger = pipeline.start("ledger", "a", state_dir=disk.folder / "state")
        pipeline.wait_ready()
        publish(range(3))
        until(lambda: lag(kafka, "ledger", "outcomes") == 0)
        disk.fill(ledger.pid)
        publish(range(3, 60))
        until(lambda: not ledger.alive)
        log = ledger.log.read_text()
        assert ledger.exit_code == 10, log
        assert "StoreFailed" in log
        assert "free space there, or set REFLINK_STATE_DIR to another folder; nothing is lost" in log
        committed = len(read_all(kafka, "links"))
        assert committed > 120, "it was written after the commit"
        if disk.mounted:
            ledger.restart()
            until(lambda: not ledger.alive)
            assert ledger.exit_code == 10, ledger.last_line()
        disk.free()
        ledger.restart()
        ledger.wait_ready()
        publish(range(60, 62))
        until(lambda: lag(kafka, "ledger", "outcomes") == 0)
        assert ledger.stop() == 0
    links = read_all(kafka, "links")
    expected = {f"doi:10.5555/{paper}#r{number}" for paper in range(62) for number in range(40)}
    times = Counter((link.key or b"").decode() for link in links)
    assert set(times) == expected
    assert set(times.values()) == {1}

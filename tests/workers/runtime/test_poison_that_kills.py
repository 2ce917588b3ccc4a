"""Records that kill the worker's process: each becomes one dead letter, no other record does, and the stream continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.data import ROOT
from tests.kafka import create_topics, lag, new_prefix, read_all, send
from tests.workers.echo import until
from tests.workers.killed import WAYS
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker

SOUND = 300
#: One with a whole batch in flight, then three with the record alone.
DEATHS = 4


class Slot:
    """A worker process that the test restarts whenever it ends, as Kubernetes does."""

    def __init__(self, kafka: KafkaSettings, folder: Path, slot: str = "a", **more: str) -> None:
        self.kafka = kafka
        settings = {
            "REFLINK_KAFKA_BOOTSTRAP_SERVERS": kafka.kafka_bootstrap_servers,
            "REFLINK_TOPIC_PREFIX": kafka.topic_prefix,
            "REFLINK_STATE_DIR": str(folder),
            "REFLINK_SLOT": slot,
            "REFLINK_SESSION_TIMEOUT_S": "2",
            "REFLINK_REVOCATION_DEADLINE_S": "1",
        }
        self.log = folder / f"{kafka.topic_prefix}{slot}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._environment = {**os.environ, **settings, **more}
        self.ends: list[int] = []
        self.start()

    def start(self, **more: str) -> None:
        environment = {**self._environment, **more}
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "tests.workers.killed"]
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, stdout=log)

    def ended(self) -> bool:
        """Return whether the process has ended. If so, record its exit code."""
        if self.process.poll() is None:
            return False
        if len(self.ends) < 20:
            self.ends.append(self.process.returncode)
        return True

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(40)


def restarting(slots: Iterable[Slot], seconds: float = 150) -> None:
    """Restart each slot that has ended. Stop it once it has read all records."""
    left, asked = list(slots), time.monotonic()
    deadline = asked + seconds
    try:
        while left:
            for slot in left:
                if slot.ended():
                    assert len(slot.ends) <= 2 * DEATHS, f"it dies without end: {slot.ends}; {slot.log}"
                    slot.start()
            if time.monotonic() - asked > 0.7:
                slot = left.pop(0)
                if lag(slot.kafka, "killed", "references") == 0:
                    slot.stop()
                else:
                    left.append(slot)
                asked = time.monotonic()
            assert time.monotonic() < deadline, [(slot.ends, str(slot.log)) for slot in left]
            time.sleep(0.05)
    finally:
        for slot in left:
            slot.stop()


def with_killer(killer: bytes) -> list[tuple[bytes, bytes]]:
    """Return numbered sound records with the killer in their middle."""
    sound = [(b"k", b"%d" % number) for number in range(SOUND)]
    return [*sound[: SOUND // 2], (b"k", killer), *sound[SOUND // 2 :]]


def came_out(kafka: KafkaSettings) -> Counter[int]:
    return Counter(int(record.value) for record in read_all(kafka, "outcomes"))


def test_whatever_way_a_record_kills_it_is_found_and_the_stream_goes_on(broker: Broker, tmp_path: Path):
    topics = {way: create_topics(broker.address, new_prefix(), partitions=1) for way in WAYS}
    for way, kafka in topics.items():
        send(kafka, "references", with_killer(b"%s on purpose" % way.encode()))
    # The deadline of a batch is that of requests to Kafka too, so it must exceed these on a busy machine.
    slots = {way: Slot(kafka, tmp_path, REFLINK_CALL_DEADLINE_S="20") for way, kafka in topics.items()}
    restarting(slots.values(), 400)
    codes = {"segfault": -signal.SIGSEGV, "kill": -signal.SIGKILL, "allocate": 1, "hang": 7}
    for way, kafka in topics.items():
        assert slots[way].ends == [codes[way]] * DEATHS, way
        assert came_out(kafka) == Counter(range(SOUND)), way
        (dead,) = read_all(kafka, "dead-letters")
        assert dead.value == b"%s on purpose" % way.encode()
        assert dead.header("reflink-exception") == "KilledWorker"
        assert "was alone in flight when the worker died 3 times" in (dead.header("reflink-message") or "")
        assert (dead.header("reflink-topic"), dead.header("reflink-offset")) == ("references", str(SOUND // 2))


def test_a_worker_killed_from_outside_dead_letters_nothing(broker: Broker, tmp_path: Path):
    kafka = create_topics(broker.address, new_prefix(), partitions=1)
    send(kafka, "references", [(b"k", b"%d" % number) for number in range(20)])
    marker = tmp_path / "in-hand"
    slot = Slot(kafka, tmp_path, KILLED_SECONDS="60", KILLED_IN_HAND=str(marker))
    hands = []
    try:
        # Kill it with a whole batch, then twice with the same record alone: a third time alone would condemn that record.
        for kill in range(3):
            until(lambda: marker.exists() and marker.read_text(), what=str(slot.log))
            slot.process.kill()
            slot.process.wait()
            hands.append(int(marker.read_text()))
            marker.unlink()
            slot.start(KILLED_SECONDS="60" if kill < 2 else "0")
        until(lambda: len(came_out(kafka)) == 20, what=str(slot.log))
    finally:
        slot.stop()
    assert hands == [20, 1, 1]
    assert came_out(kafka) == Counter(range(20))
    assert read_all(kafka, "dead-letters") == []


def test_a_partition_that_moves_takes_its_killer_along_and_the_other_slot_survives_it_likewise(broker: Broker, tmp_path: Path):
    kafka = create_topics(broker.address, new_prefix(), partitions=1)
    send(kafka, "references", with_killer(b"kill"))
    first = Slot(kafka, tmp_path, "a")
    until(first.ended, what=str(first.log))
    other = Slot(kafka, tmp_path, "b")
    restarting([other])
    assert (first.ends, other.ends) == ([-9], [-9] * DEATHS)
    # The first slot returns with suspects that were handled meanwhile, and forgets them.
    send(kafka, "references", [(b"k", b"%d" % (SOUND + number)) for number in range(50)])
    first.start()
    try:
        until(lambda: len(came_out(kafka)) == SOUND + 50, what=str(first.log))
    finally:
        first.stop()
    assert first.process.returncode == 0
    assert came_out(kafka) == Counter(range(SOUND + 50))
    (dead,) = read_all(kafka, "dead-letters")
    assert dead.value == b"kill"

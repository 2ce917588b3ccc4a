"""Measure the start of a ledger process: the time until it publishes, from the topics alone and from its store on disk."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.ledger.topics import PARTITIONS
from benchmarks.machine import disk_bytes
from benchmarks.workers.broker import broker_with_topics, reader, seek_to_end
from benchmarks.workers.sizing import memory
from reflink.entities import Link, Reference
from schemas import SCHEMA_VERSION, ManifestEvent, Outcome, OutcomesEvent
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline, Process
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import partition_of

TIMEOUT_S: Final = 3600.0


@contextmanager
def broker_for(folder: Path | None) -> Iterator[tuple[KafkaSettings, Path]]:
    """Start an empty Kafka with all topics, and yield it with a folder; both are deleted at the end.

    Its log cleaner is off: every key of the millions occurs once, so the cleaner would find nothing, but would use time.
    """
    with (
        tempfile.TemporaryDirectory(dir=folder) as name,
        broker_with_topics(Path(name) / "kafka", PARTITIONS, {"log.cleaner.enable": "false"}) as kafka,
    ):
        yield kafka, Path(name)


def paper_events(citing: str, references: int, judged_at: int = 0) -> list[bytes]:
    """Return a paper's manifest and its outcomes, none of them linked, as parser and linker send them to the ledger."""
    now = int(time.time() * 1000)
    ids = [f"{citing}#r{position}.1" for position in range(1, references + 1)]
    about: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "citing": citing, "paper_version": now, "arrived": now}
    items = tuple(
        Outcome(
            reference=Reference(id=id_, citing=citing, position=position, raw_text=f"Nobody. Nothing of {citing}, {position}."),
            link=Link(reference=id_, citing=citing, cited=None, unresolved="no-candidate"),
        )
        for position, id_ in enumerate(ids, start=1)
    )
    return [
        ManifestEvent(**about, kind="manifest", references=tuple(ids)).to_json(),
        OutcomesEvent(**about, kind="outcomes", catalog_offset=judged_at, judged=now, items=items).to_json(),
    ]


class Probe:
    """Papers of one reference, sent to the ledger before it starts: it works when their links are published."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self.kafka, self.number = kafka, 0
        self.consumer = reader(kafka, "links", at_end=True)

    def send(self, judged_at: int = 0) -> set[str]:
        """Send one paper to each partition; return the ids of their references."""
        seek_to_end(self.consumer)
        wanted: dict[int, str] = {}
        with Sender(self.kafka) as sender:
            while len(wanted) < PARTITIONS:
                self.number += 1
                citing = f"doi:10.5555/probe.{self.number}"
                if wanted.setdefault(partition_of(citing.encode(), PARTITIONS), citing) == citing:
                    for event in paper_events(citing, 1, judged_at):
                        sender.send("outcomes", citing.encode(), event)
        return {f"{citing}#r1.1" for citing in wanted.values()}

    def wait(self, wanted: set[str], process: Process) -> None:
        """Wait until all links are published. Raises WorkerDied, SystemExit."""
        deadline = time.monotonic() + TIMEOUT_S
        while wanted:
            process.check()
            if time.monotonic() > deadline:
                raise SystemExit(f"{len(wanted)} links are missing after {TIMEOUT_S:g} s; log: {process.log}")
            for records in self.consumer.poll(timeout_ms=100).values():
                wanted -= {orjson.loads(record.value)["link"]["reference"] for record in records}

    def close(self) -> None:
        self.consumer.close()


def start(pipeline: Pipeline, probe: Probe, judged_at: int = 0) -> tuple[Process, dict[str, float]]:
    """Start or restart the pipeline's ledger; return the seconds until it was ready, and until a link in each partition."""
    wanted = probe.send(judged_at)
    began = time.monotonic()
    if running := pipeline.of("ledger"):
        process = running[0]
        process.restart()
    else:
        process = pipeline.start("ledger")
    process.wait_ready(TIMEOUT_S)
    ready = time.monotonic() - began
    probe.wait(wanted, process)
    figures = {"ready_s": ready, "first_link_s": time.monotonic() - began}
    return process, figures | {"own_mib": memory(process)["own"], "disk_mib": disk_bytes(pipeline.folder / "state") / 2**20}


def restarts(pipeline: Pipeline, probe: Probe, references: int, rounds: int, judged_at: int = 0) -> dict[str, Any]:
    """Start from the topics, then ``rounds`` times with the store after SIGTERM and SIGKILL. The ledger runs afterwards."""
    process, first = start(pipeline, probe, judged_at)
    figures: dict[str, Any] = {"from_topics": first, "after_stop": [], "after_kill": []}
    figures["references_per_s"] = references / first["first_link_s"]
    print(f"from the topics in {first['first_link_s']:.1f} s", flush=True)
    for _ in range(rounds):
        for how, end in (("after_stop", process.stop), ("after_kill", process.kill)):
            end()
            figures[how].append(start(pipeline, probe, judged_at)[1])
            print(f"{how.replace('_', ' ')} in {figures[how][-1]['first_link_s']:.1f} s", flush=True)
    return figures

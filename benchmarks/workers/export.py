"""Measure an export of the graph: ``python -m benchmarks.workers.export [--links 1000000] [--format parquet csv jsonl]``.

Fills the topic ``links`` of its own broker with links, 40 references per paper, each as large as the example in
docs/events.md, a tenth of them twice. Then runs ``reflink-worker export`` as a process and reports its time and memory.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.workers.broker import PARTITIONS, broker_with_topics
from reflink.graph import FORMATS
from workers.kafka.clients import plain_producer
from workers.kafka.topics import partition_of

REFERENCES = 40
TITLE = "Loss of recent memory after bilateral hippocampal lesions"
TEXT = f"Scoville WB, Milner B. {TITLE}. J Neurol Neurosurg Psychiatry 1957; 20: 11."
NUMBERS = (
    "title equal cover beginning contained length authors agreeing first_author group year volume page venue numbers marks "
    "identifier bare card"
)


def event(paper: int, number: int) -> tuple[bytes, bytes]:
    """Return the event of a linked reference; every fourth is unresolved."""
    citing = f"doi:10.5555/reflink.{paper}"
    reference = f"{citing}#bib{number}.1"
    cited = None if number % 4 == 0 else f"doi:10.1136/jnnp.{(paper * 31 + number * 977) % 200_000}"
    link: dict[str, Any] = {"reference": reference, "citing": citing, "cited": cited, "probability": round(number / 41, 6)}
    link |= {"method": "identifier", "score": 1.0} if cited else {"unresolved": "not-in-catalog"}
    link |= {"reasons": ["identifier matches", "title matches", "page matches", "authors match"]}
    link |= {"evidence": {name: round((number * 7 % 41) / 41, 6) for name in NUMBERS.split()}}
    link |= {"runner_up": {"cited": "doi:10.1016/0006-8993(71)90358-1", "score": 0.412331, "probability": 0.000012}}
    entry = {
        "id": reference,
        "citing": citing,
        "position": number,
        "raw_text": f"{number}. {TEXT} doi:{cited}",
        "raw_noid": TEXT,
    }
    entry |= {"title": TITLE, "last_names": ["Scoville", "Milner"], "venue": "J Neurol Neurosurg Psychiatry", "year": 1957}
    value = {"schema_version": 1, "citing": citing, "paper_version": 1763740800000, "arrived": 1763740800000 + paper}
    value |= {"catalog_offset": 541, "judged": 1763740800180 + paper, "link": link, "reference": entry}
    return reference.encode(), json.dumps(value, separators=(",", ":")).encode()


def events(links: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the events with their partitions; every tenth paper comes a second time at the end."""
    papers = range(links // REFERENCES)
    for paper in (*papers, *papers[::10]):
        partition = partition_of(f"doi:10.5555/reflink.{paper}".encode(), PARTITIONS)
        for number in range(1, REFERENCES + 1):
            yield partition, *event(paper, number)


def main() -> None:
    parser = harness.parser(__doc__, figures=False)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--format", nargs="+", choices=FORMATS, default=FORMATS)
    arguments = parser.parse_args()
    print(describe())
    with tempfile.TemporaryDirectory() as name, broker_with_topics() as kafka:
        producer, records, size = plain_producer(kafka), 0, 0
        began = time.monotonic()
        for partition, key, value in events(arguments.links):
            producer.send(kafka.topic("links"), partition=partition, key=key, value=value)
            records, size = records + 1, size + len(value)
        producer.close()
        print(f"{records:,} records of {size / records:,.0f} bytes sent in {time.monotonic() - began:.0f} s")
        out = Path(name) / "graph"
        command = [sys.executable, "-m", "workers.cli", "export", "--out", str(out), "--json", "--quiet"]
        done = subprocess.run(
            [*command, "--format", *arguments.format],
            env={**os.environ, "REFLINK_KAFKA_BOOTSTRAP_SERVERS": kafka.kafka_bootstrap_servers},
            stdout=subprocess.PIPE,
            check=True,
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN)  # includes ended child processes only: the broker still runs
        manifest = json.loads(done.stdout)
        reading = manifest["source"]["seconds"]
        print(
            f"{manifest['references']:,} references: {manifest['seconds']:.1f} s ({reading:.1f} s of them reading), "
            f"{used.ru_utime + used.ru_stime:.1f} s of CPU, maximum memory {used.ru_maxrss * 1024 / 1e6:,.0f} MB"
        )
        for file, about in manifest["files"].items():
            print(f"{file}: {about['rows']:,} rows, {about['bytes'] / 1e6:,.1f} MB")


if __name__ == "__main__":
    main()

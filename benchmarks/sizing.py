"""What each worker takes: CPU seconds for a thousand references, memory, the weight of a snapshot and of topics.

    python -m benchmarks.sizing [--papers 300] [--snapshot DIR --works FILE] [--device cpu] [--json FILE]

docs/operations.md sizes by it. One process per worker handles real articles. CPU seconds are the process's own (user and
system, all threads), from being ready to the last link, so that others on the machine make them little worse. Memory is the
kernel's account: the process's own (anonymous), and pages of the mapped catalog, which the processes of a node share.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.broker import broker_with_catalog
from benchmarks.latency import EXAMPLE_WORKS
from benchmarks.machine import describe
from benchmarks.pipeline import wait_for_links
from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.errors import ReflinkError
from reflink.jats import parse
from reflink.semantic.device import needed_bytes
from tests.data import jats_folder
from workers.local.pipeline import WORKERS, Pipeline, Process
from workers.publishing import publish, record_of
from workers.sending import Sender
from workers.settings import KafkaSettings, LinkerSettings
from workers.topics import TOPICS, TopicAdmin

MIB: Final = 1 << 20
#: Of all-MiniLM-L6-v2, and the rows that a linker keeps free (REFLINK_SEARCH_SPARE).
DIM: Final = 384
SPARE: Final = LinkerSettings.model_fields["search_spare"].default
STEP: Final = 100_000
CARDS_GIB: Final = (24, 80)
#: Set aside for CUDA itself, the encoder and its passes: a guess, as no GPU was there to measure.
ENCODER_GIB: Final = 4
#: What a worker reads: its topic, and what a record of it is.
INPUTS: Final = {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}


def real_papers(count: int, seed: int = 1) -> Iterator[tuple[str, bytes, int]]:
    """Name, bytes and number of references of so many articles that parse, in a random order."""
    paths = sorted(jats_folder().glob("*.xml"))
    random.Random(seed).shuffle(paths)
    for path in paths:
        content = path.read_bytes()
        try:
            references = len(parse(content).references)
        except ReflinkError:
            continue
        if count == 0:
            return
        count -= 1
        yield path.stem, content, references


def memory(process: Process) -> dict[str, float]:
    """MiB now: its own, mapped files, and the most that was resident at any time."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    fields = {name: int(kib) / 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB", rollup, re.MULTILINE)}
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return {
        "own": fields["Anonymous"],
        "mapped": fields["Rss"] - fields["Anonymous"],
        "peak": int(peak.group(1)) / 1024 if peak else 0.0,
    }


def cpu_seconds(process: Process) -> float:
    """User and system, of all its threads."""
    return process.metrics().sum("process_cpu_seconds_total")


def weights(snapshot: Path) -> dict[str, float]:
    """MiB of each part of a snapshot."""
    parts = {each.name: each for each in snapshot.iterdir() if each.is_dir()}
    return {name: sum(file.stat().st_size for file in parts[name].rglob("*") if file.is_file()) / MIB for name in sorted(parts)}


def topic_bytes(kafka: KafkaSettings) -> dict[str, int]:
    """Bytes of each topic on one replica, as the broker stores them."""
    sizes = dict.fromkeys(TOPICS, 0)
    with TopicAdmin(kafka) as admin:
        for broker in admin.admin.describe_log_dirs():
            for folder in broker["log_dirs"]:
                for topic in folder["topics"]:
                    name = topic["name"].removeprefix(kafka.topic_prefix)
                    if name in sizes:
                        sizes[name] += sum(each["partition_size"] for each in topic["partitions"])
    return sizes


def works_that_fit(card_gib: float, reserved_gib: float) -> int:
    """Works of 384 dimensions that a card of so much memory holds and searches, beside what is reserved for the encoder."""
    free, works = int((card_gib - reserved_gib) * 2**30), 0
    while sum(needed_bytes(works + STEP + SPARE, DIM)) <= free:
        works += STEP
    return works


def run(pipeline: Pipeline, kafka: KafkaSettings, count: int) -> dict[str, Any]:
    """Publishes and waits; the figures of each worker."""
    papers = list(real_papers(count))
    references = sum(each[2] for each in papers)
    for worker in WORKERS:
        pipeline.start(worker)
    pipeline.wait_ready()
    idle = {each.worker: memory(each) for each in pipeline.processes}
    before = {each.worker: cpu_seconds(each) for each in pipeline.processes}
    started = time.monotonic()
    with Sender(kafka) as sender:
        publish((record_of(name, content) for name, content, _ in papers), sender)
    seconds = wait_for_links(kafka, references, pipeline) - started
    figures: dict[str, Any] = {"papers": len(papers), "references": references, "seconds": seconds, "workers": {}}
    figures["paper_bytes"] = sum(len(content) for _, content, _ in papers)
    figures["topic_bytes"] = topic_bytes(kafka)
    for process in pipeline.processes:
        spent = cpu_seconds(process) - before[process.worker]
        records = process.metrics().sum("reflink_records_in_total", topic=INPUTS[process.worker])
        figures["workers"][process.worker] = {
            "cpu_s": spent,
            "records": records,
            "cpu_s_per_1000_references": 1000 * spent / references,
            "records_per_cpu_s": records / spent,
            "idle_mib": idle[process.worker],
            "loaded_mib": memory(process),
        }
    return figures


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--works", type=Path, default=EXAMPLE_WORKS, help="the catalog")
    parser.add_argument("--snapshot", type=Path, metavar="DIR", help="a folder built of the same works")
    parser.add_argument("--device", default="auto", help="of the linker")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args(argv)
    works = [work for work in read_works(arguments.works) if isinstance(work, Work)]
    with broker_with_catalog(works, arguments.snapshot, device=arguments.device) as (kafka, pipeline):
        figures = run(pipeline, kafka, arguments.papers)
    figures |= {"machine": describe(), "works": len(works)}
    if arguments.snapshot is not None:
        figures["snapshot_mib"] = weights(arguments.snapshot)
    print(figures["machine"])
    print(f"{figures['papers']} real articles, {figures['references']} references, {len(works):,} works")
    print(f"all four on this machine: {figures['references'] / figures['seconds']:,.0f} references/s\n")
    print(f"{'':9} {'CPU s per':>10} {'records':>9} {'records':>10} {'own MiB':>9} {'own MiB':>9} {'mapped':>8} {'peak':>7}")
    print(f"{'worker':9} {'1,000 refs':>10} {'in':>9} {'per CPU s':>10} {'at rest':>9} {'loaded':>9} {'MiB':>8} {'MiB':>7}")
    for name, each in figures["workers"].items():
        loaded = each["loaded_mib"]
        print(
            f"{name:9} {each['cpu_s_per_1000_references']:10.2f} {each['records']:9,.0f} {each['records_per_cpu_s']:10,.1f} "
            f"{each['idle_mib']['own']:9,.0f} {loaded['own']:9,.0f} {loaded['mapped']:8,.0f} {loaded['peak']:7,.0f}"
        )
    for name, size in figures.get("snapshot_mib", {}).items():
        print(f"snapshot/{name}: {size:,.0f} MiB, {size * MIB / len(works):,.0f} bytes a work")
    for name, size in figures["topic_bytes"].items():
        print(f"topic {name}: {size / MIB:,.1f} MiB on a replica, {size / figures['references']:,.0f} bytes a reference")
    for card in CARDS_GIB:
        fits = works_that_fit(card, ENCODER_GIB)
        print(f"a card of {card} GiB, {ENCODER_GIB} of them for the encoder: {fits / 1e6:.1f} million works (computed)")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

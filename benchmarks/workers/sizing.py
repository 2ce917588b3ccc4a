"""Measure the resources of each worker: CPU seconds per thousand references, memory, the size of a snapshot and of topics.

    python -m benchmarks.workers.sizing [--papers 300] [--snapshot DIR --works FILE] [--device cpu] [--json FILE]

docs/operations.md sizes by these figures. One process per worker handles real articles. CPU seconds are the process's own (user
and system, all threads), from ready to the last link, so that other load on the machine changes them little. Memory is the
kernel's account: the process's own (anonymous), and pages of the mapped catalog, which the processes of a node share.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from benchmarks import harness
from benchmarks.machine import describe, process_memory
from benchmarks.papers import real_papers
from benchmarks.workers.broker import broker_with_catalog
from benchmarks.workers.pipeline import wait_for_links
from reflink.semantic.gpu.rows import needed_bytes
from workers.config.settings import KafkaSettings, LinkerSettings
from workers.devkit.processes import WORKERS, Pipeline, Process
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import TOPICS, TopicAdmin
from workers.papers.publishing import publish, record_of

MIB: Final = 1 << 20
#: Dimension of all-MiniLM-L6-v2, and the rows that a linker keeps free (REFLINK_SEARCH_SPARE).
DIM: Final = 384
SPARE: Final = LinkerSettings.model_fields["search_spare"].default
STEP: Final = 100_000
CARDS_GIB: Final = (24, 80)
#: Reserved for CUDA itself, the encoder and its passes: an estimate, because no GPU was available to measure it.
ENCODER_GIB: Final = 4
#: The input topic of each worker, and what one record of it is.
INPUTS: Final = {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}


def memory(process: Process) -> dict[str, float]:
    """Return the MiB in use: anonymous memory, mapped files, and the maximum resident size."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    fields = {name: int(kib) / 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB", rollup, re.MULTILINE)}
    peak = process_memory(process.pid)["VmHWM"] / MIB
    return {"own": fields["Anonymous"], "mapped": fields["Rss"] - fields["Anonymous"], "peak": peak}


def cpu_seconds(process: Process) -> float:
    """Return user and system seconds of all threads."""
    return process.metrics().sum("process_cpu_seconds_total")


def weights(snapshot: Path) -> dict[str, float]:
    """Return the MiB of each part of a snapshot."""
    parts = {each.name: each for each in snapshot.iterdir() if each.is_dir()}
    return {name: sum(file.stat().st_size for file in parts[name].rglob("*") if file.is_file()) / MIB for name in sorted(parts)}


def topic_bytes(kafka: KafkaSettings) -> dict[str, int]:
    """Return the bytes of each topic on one replica, as the broker stores them."""
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
    """Return the number of works of 384 dimensions that fit on a card with this memory, beside the reserve for the encoder."""
    free, works = int((card_gib - reserved_gib) * 2**30), 0
    while sum(needed_bytes(works + STEP + SPARE, DIM)) <= free:
        works += STEP
    return works


def run(pipeline: Pipeline, kafka: KafkaSettings, count: int) -> dict[str, Any]:
    """Publish papers and wait for their links; return the figures of each worker."""
    papers = list(islice(real_papers(seed=1), count))
    references = sum(len(each) for _, _, each in papers)
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
    parser = harness.parser(__doc__)
    parser.add_argument("--papers", type=int, default=300)
    harness.add_catalog(parser, profile=False)
    parser.add_argument("--device", default="auto", help="of the linker")
    arguments = parser.parse_args(argv)
    works = harness.works_of(arguments.works)
    with broker_with_catalog(works, arguments.snapshot, device=arguments.device) as (kafka, pipeline):
        figures = run(pipeline, kafka, arguments.papers)
    figures["works"] = len(works)
    if arguments.snapshot is not None:
        figures["snapshot_mib"] = weights(arguments.snapshot)
    print(describe())
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
    harness.save(arguments.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())

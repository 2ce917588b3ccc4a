"""Measure from a work's arrival to the links of the references that waited for it, with real workers and a large store."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil

from benchmarks.ledger.real import choose_arrivals
from benchmarks.ledger.recombined import Marked, Recombined
from benchmarks.ledger.starting import Probe, broker_for, restarts
from benchmarks.ledger.topics import fill, placed
from benchmarks.ledger.watching import Lags, Seen, Watcher, wait_calm
from benchmarks.papers import real_references
from benchmarks.workers.sizing import cpu_seconds
from reflink.catalog import Catalog
from reflink.entities import Work
from schemas import SCHEMA_VERSION, CatalogEvent
from workers.catalog.bulk_load import load_and_bind
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import end_of

#: Seconds not counted: the first batches compile, and the batch policies adapt.
WARM_UP_S: Final = 10.0
#: Seconds to wait for links after the last work.
LATE_S: Final = 60.0


def run(
    *, references: int, per_s: float, seconds: float, share: float, snapshot: Path, rounds: int, folder: Path | None
) -> dict[str, Any]:
    """Fill, restart, and let works arrive, ``per_s`` per second; waiting references cite a ``share`` of them."""
    real = list(real_references())
    arrivals = choose_arrivals(real, round(per_s * (WARM_UP_S + seconds)), share)
    made = Recombined(real)
    del real
    with broker_for(folder) as (kafka, place):
        base = place / "catalog"
        count = without(snapshot, arrivals.works, base, kafka)
        made.judged_at = end_of(kafka, "catalog")
        filled = fill(kafka, made, references, arrivals.marked)
        print(f"{count:,} works and {references:,} links sent, the links in {filled:.0f} s", flush=True)
        waiting = placed(references, arrivals.marked)
        probe = Probe(kafka)
        with Pipeline(place, kafka_bootstrap_servers=kafka.kafka_bootstrap_servers, catalog_snapshot=base) as pipeline:
            restarted = restarts(pipeline, probe, references, rounds, made.judged_at)
            probe.close()
            for worker in ("linker", "fallback"):
                pipeline.start(worker)
            pipeline.wait_ready()
            print(f"calm after {wait_calm(pipeline):.0f} s", flush=True)
            watcher, lags = Watcher(kafka), Lags(pipeline)
            watcher.start()
            lags.start()
            warm = round(per_s * WARM_UP_S)
            arrive(kafka, arrivals.works[:warm], per_s)
            lags.begin()
            spent = cpu_of_all(pipeline)
            began = time.monotonic()
            sent = arrive(kafka, arrivals.works[warm:], per_s)
            took = time.monotonic() - began
            cpu = {name: (seconds - spent[name]) / took for name, seconds in cpu_of_all(pipeline).items()}
            wait_for(sent, waiting, watcher.seen)
            lags.stop()
            watcher.stop()
    return {
        "references": references, "works_before": count, "works": len(sent), "per_s": len(sent) / took, "restart": restarted,
        "lags": lags.highest, "cores": cpu, **evaluate(sent, waiting, watcher.seen),
    }  # fmt: skip


def cpu_of_all(pipeline: Pipeline) -> dict[str, float]:
    """Return the processor seconds so far: workers, the broker, and this benchmark, which sends works and reads the topics."""
    own = psutil.Process()
    brokers = [each.cpu_times() for each in own.children() if each.name() == "java"]
    return {
        **{each.worker: cpu_seconds(each) for each in pipeline.processes},
        "broker": sum(each.user + each.system for each in brokers),
        "this benchmark": sum(own.cpu_times()[:2]),
    }


def without(snapshot: Path, arriving: Sequence[Work], folder: Path, kafka: KafkaSettings) -> int:
    """Fill the catalog topic with the snapshot's other works, and make a snapshot of it; return their number."""
    catalog = Catalog.open(snapshot)
    catalog.remove([work.id for work in arriving])
    catalog.save(folder, offset=0)
    return load_and_bind(list(catalog), folder, kafka)


def arrive(kafka: KafkaSettings, works: Sequence[Work], per_s: float) -> dict[str, int]:
    """Send works evenly at ``per_s`` per second; return the timestamp of each, in milliseconds since 1970."""
    sent: dict[str, int] = {}
    began = time.monotonic()
    with Sender(kafka) as sender:
        for number, work in enumerate(works):
            time.sleep(max(0.0, began + number / per_s - time.monotonic()))
            sent[work.id] = int(time.time() * 1000)
            event = CatalogEvent(schema_version=SCHEMA_VERSION, work=work).to_json()
            sender.send("catalog", work.id.encode(), event, partition=0, timestamp=sent[work.id])
    return sent


def wait_for(sent: Mapping[str, int], waiting: Mapping[str, Marked], seen: Mapping[str, Seen]) -> None:
    """Wait until all references to the sent works are linked, or LATE_S have passed."""
    wanted = {reference: mark.work.id for reference, mark in waiting.items() if mark.work.id in sent}
    until = time.monotonic() + LATE_S
    while time.monotonic() < until:
        wanted = {id_: work for id_, work in wanted.items() if id_ not in seen or seen[id_].cited != work}
        if not wanted:
            return
        time.sleep(0.5)


def evaluate(sent: Mapping[str, int], waiting: Mapping[str, Marked], seen: Mapping[str, Seen]) -> dict[str, Any]:
    """Return the seconds from the work's timestamp, and the results for the references.

    ``steps``: from the work to the record in ``retries``, from there to the linker's answer (to the fallback, or the outcome),
    from there to the fallback's outcome where one was needed, and from the outcome to the link.
    """
    seconds: list[float] = []
    steps: dict[str, list[float]] = {"requested": [], "linker": [], "fallback": [], "ledger": []}
    kinds = {True: [0, 0, 0], False: [0, 0, 0]}
    for reference, mark in waiting.items():
        if (arrived := sent.get(mark.work.id)) is None:
            continue
        each = seen.get(reference, Seen())
        counts = kinds[mark.identified]
        counts[0] += 1
        counts[1] += each.first("retries") is not None
        if each.cited != mark.work.id or each.linked_at is None:
            continue
        counts[2] += 1
        seconds.append((each.linked_at - arrived) / 1000)
        requested, open_, decided = (each.first(topic) for topic in ("retries", "fallback", "outcomes"))
        if requested is not None and decided is not None:
            steps["requested"].append((requested - arrived) / 1000)
            steps["linker"].append(((open_ or decided) - requested) / 1000)
            if open_ is not None:
                steps["fallback"].append((decided - open_) / 1000)
            steps["ledger"].append((each.linked_at - decided) / 1000)
    # Leave out re-evaluations caused by the works before these.
    began = min(sent.values())
    times = {reference: [at for at in each.times.get("retries", ()) if at >= began] for reference, each in seen.items()}
    requests = {
        reference: len(each)
        for reference, each in times.items()
        if each and (reference not in waiting or waiting[reference].work.id in sent)
    }
    marked = requests.keys() & waiting.keys()
    return {
        "seconds": quantiles(seconds),
        "steps": {name: quantiles(values) for name, values in steps.items()},
        "awaited": {
            name: dict(zip(("waiting", "requested", "linked"), kinds[identified], strict=True))
            for name, identified in (("by identifier", True), ("by text", False))
        },
        "requested": sum(requests.values()),
        "requested_per_work": sum(requests.values()) / max(1, len(sent)),
        "requested_in_vain": sum(count for reference, count in requests.items() if reference not in marked),
        "requested_again": sum(requests[reference] - 1 for reference in marked),
    }


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """Return n, p50, p99 and max; n alone if there are no values."""
    if not values:
        return {"n": 0}
    p50, p99 = (float(np.quantile(values, share)) for share in (0.5, 0.99))
    return {"n": len(values), "p50": p50, "p99": p99, "max": max(values)}


def text(figures: Mapping[str, Any]) -> str:
    """Format the figures as lines."""
    lines = [
        f"{figures['references']:,} references wait, {figures['works_before']:,} works are there; "
        f"{figures['works']:,} arrive, {figures['per_s']:.1f}/s",
        "",
        f"{'seconds':32} {'n':>7} {'p50':>8} {'p99':>8} {'max':>8}",
        _row("work to link", figures["seconds"]),
        *(
            _row(name, figures["steps"][step])
            for step, name in (
                ("requested", "  ledger: work to retries"), ("linker", "  linker"), ("fallback", "  fallback"),
                ("ledger", "  ledger: outcome to link"),
            )
        ),
        "",
    ]  # fmt: skip
    for name, each in figures["awaited"].items():
        lines.append(f"awaited, {name}: {each['waiting']:,}, requested {each['requested']:,}, linked {each['linked']:,}")
    lines += [
        f"requests: {figures['requested']:,}, {figures['requested_per_work']:.3f} per work; "
        f"in vain {figures['requested_in_vain']:,}, repeated {figures['requested_again']:,}",
        "cores busy: " + ", ".join(f"{name} {share:.2f}" for name, share in figures["cores"].items()),
        "highest lag: " + ", ".join(f"{name} {value:,.0f}" for name, value in sorted(figures["lags"].items())),
    ]
    return "\n".join(lines)


def _row(name: str, values: Mapping[str, float]) -> str:
    numbers = " ".join(f"{values[each]:8.3f}" for each in ("p50", "p99", "max")) if values["n"] else ""
    return f"{name:32} {values['n']:7,} {numbers}"

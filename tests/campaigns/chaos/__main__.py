"""``python -m tests.campaigns.chaos``: kills and other faults, recovery times, or a soak, on a real Kafka of its own."""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from reflink.entities import Work
from tests.campaigns.chaos.campaign import Log, campaign
from tests.campaigns.chaos.verdict import Verdict
from tests.campaigns.reporting import write_json
from tests.workers.corpus import catalog_works, make_snapshot

_EPILOG = """examples:
  python -m tests.campaigns.chaos --kills 200 --freezes 100 --json c.json
      kills by phase, broker, network, disk; then members that freeze for longer than their session, or are kicked
  python -m tests.campaigns.chaos --kills 0 --freezes 20 --brokers 3
      the latter alone, while brokers are killed
  python -m tests.campaigns.chaos --kills 40 --freezes 0 --engine opensearch --nodes 3
      candidates from a search engine, whose nodes, index and indexer have faults, too
  python -m tests.campaigns.chaos recovery --repeats 3 --plot recovery.svg
      how long each fault delays links, one fault at a time
  python -m tests.campaigns.chaos soak --minutes 60 --plot soak.svg
      full load, a burst, a bulk load of the catalog

The same seed draws the same faults in the same order. Ctrl-C and SIGTERM end recovery and soak early; they then evaluate,
write and plot the results so far. Exit code 1: a record was lost or doubled, a promise was broken, or the run ended early."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if all promises hold, else 1."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def log(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    works = catalog_works()
    run = {"kills": _kills, "recovery": _recovery, "soak": _soak}[options.command]
    with tempfile.TemporaryDirectory(prefix="reflink-chaos-catalog-") as folder:
        report, well = run(options, works, make_snapshot(works, Path(folder) / "snapshot"), log)
    _keep(options, report)
    report.pop("samples", None)
    print(json.dumps(report, indent=1))
    return 0 if well else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.chaos",
        description="Injects faults into the pipeline and compares its output with an undisturbed run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("kills", "recovery", "soak"), default="kills", help="default: kills")
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="kills, with a quarter as many other faults (200)")
    parser.add_argument("--freezes", type=int, default=100, metavar="N", help="freezes at full load, half as many kicks (100)")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1, help="of three, one is killed at intervals (1)")
    parser.add_argument("--engine", choices=("native", "opensearch"), default="native", help="source of candidates (native)")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1, help="of OpenSearch; of three, with one replica (1)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the faults (1)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="recovery: repeats per fault and worker (3)")
    parser.add_argument("--minutes", type=float, default=60, metavar="M", help="soak: duration (60)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to this file")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="recovery and soak: write a plot to this file, as SVG")
    return parser.parse_args(arguments)


def _kills(options: argparse.Namespace, works: list[Work], snapshot: Path, log: Log) -> tuple[dict[str, Any], bool]:
    report: dict[str, Any] = {name: getattr(options, name) for name in ("kills", "freezes", "brokers", "engine", "seed")}
    nodes = options.nodes if options.engine != "native" else 0
    report |= {"nodes": nodes} if nodes else {}
    began = time.monotonic()

    def keep(verdicts: Sequence[Verdict]) -> None:
        report["seconds"] = round(time.monotonic() - began, 1)
        report["runs"] = [each.report() for each in verdicts]
        _keep(options, report)

    chosen = options.kills, options.freezes, options.brokers, options.seed
    verdicts = campaign(*chosen, works, snapshot, log, keep, nodes=nodes)
    return report, not any(each.problems for each in verdicts)


def _recovery(options: argparse.Namespace, works: list[Work], snapshot: Path, log: Log) -> tuple[dict[str, Any], bool]:
    from tests.campaigns.chaos import plots, recovery

    measured: list[dict[str, Any]] = []
    report = {"repeats": options.repeats, "ended_early": True, "measured": measured}
    with suppress(KeyboardInterrupt):
        for each in recovery.measure(works, snapshot, options.repeats, log):
            measured.append(dataclasses.asdict(each))
            _keep(options, report)
        report["ended_early"] = False
    if options.plot and measured:
        plots.recovery(measured, options.plot)
    kept = all(each["limit_s"] is None or each["seconds"] <= each["limit_s"] for each in measured)
    return report, kept and not report["ended_early"]


def _soak(options: argparse.Namespace, works: list[Work], snapshot: Path, log: Log) -> tuple[dict[str, Any], bool]:
    from tests.campaigns.chaos import plots, soak

    result = soak.Soak(options.minutes)
    with suppress(KeyboardInterrupt):
        soak.soak(works, snapshot, result, log, lambda: _keep(options, dataclasses.asdict(result)))
    soak.evaluate(result)
    report = dataclasses.asdict(result)
    if options.plot and result.samples:
        plots.soak(report["samples"], report["marks"], options.plot)
    return report, not result.problems


def _keep(options: argparse.Namespace, report: dict[str, Any]) -> None:
    write_json(options.json, {"machine": describe(), "command": options.command, **report})


if __name__ == "__main__":
    sys.exit(main())

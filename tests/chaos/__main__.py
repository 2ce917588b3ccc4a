"""``python -m tests.chaos``: kills and other faults, recovery times, or a soak, on a real Kafka of its own."""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from reflink.entities import Work
from tests.workers.corpus import catalog_works, make_snapshot

_EPILOG = """examples:
  python -m tests.chaos --kills 200 --seed 1 --json chaos.json     kills by phase, broker, network, disk, zombies
  python -m tests.chaos recovery --repeats 3 --plot recovery.svg   how long each fault is felt, one at a time
  python -m tests.chaos soak --minutes 60 --plot soak.svg          full load, a burst, a bulk load of the catalog

The same seed draws the same faults in the same order. Ctrl-C and SIGTERM end recovery and soak early: what they have by
then is judged, written and drawn. Exit code 1: something was lost, doubled, or not as promised or not seen to its end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; 0 when all is as promised, else 1."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    works = catalog_works()
    with tempfile.TemporaryDirectory(prefix="reflink-chaos-catalog-") as folder:
        snapshot = make_snapshot(works, Path(folder) / "snapshot")
        match options.command:
            case "kills":
                report, well = _kills(options, works, snapshot, say)
            case "recovery":
                report, well = _recovery(options, works, snapshot, say)
            case _:
                report, well = _soak(options, works, snapshot, say)
    _keep(options, report)
    report.pop("samples", None)
    print(json.dumps(report, indent=1))
    return 0 if well else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description="Hurts the pipeline and says whether its output changed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("kills", "recovery", "soak"), default="kills", help="default: kills")
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="kills; a quarter as many other faults (200)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which faults (1)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="recovery: of each fault and worker (3)")
    parser.add_argument("--minutes", type=float, default=60, metavar="M", help="soak: how long (60)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="recovery and soak: draw it there, as SVG")
    return parser.parse_args(arguments)


def _kills(options: argparse.Namespace, works: list[Work], snapshot: Path, say: Any) -> tuple[dict[str, Any], bool]:
    from tests.chaos.campaign import campaign

    verdicts = campaign(options.kills, options.seed, works, snapshot, say)
    report = {"kills": options.kills, "seed": options.seed, "runs": [each.report() for each in verdicts]}
    return report, not any(each.problems for each in verdicts)


def _recovery(options: argparse.Namespace, works: list[Work], snapshot: Path, say: Any) -> tuple[dict[str, Any], bool]:
    from tests.chaos import plots, recovery

    measured: list[dict[str, Any]] = []
    report = {"repeats": options.repeats, "ended_early": True, "measured": measured}
    with suppress(KeyboardInterrupt):
        for each in recovery.measure(works, snapshot, options.repeats, say):
            measured.append(dataclasses.asdict(each))
            _keep(options, report)
        report["ended_early"] = False
    if options.plot and measured:
        plots.recovery(measured, options.plot)
    kept = all(each["limit_s"] is None or each["seconds"] <= each["limit_s"] for each in measured)
    return report, kept and not report["ended_early"]


def _soak(options: argparse.Namespace, works: list[Work], snapshot: Path, say: Any) -> tuple[dict[str, Any], bool]:
    from tests.chaos import plots, soak

    result = soak.Soak(options.minutes)
    with suppress(KeyboardInterrupt):
        soak.soak(works, snapshot, result, say, lambda: _keep(options, dataclasses.asdict(result)))
    soak.judge(result)
    report = dataclasses.asdict(result)
    if options.plot and result.samples:
        plots.soak(report["samples"], report["marks"], options.plot)
    return report, not result.problems


def _keep(options: argparse.Namespace, report: dict[str, Any]) -> None:
    """Writes what there is, whole or not at all."""
    if options.json:
        text = json.dumps({"machine": describe(), "command": options.command, **report}, indent=1)
        partial = options.json.with_name(f"{options.json.name}.partial")
        partial.write_text(text + "\n")
        partial.replace(options.json)


if __name__ == "__main__":
    sys.exit(main())

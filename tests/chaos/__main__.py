"""``python -m tests.chaos``: kills and other faults, recovery times, or a soak, on a real Kafka of its own."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from reflink.entities import Work
from tests.workers.corpus import catalog_works, make_snapshot

_EPILOG = """examples:
  python -m tests.chaos --kills 200 --seed 1 --json chaos.json     kills by phase, broker, network, disk, zombies
  python -m tests.chaos recovery --repeats 3 --plot recovery.svg   how long each fault is felt, one at a time
  python -m tests.chaos soak --minutes 60 --plot soak.svg          full load, a burst, a bulk load of the catalog

The same seed draws the same faults in the same order. Exit code 1: something was lost, doubled, or not as promised."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; 0 when all is as promised, else 1."""
    options = _options(arguments)

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
    text = json.dumps({"machine": describe(), "command": options.command, **report}, indent=1)
    if options.json:
        options.json.write_text(text + "\n")
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
    from tests.chaos.recovery import measure

    measured = [dataclasses.asdict(each) for each in measure(works, snapshot, options.repeats, say)]
    if options.plot:
        from tests.chaos import plots

        plots.recovery(measured, options.plot)
    kept = all(each["limit_s"] is None or each["seconds"] <= each["limit_s"] for each in measured)
    return {"measured": measured}, kept


def _soak(options: argparse.Namespace, works: list[Work], snapshot: Path, say: Any) -> tuple[dict[str, Any], bool]:
    from tests.chaos.soak import soak

    result = dataclasses.asdict(soak(works, snapshot, options.minutes, say))
    if options.plot:
        from tests.chaos import plots

        plots.soak(result["samples"], result["marks"], options.plot)
    return result, not result["problems"]


if __name__ == "__main__":
    sys.exit(main())

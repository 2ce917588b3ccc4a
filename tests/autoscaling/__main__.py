"""``python -m tests.autoscaling``: the chart on a real control plane, scaled by KEDA, through bursts and the loss of a node."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from reflink.errors import ReflinkError
from tests.autoscaling.errors import RunFailed
from tests.autoscaling.record import Record
from tests.autoscaling.run import Run
from tests.autoscaling.verdict import summary
from tests.programs.errors import ProgramMissing
from workers.local.errors import LocalSetupError

_EPILOG = """examples:
  python -m tests.autoscaling                                        about twelve minutes, once the programs are built
  python -m tests.autoscaling --json record.json --plot run.svg      keeps what was seen, and draws it

The first time, Go builds kube-apiserver, kube-controller-manager, kube-scheduler, KEDA, kwok and helm: a quarter of an hour
on two cores. Ctrl-C ends everything. Exit code 1: not scaled as promised, or a link lost or doubled. 2: it could not run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; 0 when all is as promised, 1 when not, 2 when it could not run to its end."""
    options = _options(arguments)
    # SIGINT too: a shell lets what it starts in the background ignore it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    record, began = Record(), time.monotonic()

    def say(text: str) -> None:
        record.said.append((record.now(), text))
        print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="reflink-autoscaling-", ignore_cleanup_errors=True) as name:
        run = Run(Path(options.keep or name), record, say)
        try:
            run.run(options.papers, dict(each.split("=", 1) for each in options.setting))
        except (RunFailed, ProgramMissing, LocalSetupError, ReflinkError) as error:
            print(f"autoscaling: {error}", file=sys.stderr)
            run.problems.insert(0, f"it could not run to its end: {error}")
        except KeyboardInterrupt:
            run.problems.insert(0, "it was ended early")
    report: dict[str, Any] = {
        "machine": describe(),
        "load before": load,
        "seconds": round(time.monotonic() - began, 1),
        "papers": run.papers,
        "settings": options.setting,
        "summary": summary(record),
        "counts": run.counts,
        "ends": run.ends,
        "problems": run.problems,
    }
    if options.json:
        kept = {**report, "kubernetes": run.told, **asdict(record)}
        options.json.write_text(json.dumps(kept, indent=1) + "\n")
    if options.plot and record.samples:
        from tests.autoscaling.plots import draw

        draw(record.samples, record.marks, _title(run), options.plot)
    print(json.dumps(report, indent=1))
    return 0 if not run.problems else 1 if run.finished else 2


def _title(run: Run) -> str:
    links = run.counts.get("links", 0)
    return f"{links:,} links of {run.papers:,} papers; lost, doubled or not as promised: {'; '.join(run.problems) or 'none'}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.autoscaling",
        description="Installs the chart on a control plane of this machine's own and watches KEDA scale real workers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--papers", type=int, default=2000, metavar="N", help="papers at once that begin a burst (2000)")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of all workers, to see what it breaks: REFLINK_IDLE_COMMIT_S=3600",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write there what was seen each second, and the verdict")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it there, as SVG")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep logs and data there; it must not exist")
    options = parser.parse_args(arguments)
    if wrong := [each for each in options.setting if "=" not in each]:
        parser.error(f"--setting {wrong[0]}: NAME=VALUE is wanted")
    return options


if __name__ == "__main__":
    sys.exit(main())

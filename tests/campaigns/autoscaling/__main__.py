"""``python -m tests.campaigns.autoscaling``: the chart on a real control plane, scaled by KEDA, through bursts and failures."""

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
from tests.campaigns.autoscaling.errors import RunFailed
from tests.campaigns.autoscaling.record import Record
from tests.campaigns.autoscaling.run import Run
from tests.campaigns.autoscaling.verdict import summary
from tests.campaigns.reporting import write_json
from tests.programs.errors import ProgramMissing
from workers.devkit.errors import LocalSetupError

_EPILOG = """examples:
  python -m tests.campaigns.autoscaling                                        about twelve minutes, once the programs are built
  python -m tests.campaigns.autoscaling --json record.json --plot run.svg      writes a record and a plot

The first time, Go builds kube-apiserver, kube-controller-manager, kube-scheduler, KEDA, kwok and helm: a quarter of an hour
on two cores. Ctrl-C ends all programs.
Exit code 1: not scaled as required, or a link was lost or doubled. 2: the run was not completed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if all promises hold, 1 if not, 2 if the run did not complete."""
    options = _options(arguments)
    # SIGINT too: a shell makes its background processes ignore it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    record, began = Record(), time.monotonic()

    def log(text: str) -> None:
        record.messages.append((record.now(), text))
        print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="reflink-autoscaling-", ignore_cleanup_errors=True) as name:
        run = Run(Path(options.keep or name), record, log)
        try:
            run.run(options.papers, dict(each.split("=", 1) for each in options.setting))
        except (RunFailed, ProgramMissing, LocalSetupError, ReflinkError) as error:
            print(f"autoscaling: {error}", file=sys.stderr)
            run.problems.insert(0, f"the run could not be completed: {error}")
        except KeyboardInterrupt:
            run.problems.insert(0, "the run was ended early")
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
    write_json(options.json, {**report, "kubernetes": run.events, **asdict(record)})
    if options.plot and record.samples:
        from tests.campaigns.autoscaling.plots import draw

        draw(record.samples, record.marks, _title(run), options.plot)
    print(json.dumps(report, indent=1))
    return 0 if not run.problems else 1 if run.finished else 2


def _title(run: Run) -> str:
    links = run.counts.get("links", 0)
    return f"{links:,} links of {run.papers:,} papers; problems: {'; '.join(run.problems) or 'none'}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.autoscaling",
        description="Installs the chart on a local control plane and records how KEDA scales real workers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--papers", type=int, default=2000, metavar="N", help="papers at the start of a burst (2000)")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of all workers, such as REFLINK_IDLE_COMMIT_S=3600",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the samples and the verdict to this file")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot to this file, as SVG")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="new folder for logs and data, which are kept")
    options = parser.parse_args(arguments)
    if wrong := [each for each in options.setting if "=" not in each]:
        parser.error(f"--setting {wrong[0]}: NAME=VALUE is required")
    return options


if __name__ == "__main__":
    sys.exit(main())

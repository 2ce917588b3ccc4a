"""Write the dashboards: ``python -m helm.dashboards FOLDER``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from helm.dashboards.catalog import catalog
from helm.dashboards.continuous import continuous
from helm.dashboards.engine import engine
from helm.dashboards.gpu import gpu
from helm.dashboards.overview import overview
from helm.dashboards.quality import quality
from helm.dashboards.workers import workers

#: Dashboard builders by file name.
DASHBOARDS: Final[dict[str, Callable[[], str]]] = {
    "overview": overview,
    "workers": workers,
    "gpu": gpu,
    "catalog": catalog,
    "engine": engine,
    "continuous": continuous,
    "quality": quality,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write all dashboards and return 0."""
    parser = argparse.ArgumentParser(prog="python -m helm.dashboards", description="Write Grafana's dashboards.")
    parser.add_argument("folder", type=Path, help="where the JSON files go: helm/reflink/dashboards")
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in DASHBOARDS.items():
        (folder / f"{name}.json").write_text(made(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

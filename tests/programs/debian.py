"""Debian's programs: from the PATH, otherwise from a package that is unpacked but not installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.data import CACHE
from tests.programs.errors import ProgramMissing

_TIMEOUT_S = 300


def unpacked(name: str, package: str) -> Path:
    """Return the path of the program. Raises ProgramMissing."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    folder = CACHE / "programs" / "debian" / package
    place = folder / "usr" / "bin" / name
    if not place.exists():
        _unpack(package, folder)
    if not place.exists():
        raise ProgramMissing(f"Debian's package {package} has no {name}: install {name} and put it on the PATH")
    return place


def _unpack(package: str, folder: Path) -> None:
    wanted = f"{package} is needed: install it, or put its programs on the PATH"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise ProgramMissing(f"{wanted}; there is no apt-get to download it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        # apt's own user _apt may not write to this folder: as root, apt falls back to root with a note.
        tried = subprocess.run(
            ["apt-get", "download", package], cwd=scratch, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
        archives = list(Path(scratch).glob("*.deb"))
        if tried.returncode != 0 or not archives:
            raise ProgramMissing(
                f"{wanted}; `apt-get download {package}` failed: {tried.stderr.strip() or tried.stdout.strip()}"
            )
        into = Path(scratch) / "root"
        subprocess.run(["dpkg-deb", "--extract", str(archives[0]), str(into)], check=True, timeout=_TIMEOUT_S)
        if not folder.exists():
            into.rename(folder)

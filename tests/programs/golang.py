"""Programs and sources of Go modules, built here at a pinned version. Go's own caches make a second build quick."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.data import CACHE
from tests.programs.errors import ProgramMissing

#: kube-apiserver takes four minutes of two cores from an empty cache.
_TIMEOUT_S = 3000
_AT_LEAST = (1, 24)


@dataclass(frozen=True)
class Command:
    """A command of a Go module."""

    module: str
    version: str
    folder: str
    #: The version of modules that its go.mod requires as v0.0.0, since its own repository holds them.
    staging: str | None = None
    #: The variable that holds the version it tells, which its own build sets.
    stamp: str | None = None
    #: Whether it is built in a copy of its module's folder, for the replacements in its go.mod.
    in_place: bool = False


def built(name: str, command: Command) -> Path:
    """Path of the program, built the first time. Raises ProgramMissing."""
    place = CACHE / "programs" / f"{name}-{command.version}"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="go-") as scratch:
        folder, target = Path(scratch), Path(scratch) / "program"
        if command.in_place:
            source = folder / "source"
            shutil.copytree(module_folder(command.module, command.version), source, copy_function=shutil.copyfile)
            for inside in [source, *source.rglob("*")]:
                if inside.is_dir():
                    inside.chmod(0o755)
            _go(source, "build", "-o", str(target), f"./{command.folder}")
        elif command.staging is not None:
            _require(folder, command, command.staging)
            stamp = [] if command.stamp is None else ["-ldflags", f"-X {command.stamp}={command.version}"]
            _go(folder, "build", *stamp, "-o", str(target), f"{command.module}/{command.folder}")
        else:
            _go(folder, "install", f"{command.module}/{command.folder}@{command.version}", GOBIN=str(folder))
            (folder / Path(command.folder).name).rename(target)
        target.rename(place)
    return place


def module_folder(module: str, version: str) -> Path:
    """Where Go keeps the module's files, downloaded at need; read-only. Raises ProgramMissing."""
    said = _go(Path.home(), "mod", "download", "-json", f"{module}@{version}")
    return Path(json.loads(said)["Dir"])


def _require(folder: Path, command: Command, staging: str) -> None:
    """A module of ours in ``folder`` that requires the command's, and its staging modules as they were published."""
    said = json.loads(_go(folder, "mod", "download", "-json", f"{command.module}@{command.version}"))
    names = sorted(set(re.findall(r"^\s*(\S+) v0\.0\.0$", Path(said["GoMod"]).read_text(), re.MULTILINE)))
    lines = ["module programs.local", "", "go 1.24.0", "", f"require {command.module} {command.version}", ""]
    (folder / "go.mod").write_text("\n".join([*lines, *(f"replace {name} => {name} {staging}" for name in names), ""]))
    imported = f'package programs\n\nimport _ "{command.module}/{command.folder}"\n'
    (folder / "programs.go").write_text(f"//go:build programs\n\n{imported}")
    _go(folder, "mod", "tidy")


def _go(folder: Path, *arguments: str, **environment: str) -> str:
    program = shutil.which("go")
    needed = f"Go >= {'.'.join(map(str, _AT_LEAST))} builds it"
    if program is None:
        raise ProgramMissing(f"{needed}, and no `go` is on the PATH: install it")
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off", **environment},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        said = "; ".join(line for line in done.stderr.splitlines()[-3:])
        raise ProgramMissing(f"{needed}, and `go {' '.join(arguments)}` failed: {said}")
    return done.stdout

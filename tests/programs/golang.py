"""Programs and sources of Go modules at pinned versions; Go's own caches make a second build quick."""

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

#: With an empty cache kube-apiserver takes four minutes on two cores.
_TIMEOUT_S = 3000
_AT_LEAST = (1, 24)


@dataclass(frozen=True)
class Command:
    """A command of a Go module."""

    module: str
    version: str
    folder: str
    #: The version of the modules in its own repository, which its go.mod requires as v0.0.0.
    staging: str | None = None
    #: The variable of the version that it prints, which its own build sets.
    stamp: str | None = None
    #: Whether it is built in a copy of its module's folder, for the replacements in its go.mod.
    in_place: bool = False


def built(name: str, command: Command) -> Path:
    """Return the path of the program; the first call builds it. Raises ProgramMissing."""
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
    """Return Go's read-only folder of the module, downloaded if necessary. Raises ProgramMissing."""
    return Path(json.loads(_go(Path.home(), "mod", "download", "-json", f"{module}@{version}"))["Dir"])


def _require(folder: Path, command: Command, staging: str) -> None:
    """Write a module to ``folder`` that requires the command's module and the releases of its staging modules."""
    described = json.loads(_go(folder, "mod", "download", "-json", f"{command.module}@{command.version}"))
    names = sorted(set(re.findall(r"^\s*(\S+) v0\.0\.0$", Path(described["GoMod"]).read_text(), re.MULTILINE)))
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
    variables = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off", **environment}
    command = [program, *arguments]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        errors = "; ".join(done.stderr.splitlines()[-3:])
        raise ProgramMissing(f"{needed}, and `go {' '.join(arguments)}` failed: {errors}")
    return done.stdout

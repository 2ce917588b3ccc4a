"""The Dockerfile, the compose file and the scripts, read once for all tests of the images."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.data import ROOT

DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
SCRIPTS = sorted(DOCKER.rglob("*.sh"))


def instructions() -> list[tuple[str, str]]:
    """Return (keyword, arguments) of each instruction, with continued lines joined and without comments."""
    text = "\n".join(line for line in DOCKERFILE.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", text)
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def sources() -> list[str]:
    """Return the paths of the checkout that COPY copies."""
    copies = (rest.split()[:-1] for word, rest in instructions() if word == "COPY" and not rest.startswith("--from"))
    return [path for paths in copies for path in paths]


def compose() -> dict[str, Any]:
    """Return compose.yaml with its merge keys resolved."""
    loaded: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return loaded


def environment_of(service: dict[str, Any]) -> dict[str, str]:
    """Return a service's variables."""
    return dict(service.get("environment", {}))


def kept(path: str) -> bool:
    """Return whether .dockerignore keeps a path of the checkout: the last line that matches decides."""
    decided = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, lets = (line[1:], True) if line.startswith("!") else (line, False)
        if any(_fits(pattern, str(part)) for part in (Path(path), *Path(path).parents)):
            decided = lets
    return decided


def _fits(pattern: str, path: str) -> bool:
    expression = re.escape(pattern).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
    return re.fullmatch(expression, path) is not None

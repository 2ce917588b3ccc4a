"""The Dockerfile obeys hadolint's rules, copies existing files, and agrees with the project, the chart and compose."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.data import ROOT
from tests.docker.files import DOCKER, DOCKERFILE, SCRIPTS, compose, instructions, kept, sources
from workers.config.indexer import IndexerSettings
from workers.config.settings import FallbackSettings, LedgerSettings, LinkerSettings, ParserSettings

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]
#: The folder of programs that pip installs.
PROGRAMS = Path(sys.executable).parent
SETTINGS = {
    f"REFLINK_{name.upper()}"
    for model in (ParserSettings, LinkerSettings, FallbackSettings, LedgerSettings, IndexerSettings)
    for name in model.model_fields
}


def test_hadolint_finds_no_fault():
    done = subprocess.run([PROGRAMS / "hadolint", DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_no_fault(script):
    done = subprocess.run([PROGRAMS / "shellcheck", "-x", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("script", [path for path in SCRIPTS if path.name != "levels.sh"], ids=lambda path: path.name)
def test_scripts_are_executable_and_stop_at_the_first_error(script):
    assert script.stat().st_mode & 0o111
    assert "\nset -eu\n" in script.read_text()


@pytest.mark.parametrize("source", sources())
def test_copied_files_exist_and_are_not_ignored(source):
    assert (ROOT / source).exists()
    assert kept(source)


def test_only_code_and_data_of_the_packages_are_sent_to_the_build():
    data = ["reflink/verdict/model.json", "schemas/link.v1.json", "workers/devkit/server.properties"]
    others = [".git/config", ".venv/bin/python", "tests/data.py", "reflink/__pycache__/a.nbi", ".env", "docs/a.md"]
    assert [path for path in (*data, *others) if kept(path)] == data


def test_every_script_of_the_build_is_used():
    used = {Path(source).name for source in sources()}
    built = {path.name for path in (DOCKER / "steps").iterdir() if path.suffix in (".sh", ".py")}
    assert built == {name for name in used if (DOCKER / "steps" / name).exists()}


def test_the_version_is_that_of_the_project():
    versions = {rest.partition("=")[2] for word, rest in instructions() if word == "ARG" and rest.startswith("VERSION")}
    assert versions == {VERSION}
    assert {service["image"] for service in compose()["services"].values() if "build" in service} == {f"reflink:{VERSION}"}


def test_variables_are_settings():
    named = set(re.findall(r"\b(REFLINK_\w+)=", DOCKERFILE))
    assert named
    assert named <= SETTINGS


def stage(name: str) -> list[tuple[str, str]]:
    """Return the instructions of a stage and of the stages below it."""
    found: list[tuple[str, str]] = []
    current = ""
    for word, rest in instructions():
        if word == "FROM":
            base, _, current = rest.partition(" AS ")
            if current == name and "$" not in base:
                found = stage(base)
        if current == name:
            found.append((word, rest))
    return found


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_a_target_agrees_with_the_chart_and_compose(target):
    made = stage(target)
    words = dict(made)
    entry = '["/usr/bin/tini", "--", "/opt/reflink/run/start.sh"]'
    expected = {"USER": "10001:10001", "WORKDIR": "/var/lib/reflink", "STOPSIGNAL": "SIGTERM", "EXPOSE": "9464"}
    assert words.items() >= {**expected, "ENTRYPOINT": entry}.items()
    assert "healthcheck.py" in words["HEALTHCHECK"]
    variables = dict(re.findall(r"(REFLINK_\w+)=(\S+)", " ".join(rest for word, rest in made if word == "ENV")))
    assert variables == {
        "REFLINK_HTTP_HOST": "0.0.0.0",
        "REFLINK_HTTP_PORT": "9464",
        "REFLINK_STATE_DIR": "/var/lib/reflink/state",
    }
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', words["LABEL"]))
    assert labels["licenses"] == PROJECT["license"]
    assert labels["version"] == "${VERSION}" + ("-gpu" if target == "gpu" else "")


def test_weights_are_not_installed_by_default():
    assert {rest for word, rest in instructions() if word == "ARG" and rest.startswith("WEIGHTS")} == {"WEIGHTS=none"}


def test_the_image_runs_no_other_steps_than_system_and_user():
    ran = {step.split()[0] for word, rest in stage("cpu") if word == "RUN" for step in rest.split("&&")}
    assert ran == {"/build/system.sh", "/build/user.sh"}

"""Programs that pip does not install: pinned versions, and messages for what is missing."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import programs
from tests.programs import debian, golang
from tests.programs.errors import ProgramMissing


@pytest.mark.parametrize(("name", "argument"), [("helm", "version"), ("kubeconform", "-v"), ("promtool", "--version")])
def test_the_programs_of_the_tests_run(name: str, argument: str) -> None:
    done = subprocess.run([programs.program(name), argument], capture_output=True, text=True, check=True, timeout=60)
    pinned = programs.GO.get(name)
    output = done.stdout + done.stderr
    assert output.strip()
    if name == "helm" and pinned is not None:
        assert f"v{pinned.version.removeprefix('v').rpartition('.')[0]}" in output


def test_every_go_program_is_pinned_to_a_release() -> None:
    for name, command in programs.GO.items():
        assert re.fullmatch(r"v\d+\.\d+\.\d+", command.version), name


def test_without_go_the_message_names_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(golang, "CACHE", tmp_path)
    with pytest.raises(ProgramMissing, match=r"Go >= 1\.24 .*no `go` is on the PATH: install it"):
        golang.built("helm", programs.GO["helm"])


def test_a_version_that_does_not_exist_is_reported_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(golang, "CACHE", tmp_path)
    monkeypatch.setenv("GOPROXY", "off")
    with pytest.raises(ProgramMissing, match=r"`go install .*failed"):
        golang.built("kwok", golang.Command("sigs.k8s.io/kwok", "v0.0.1", "cmd/kwok"))
    assert not list((tmp_path / "programs").iterdir())


def test_without_apt_the_message_names_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(debian, "CACHE", tmp_path)
    with pytest.raises(ProgramMissing, match=r"prometheus is needed: install it.*no apt-get"):
        debian.unpacked("promtool", "prometheus")

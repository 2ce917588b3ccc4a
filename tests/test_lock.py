"""Installation from requirements.lock by the project's own commands, without a network, from small generated packages."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.data import ROOT

pytestmark = pytest.mark.full

LOCK: Final = (ROOT / "requirements.lock").read_text()
STEPS: Final = ROOT / "docker" / "steps"
#: A build backend in one function: an editable project is a file that names its folder.
BACKEND: Final = """
import os, zipfile
def build_editable(folder, settings=None, metadata=None):
    name = "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("tiny.pth", os.getcwd())
        wheel.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
        wheel.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("tiny-1.dist-info/RECORD", "")
    return name
"""
PYPROJECT: Final = """
[build-system]
requires = ["backend==1"]
build-backend = "backend"
[project]
name = "tiny"
version = "1"
dependencies = ["needed>=1"]
[project.optional-dependencies]
build = ["backend==1"]
semantic = ["torch>=1"]
dev = []
"""


class Index:
    """A package index in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    def add(self, name: str, version: str = "1", code: str = "", needs: str = "") -> str:
        """Write the wheel of a package; return its sha256."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        path, info = place / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(zipfile.ZipInfo(f"{name}.py"), code)
            requires = f"Requires-Dist: {needs}\n" if needs else ""
            about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
            wheel.writestr(zipfile.ZipInfo(f"{info}/METADATA"), about)
            wheel.writestr(zipfile.ZipInfo(f"{info}/WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "")
        links = "".join(f'<a href="{each.name}">{each.name}</a>\n' for each in sorted(place.glob("*.whl")))
        (place / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
        return hashlib.sha256(path.read_bytes()).hexdigest()


class Checkout:
    """A project with the Makefile and build steps of reflink, an index, and a lock of the packages in the index."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.index, self.entries = folder, Index(folder / "index"), dict[str, str]()
        shutil.copytree(STEPS, folder / "docker" / "steps")
        shutil.copy(ROOT / "Makefile", folder)
        (folder / "pyproject.toml").write_text(PYPROJECT)

    def begin(self) -> None:
        """Restore the state after a clone; the virtual environment is emptied, because creating it takes seconds."""
        for path in self.folder.glob(".venv/lib/*/site-packages/*"):
            if not path.name.startswith(("pip", "setuptools", "_distutils", "distutils")):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        (self.folder / ".venv/.installed").unlink(missing_ok=True)
        shutil.rmtree(self.index.folder, ignore_errors=True)
        self.entries.clear()
        self.pin("backend", "tiny (pyproject.toml)", code=BACKEND)
        self.pin("needed", "tiny (pyproject.toml)", needs="deeper")
        self.pin("deeper", "needed")
        self.pin("torch", "tiny (pyproject.toml)")

    def pin(self, name: str, via: str, **about: str) -> None:
        self.entries[name] = f"{name}==1 \\\n    --hash=sha256:{self.index.add(name, **about)}\n    # via {via}\n"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "requirements.lock").write_text("".join(self.entries.values()))
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE", "MFLAGS"))}
        variables = {**clean, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": self.index.url, "PIP_NO_CACHE_DIR": "1"}
        variables |= {"ENVIRONMENT": str(self.folder / ".venv"), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        return subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, check=False)

    def make(self) -> subprocess.CompletedProcess[str]:
        return self.run("make", f"PYTHON={sys.executable}", ".venv/.installed")

    def packages(self, extras: str, *torch: str) -> subprocess.CompletedProcess[str]:
        return self.run("docker/steps/packages.sh", ".", extras, "none", *torch)

    def installed(self) -> set[str]:
        excluded = ("--exclude", "pip", "--exclude", "setuptools", "--exclude-editable")
        return set(self.run(".venv/bin/python", "-m", "pip", "freeze", *excluded).stdout.split())


@pytest.fixture(scope="module")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def checkout(cloned: Checkout) -> Checkout:
    cloned.begin()
    return cloned


def test_make_installs_the_locked_versions(checkout: Checkout):
    checkout.index.add("needed", "9")
    done = checkout.make()
    assert (done.returncode, done.stderr) == (0, "")
    assert checkout.installed() >= {"backend==1", "needed==1", "deeper==1", "torch==1"}


@pytest.mark.parametrize("name", ["deeper", "backend"])
def test_make_refuses_a_file_with_another_hash(checkout: Checkout, name: str):
    checkout.index.add(name, code="print('another')")
    done = checkout.make()
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert f"{name}==1" in done.stderr
    assert not (checkout.folder / ".venv/.installed").exists()


def test_make_refuses_a_package_that_is_not_locked(checkout: Checkout):
    del checkout.entries["deeper"]
    done = checkout.make()
    assert done.returncode != 0
    assert "deeper" in done.stderr
    assert not (checkout.folder / ".venv/.installed").exists()


def test_an_image_gets_the_locked_versions_and_refuses_a_file_with_another_hash(checkout: Checkout):
    assert checkout.packages("none").returncode == 0
    assert checkout.installed() == {"needed==1", "deeper==1"}
    checkout.begin()
    checkout.index.add("deeper", code="print('another')")
    done = checkout.packages("none")
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not checkout.installed()


def test_only_pytorch_comes_from_its_index(checkout: Checkout, tmp_path: Path):
    other = Index(tmp_path / "other")
    sha256 = other.add("torch", "1+cpu")
    other.add("needed", "1", code="print('another')")
    other.add("needed", "9")
    done = checkout.packages("semantic", other.url, sha256)
    assert (done.returncode, done.stderr) == (0, "")
    assert checkout.installed() == {"needed==1", "deeper==1", "torch==1+cpu"}


@pytest.mark.parametrize(("sha256", "message"), [("", "TORCH_INDEX needs TORCH_SHA256"), ("0" * 64, "DO NOT MATCH THE HASHES")])
def test_pytorch_of_another_index_needs_its_hash(checkout: Checkout, tmp_path: Path, sha256: str, message: str):
    other = Index(tmp_path / "other")
    other.add("torch", "1+cpu")
    done = checkout.packages("semantic", other.url, sha256)
    assert done.returncode != 0
    assert message in done.stderr


def test_the_lock_names_no_index():
    lines = (re.sub(r"--hash=\S+|\\$", "", line) for line in LOCK.splitlines())
    assert not re.search(r"://|^\s*-|index|find-links", "\n".join(lines))


def test_the_build_requirements_are_an_extra_and_locked():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert pyproject["build-system"]["requires"] == pyproject["project"]["optional-dependencies"]["build"]


def commands() -> list[tuple[str, str]]:
    """Return each command of the Makefile, the images and CI by which pip installs or builds, with its file."""
    found = []
    for path in (
        ROOT / "Makefile",
        *(each for folder in ("docker", ".ci") for each in (ROOT / folder).rglob("*") if each.is_file()),
    ):
        text = path.read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        calls = [line for line in lines if re.search(r"pip\"? (install|wheel|download)|python \$\(PIP\)", line)]
        found += [(str(path.relative_to(ROOT)), call.strip()) for call in calls]
    return found


@pytest.mark.parametrize(("path", "command"), commands())
def test_every_command_compares_hashes_or_reads_no_index(path: str, command: str):
    assert re.search(r"--require-hashes|\$\(HASHED\)|--no-index", command), f"{path}: {command}"
    assert "extra-index" not in command


def test_the_commands_are_found():
    assert {path for path, _ in commands()} == {"Makefile", "docker/steps/packages.sh", "docker/steps/project.sh"}

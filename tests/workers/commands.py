"""Commands run in the test's process, with their settings in the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.data import ROOT
from workers.cli import main
from workers.config.settings import KafkaSettings

Command = Callable[..., tuple[int, str, str]]


def variables(kafka: KafkaSettings) -> dict[str, str]:
    """Return the environment variables that set the broker and the topics."""
    return {
        "REFLINK_KAFKA_BOOTSTRAP_SERVERS": kafka.kafka_bootstrap_servers,
        "REFLINK_TOPIC_PREFIX": kafka.topic_prefix,
    }


def set_environment(monkeypatch: pytest.MonkeyPatch, kafka: KafkaSettings, **more: str) -> None:
    """Set the variables of the broker and the topics, and ``more``."""
    for name, value in {**variables(kafka), **more}.items():
        monkeypatch.setenv(name, value)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run ``reflink-worker``. Return its exit code, standard output and standard error."""
    try:
        code = main([str(each) for each in arguments])
    except SystemExit as error:
        code = int(error.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def start(*program: object, **options: Any) -> subprocess.Popen[Any]:
    """Start a Python module in its own process, with ``variables`` of ``kafka`` or ``env`` added to the environment."""
    kafka, more = options.pop("kafka", None), options.pop("env", {})
    environment = {**os.environ, **(variables(kafka) if kafka else {}), **more}
    return subprocess.Popen([sys.executable, "-m", *map(str, program)], cwd=ROOT, env=environment, **options)

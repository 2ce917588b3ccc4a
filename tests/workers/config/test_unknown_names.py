"""Mistyped names of settings are reported with the probable name, and never with their values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.workers.commands import start
from tests.workers.config.test_settings import ALL
from workers.config.unknown_names import unknown_names
from workers.devkit.ports import free_port
from workers.errors import BadSettings

SECRET = "correct horse battery"


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("REFLINK_BATCH_RECORD", "REFLINK_BATCH_RECORDS"),
        ("REFLINK_KAFKA_SASL_PASSWRD", "REFLINK_KAFKA_SASL_PASSWORD"),
        ("REFLINK_SASL_USERNAME", "REFLINK_KAFKA_SASL_USERNAME"),
        ("REFLINK_kafka_bootstrap_server", "REFLINK_KAFKA_BOOTSTRAP_SERVERS"),
        ("REFLINK_TRESHOLD", "REFLINK_THRESHOLD"),
        ("REFLINK_COLOUR", None),
        ("REFLINK_", None),
    ],
)
def test_a_mistyped_name_is_found_with_the_most_similar_setting(name: str, similar: str | None):
    assert unknown_names({name: SECRET, "PATH": "/bin"}) == {name: similar}


def test_every_setting_of_every_worker_is_known():
    fields = {name for model in ALL for name in model.model_fields}
    assert unknown_names({f"REFLINK_{name.upper()}": "" for name in fields} | {f"reflink_{name}": "" for name in fields}) == {}


@pytest.mark.parametrize(
    "name",
    ["CONFIG", "CACHE", "SHARED_DATA", "LEDGER_SERVICE_HOST", "LEDGER_SERVICE_PORT", "LEDGER_SERVICE_PORT_METRICS",
     "LEDGER_PORT", "LEDGER_PORT_9000_TCP", "LEDGER_PORT_9000_TCP_ADDR", "PORT_9000_UDP_PROTO", "SERVICE_SERVICE_HOST", "PORT"],
)  # fmt: skip
def test_variables_of_other_programs_are_ignored(name: str):
    assert unknown_names({f"REFLINK_{name}": "x"}) == {}


def test_a_mistyped_name_in_the_file_is_found_too(tmp_path: Path):
    path = tmp_path / "reflink.toml"
    path.write_text(f'batch_record = 1\nhttp_port = 0\nkafka_sasl_passwrd = "{SECRET}"\n')
    assert unknown_names({"REFLINK_CONFIG": str(path)}) == {
        f"batch_record in {path}": "REFLINK_BATCH_RECORDS",
        f"kafka_sasl_passwrd in {path}": "REFLINK_KAFKA_SASL_PASSWORD",
    }


def test_a_worker_logs_one_warning_of_unknown_names(tmp_path: Path):
    """The worker then continues, here until it finds no broker."""
    variables = {"BATCH_RECORD": SECRET, "FOO": SECRET, "STATE_DIR": str(tmp_path), "KAFKA_CONNECT_TIMEOUT_S": "0.1"}
    variables["KAFKA_BOOTSTRAP_SERVERS"] = f"127.0.0.1:{free_port()}"
    environ = {f"REFLINK_{name}": value for name, value in variables.items()}
    worker = start("workers.cli", "parser", stderr=subprocess.PIPE, env=environ, text=True)
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 9
    (warning,) = (line for line in map(json.loads, err.splitlines()[:-1]) if line["level"] == "warning")
    assert warning["names"] == {"REFLINK_BATCH_RECORD": "REFLINK_BATCH_RECORDS", "REFLINK_FOO": None}
    assert SECRET not in err


def test_the_old_name_of_a_setting_is_refused_with_the_new_name() -> None:
    with pytest.raises(BadSettings, match="REFLINK_ACCEPT was renamed to REFLINK_MIN_PROBABILITY"):
        unknown_names({"REFLINK_ACCEPT": "0.9"})

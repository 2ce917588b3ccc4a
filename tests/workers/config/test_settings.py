"""Settings: their sources, the errors for invalid values, and that no secret is ever shown."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any

import pytest

from workers.config.settings import (
    CatalogSettings,
    FallbackSettings,
    KafkaSettings,
    LedgerSettings,
    LinkerSettings,
    ParserSettings,
    WorkerSettings,
    read,
)
from workers.errors import BadSettings

ALL = [KafkaSettings, WorkerSettings, ParserSettings, CatalogSettings, LinkerSettings, FallbackSettings, LedgerSettings]
SECRET = "correct horse battery"
SASL = {
    "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    "KAFKA_SASL_MECHANISM": "PLAIN",
    "KAFKA_SASL_USERNAME": "worker",
    "KAFKA_SASL_PASSWORD": SECRET,
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch):
    def set_all(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"REFLINK_{name}", value)

    return set_all


@pytest.fixture
def config(tmp_path: Path, environment: Any):
    def write(text: str | bytes) -> Path:
        path = tmp_path / "reflink.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        environment(CONFIG=str(path))
        return path

    return write


def refusal(model: type[KafkaSettings], **overrides: Any) -> str:
    with pytest.raises(BadSettings) as error:
        read(model, **overrides)
    assert error.value.exit_code == 2
    shown = "".join(traceback.format_exception(error.value))
    assert SECRET not in shown
    assert "pydantic" not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


# Sources


@pytest.mark.parametrize("model", ALL)
def test_each_setting_has_a_default(model: type[KafkaSettings]):
    assert read(model).topic("links") == "reflink.links"


def test_the_environment_sets_values(environment: Any):
    environment(BATCH_RECORDS="7", TOPIC_PREFIX="p.", OFFER_PAPERS="false", POINTER_ROOT="/papers")
    found = read(ParserSettings)
    assert (found.batch_records, found.topic("x"), found.offer_papers, found.pointer_root) == (7, "p.x", False, Path("/papers"))


def test_one_file_sets_values_of_all_workers(config: Any):
    config('topic_prefix = "p."\nbatch_records = 9\nthreshold = 0.5\noffer_papers = false\n')
    assert read(LinkerSettings).threshold == 0.5
    assert read(ParserSettings).offer_papers is False
    assert {read(model).topic_prefix for model in ALL} == {"p."}


def test_arguments_precede_the_environment_and_the_environment_the_file(environment: Any, config: Any):
    config("batch_records = 1\nbatch_bytes = 1\nqueue_bytes = 1\n")
    environment(BATCH_RECORDS="2", BATCH_BYTES="2")
    settings = read(WorkerSettings, batch_records=3)
    assert (settings.batch_records, settings.batch_bytes, settings.queue_bytes) == (3, 2, 1)


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        read(WorkerSettings).batch_records = 4  # type: ignore[misc]


# Invalid values


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (KafkaSettings, "KAFKA_SECURITY_PROTOCOL", "TLS"),
        (KafkaSettings, "TOPIC_PREFIX", "a b"),
        (KafkaSettings, "LOG_LEVEL", "loud"),
        (KafkaSettings, "KAFKA_SSL_CHECK_HOSTNAME", "perhaps"),
        (WorkerSettings, "HTTP_PORT", "70000"),
        (WorkerSettings, "HTTP_PORT", "http"),
        (WorkerSettings, "SLOT", "a/b"),
        (WorkerSettings, "SLOT", ""),
        (WorkerSettings, "BATCH_RECORDS", "0"),
        (WorkerSettings, "BATCH_LINGER_S", "-1"),
        (WorkerSettings, "SESSION_TIMEOUT_S", "0"),
        (WorkerSettings, "FLOOD_SHARE", "1.5"),
        (CatalogSettings, "FOLLOW_SHARE", "0"),
        (LinkerSettings, "PROFILE", "fast"),
        (LinkerSettings, "SEMANTIC_MODE", "XYZ"),
        (LinkerSettings, "THRESHOLD", "nan"),
        (LinkerSettings, "PRECISION", "int8"),
        (LinkerSettings, "QUERY_PRECISION", "int8"),
    ],
)
def test_a_wrong_value_is_refused_with_the_variables_name(model: Any, name: str, value: str, environment: Any):
    environment(**{name: value})
    message = refusal(model)
    assert message.startswith(f"REFLINK_{name}: ")


def test_all_wrong_values_are_reported_at_once(environment: Any):
    environment(BATCH_RECORDS="x", HTTP_PORT="y")
    message = refusal(WorkerSettings)
    assert "REFLINK_BATCH_RECORDS: " in message
    assert "REFLINK_HTTP_PORT: " in message


@pytest.mark.parametrize("missing", ["KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"])
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
def test_sasl_needs_all_its_parts(missing: str, protocol: str, environment: Any):
    environment(**{name: value for name, value in SASL.items() if name != missing} | {"KAFKA_SECURITY_PROTOCOL": protocol})
    assert refusal(KafkaSettings).startswith(f"REFLINK_{missing} is required with REFLINK_KAFKA_SECURITY_PROTOCOL={protocol}")


def test_the_revocation_deadline_is_at_most_half_of_the_session_timeout(environment: Any):
    environment(SESSION_TIMEOUT_S="6", REVOCATION_DEADLINE_S="3")
    assert read(WorkerSettings).revocation_deadline_s == 3
    environment(REVOCATION_DEADLINE_S="3.1")
    message = refusal(WorkerSettings)
    assert "REFLINK_REVOCATION_DEADLINE_S (3.1)" in message
    assert "REFLINK_SESSION_TIMEOUT_S (6)" in message


@pytest.mark.parametrize("text", ["batch_records = = 5", b"a = '\xff'", f"kafka_sasl_password = '{SECRET}"])
def test_a_file_that_is_not_toml_is_refused(text: str | bytes, config: Any):
    path = config(text)
    assert refusal(WorkerSettings).startswith(f"REFLINK_CONFIG: {path} cannot be read: ")


def test_a_missing_file_is_refused(environment: Any, tmp_path: Path):
    environment(CONFIG=str(tmp_path / "no.toml"))
    assert refusal(KafkaSettings) == f"REFLINK_CONFIG: {tmp_path / 'no.toml'} is not a file"
    environment(CONFIG=str(tmp_path))
    assert "is not a file" in refusal(KafkaSettings)


def test_a_wrong_value_in_the_file_is_named(config: Any):
    config("http_port = 'x'")
    assert refusal(WorkerSettings).startswith("REFLINK_HTTP_PORT: ")


# Secrets


def test_secrets_are_not_shown(environment: Any, caplog: Any):
    environment(**SASL, KAFKA_SSL_PASSWORD=SECRET)
    settings = read(LinkerSettings)
    logging.getLogger("x").warning("started with %s", settings)
    shown = [repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump()), caplog.text, f"{settings}"]
    assert not any(SECRET in text for text in shown)


@pytest.mark.parametrize("text", [f"kafka_sasl_password = ['{SECRET}']", f"kafka_sasl_password = {{a = '{SECRET}'}}"])
def test_a_refused_secret_is_not_shown(text: str, config: Any):
    config(text)
    assert refusal(KafkaSettings).startswith("REFLINK_KAFKA_SASL_PASSWORD: ")


def test_the_client_gets_only_the_options_that_are_set(environment: Any):
    assert read(KafkaSettings).kafka_client() == {
        "bootstrap_servers": ["127.0.0.1:9092"],
        "security_protocol": "PLAINTEXT",
        "ssl_check_hostname": True,
    }
    environment(**SASL, KAFKA_BOOTSTRAP_SERVERS="a:1,b:2", KAFKA_SSL_CAFILE="/ca.pem")
    client = read(KafkaSettings).kafka_client()
    assert client["bootstrap_servers"] == ["a:1", "b:2"]
    assert (client["sasl_plain_username"], client["sasl_plain_password"]) == ("worker", SECRET)
    assert client["ssl_cafile"] == "/ca.pem"
    assert client["sasl_mechanism"] == "PLAIN"


def test_a_linker_that_searches_trigrams_requires_no_gpu():
    for device in ("cuda", "cuda:63"):
        assert "REFLINK_FIRST_SEARCH=trigrams" in refusal(LinkerSettings, first_search="trigrams", search_device=device)
        read(FallbackSettings, first_search="trigrams", search_device=device)
        read(LinkerSettings, search_device=device)
    read(LinkerSettings, first_search="trigrams", search_device="auto")

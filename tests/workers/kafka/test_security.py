"""Accepted and refused credentials, on a real broker with TLS, SASL and mutual TLS."""

from __future__ import annotations

import json
import logging
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.conftest import logs_restored
from tests.kafka import create_topics, lag, new_prefix, read_all, send, worker_settings
from tests.secure import Certificates, SecureBroker, environment, secure_broker
from tests.workers.commands import start
from tests.workers.echo import Echo, Running, running, until
from tests.workers.papers.test_stage import XML
from workers.config.settings import KafkaSettings, WorkerSettings
from workers.devkit.ports import free_port
from workers.errors import BrokerRefused
from workers.telemetry import logs

KEY_PASSWORD = "s3cr3t-of-the-key"
#: More seconds than any of these commands needs to start and be refused, and less than they wait for a silent broker.
WITHIN_S = 120
_PATIENT = {"REFLINK_KAFKA_CONNECT_TIMEOUT_S": "600"}


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("secure")) as broker:
        yield broker


@pytest.fixture
def admin(secure: SecureBroker) -> KafkaSettings:
    """Create topics for the test, on the listener without authentication."""
    return create_topics(secure.address("PLAINTEXT"), new_prefix(), partitions=2)


def command(name: str, settings: dict[str, Any], state: Path, **more: str) -> subprocess.Popen[str]:
    """Start the real worker in its own process."""
    variables = {"REFLINK_STATE_DIR": str(state), "REFLINK_SLOT": "a", "REFLINK_IDLE_COMMIT_S": "0.2", **_PATIENT, **more}
    return start("workers.cli", name, stderr=subprocess.PIPE, text=True, env={**environment(settings), **variables})


# The right credentials


@pytest.mark.parametrize("how", ["SCRAM-SHA-256", "SCRAM-SHA-512", "certificate", "certificate and locked key"])
def test_a_worker_works_end_to_end(secure: SecureBroker, admin: KafkaSettings, state: Path, how: str):
    credentials = (
        secure.as_user("worker", how)
        if how.startswith("SCRAM")
        else secure.with_certificate("mutual", key_password=KEY_PASSWORD if "locked" in how else None)
    )
    settings = worker_settings(admin, state, **credentials)
    send(settings, "references", [(b"%d" % number, b"value") for number in range(40)])
    send(settings, "references", [(b"x", b"bad on purpose")])
    with running(Echo(), settings):
        until(lambda: lag(settings, "echo", "references") == 0, what="all is committed")
    assert sorted(int(record.key or b"") for record in read_all(settings, "outcomes")) == list(range(40))
    assert len(read_all(settings, "dead-letters")) == 1


# The wrong credentials

USER = "REFLINK_KAFKA_SASL_USERNAME"
PASSWORD = "REFLINK_KAFKA_SASL_PASSWORD"
CAFILE = "REFLINK_KAFKA_SSL_CAFILE"
CERTFILE = "REFLINK_KAFKA_SSL_CERTFILE"
PROTOCOL = "REFLINK_KAFKA_SECURITY_PROTOCOL"
SERVERS = "REFLINK_KAFKA_BOOTSTRAP_SERVERS"

#: By fault: the parts that the error line must contain, among them the settings to check.
REFUSALS = {
    "wrong password": ("rejects the user worker", "invalid credentials", USER, PASSWORD),
    "unknown user": ("rejects the user nobody", "invalid credentials", USER, PASSWORD),
    "other mechanism": ("the broker supports SCRAM-SHA-", "not PLAIN", "REFLINK_KAFKA_SASL_MECHANISM"),
    "wrong authority": ("no authority that signed the broker's certificate is in", CAFILE, "other/ca.pem"),
    "the broker's certificate expired": ("the broker's certificate has expired", CAFILE),
    "the broker's certificate names another host": ("is not for the host 127.0.0.1", SERVERS, "SSL_CHECK_HOSTNAME"),
    "the client's certificate expired": ("rejects the client certificate", "check that it is valid today", CERTFILE),
    "the client's certificate is not valid yet": ("rejects the client certificate", "check that it is valid today", CERTFILE),
    "the client's certificate is another authority's": ("rejects the client certificate", "trusts its authority", CERTFILE),
    "no client's certificate": ("requires a client certificate", CERTFILE, "REFLINK_KAFKA_SSL_KEYFILE"),
    "plain text on a TLS port": ("this port of the broker uses TLS", PROTOCOL),
    "TLS on a plain port": ("this port of the broker does not use TLS", PROTOCOL),
    "no login where it is required": ("requires authentication (SASL)", PROTOCOL, USER),
    "a login where none is accepted": ("this port of the broker does not use SASL", PROTOCOL),
}


def refused_settings(secure: SecureBroker, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the settings of each fault in REFUSALS."""
    others = Certificates(folder / "other")
    others.folder.mkdir()
    other_cert, other_key = others.issue("mutual")
    plain = {"kafka_bootstrap_servers": secure.address("SCRAM"), "kafka_security_protocol": "PLAINTEXT"}
    clear = secure.as_user("worker", listener="OPEN", kafka_security_protocol="PLAINTEXT")
    mutual = secure.with_certificate("mutual")
    return {
        "wrong password": secure.as_user("worker", kafka_sasl_password="s3cr3t-and-wrong"),
        "unknown user": secure.as_user("worker", kafka_sasl_username="nobody"),
        "other mechanism": secure.as_user("worker", "PLAIN"),
        "wrong authority": secure.as_user("worker", kafka_ssl_cafile=others.cafile()),
        "the broker's certificate expired": secure.as_user("worker", listener="EXPIRED"),
        "the broker's certificate names another host": secure.as_user("worker", listener="ELSEWHERE"),
        "the client's certificate expired": secure.with_certificate("late", expired=True),
        "the client's certificate is not valid yet": secure.with_certificate("soon", early=True),
        "the client's certificate is another authority's": mutual
        | {"kafka_ssl_certfile": other_cert, "kafka_ssl_keyfile": other_key},
        "no client's certificate": {name: mutual[name] for name in mutual if not re.search("certfile|keyfile", name)},
        "plain text on a TLS port": plain,
        "TLS on a plain port": secure.as_user("worker", listener="OPEN", kafka_security_protocol="SASL_SSL"),
        "no login where it is required": {name: clear[name] for name in clear if "sasl" not in name},
        "a login where none is accepted": secure.as_user(
            "worker", listener="PLAINTEXT", kafka_security_protocol="SASL_PLAINTEXT"
        ),
    }


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_names_the_cause_and_the_settings(what: str, secure: SecureBroker, tmp_path: Path):
    worker = Running(Echo(), worker_settings(secure.as_admin(), tmp_path, **refused_settings(secure, tmp_path)[what]))
    worker.thread.join(WITHIN_S)
    assert isinstance(worker.error, BrokerRefused)
    message = str(worker.error)
    assert message.startswith("127.0.0.1:")
    assert all(part in message for part in REFUSALS[what]), message
    assert "s3cr3t" not in message


def test_a_refused_command_ends_with_one_line_and_its_code(secure: SecureBroker, tmp_path: Path):
    """The commands are a worker and a tool; a password, an authority and a certificate are wrong."""
    settings = refused_settings(secure, tmp_path)
    wrong = {"wrong password": "parser", "wrong authority": "topics", "the client's certificate expired": "parser"}
    processes = {what: command(name, settings[what], tmp_path / what) for what, name in wrong.items()}
    for what, process in processes.items():
        _, message = process.communicate(timeout=WITHIN_S)
        logged = [json.loads(line) for line in message.splitlines() if line.startswith("{")]
        assert {each["level"] for each in logged} <= {"info"}
        (line,) = (line for line in message.splitlines() if not line.startswith("{"))
        assert line.startswith("reflink-worker: BrokerRefused: 127.0.0.1:")
        assert all(part in line for part in REFUSALS[what]), line
        assert process.returncode == 8


def test_one_accepting_broker_is_enough(secure: SecureBroker, admin: KafkaSettings):
    silent = f"127.0.0.1:{free_port()}"
    servers = f"{silent},{secure.address('EXPIRED')},{secure.address('SCRAM')}"
    settings = KafkaSettings(**secure.as_user("worker", kafka_bootstrap_servers=servers), topic_prefix=admin.topic_prefix)
    assert read_all(settings, "links") == []


# Refused while the worker runs


def test_credentials_and_certificates_refused_later_end_a_running_worker(
    secure: SecureBroker, admin: KafkaSettings, state: Path
):
    certified = secure.with_certificate("mutual")
    kinds = {"user": secure.as_user("leaver"), "certificate": certified}
    workers = {
        kind: Running(Echo(), worker_settings(admin, state, **credentials, slot=kind)) for kind, credentials in kinds.items()
    }
    for worker in workers.values():
        until(lambda worker=worker: worker.runtime.ready()[0], what="the worker is ready")
    expired, key = secure.certificates.issue("expired", expired=True)
    shutil.copy(expired, certified["kafka_ssl_certfile"])
    shutil.copy(key, certified["kafka_ssl_keyfile"])
    secure.change_password("leaver", "another")
    secure.broker.restart()
    for worker in workers.values():
        worker.thread.join(60)
        assert isinstance(worker.error, BrokerRefused), worker.error
    assert "rejects the user leaver" in str(workers["user"].error)
    assert "check that it is valid today" in str(workers["certificate"].error)


# No secrets in any output


def test_no_output_of_a_worker_contains_a_secret(secure: SecureBroker, admin: KafkaSettings, tmp_path: Path):
    """The log level is the most detailed one; the password is right in one run and wrong in another."""
    credentials = secure.as_user("worker", **locked_key(secure))
    wrong = {**credentials, "kafka_sasl_password": "s3cr3t-and-wrong"}
    port = free_port()
    more = {"REFLINK_TOPIC_PREFIX": admin.topic_prefix, "REFLINK_LOG_LEVEL": "DEBUG", "REFLINK_HTTP_PORT": str(port)}
    send(admin, "papers", [(b"a", XML), (b"b", b"no paper")])
    process = command("parser", credentials, tmp_path, **more)
    try:
        until(lambda: read_all(admin, "references"), what="references")
        shown = [urlopen(f"http://127.0.0.1:{port}{path}").read().decode() for path in ("/metrics", "/health/live")]
        process.send_signal(signal.SIGTERM)
        shown.append(process.communicate(timeout=60)[1])
    finally:
        process.kill()
    assert process.returncode == 0
    shown.append(command("parser", wrong, tmp_path, **more).communicate(timeout=WITHIN_S)[1])
    shown += [repr(WorkerSettings(**credentials)), str(WorkerSettings(**credentials))]
    shown += [run_tool(arguments, credentials) for arguments in (["--help"], ["parser", "--help"], ["settings"], ["metrics"])]
    shown += [str(record) for record in read_all(admin, "dead-letters")]
    assert not [text for text in shown if "s3cr3t" in text]


def test_the_client_of_kafka_does_not_log_passwords():
    """At DEBUG kafka-python logs the bytes that it sends, including logins."""
    with logs_restored():
        logs.set_up("DEBUG")
        names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "kafka"]
        assert "kafka.protocol.parser" in names
        assert not [name for name in names if logging.getLogger(name).isEnabledFor(logging.INFO)]


def locked_key(secure: SecureBroker) -> dict[str, Any]:
    own = secure.with_certificate("mutual", key_password=KEY_PASSWORD)
    return {name: own[name] for name in own if re.search("certfile|keyfile|ssl_password", name)}


def run_tool(arguments: list[str], settings: dict[str, Any]) -> str:
    tool = start(
        "workers.cli", *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(settings)
    )
    shown, _ = tool.communicate(timeout=WITHIN_S)
    assert tool.returncode == 0
    return str(shown)

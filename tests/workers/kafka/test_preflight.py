"""Probes of brokers that are late, odd, or not brokers. tests/workers/kafka/test_security.py has tests with real brokers."""

from __future__ import annotations

import base64
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.config.settings import KafkaSettings
from workers.devkit.ports import free_port
from workers.errors import BadSettings, BrokerRefused, BrokerUnreachable
from workers.kafka.handshake import Probe, Rejected, Unreachable
from workers.kafka.preflight import await_broker, try_brokers

LOGIN = {
    "kafka_security_protocol": "SASL_PLAINTEXT",
    "kafka_sasl_mechanism": "SCRAM-SHA-256",
    "kafka_sasl_username": "worker",
    "kafka_sasl_password": "s3cr3t",
}
ILLEGAL_SASL_STATE = 34
#: Returns the body of the response, from the API key and the body of the request; None closes the connection.
Answer = Callable[[int, bytes], bytes | None]


def open_broker(api: int, _: bytes) -> bytes | None:
    """Respond as a broker that requires no login."""
    return struct.pack(">h", ILLEGAL_SASL_STATE if api == 17 else 0) + struct.pack(">i", 0)


@contextmanager
def listening(answer: Answer, port: int = 0) -> Iterator[int]:
    """Run a server that handles one connection after the other. Yield its port."""
    server = socket.create_server(("127.0.0.1", port))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                while head := connection.recv(4):
                    request = connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
                    api, _, correlation, client = struct.unpack_from(">hhih", request)
                    body = answer(api, request[10 + client :])
                    if body is None:
                        break
                    connection.sendall(struct.pack(">ii", len(body) + 4, correlation) + body)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def settings(port: int, **more: Any) -> KafkaSettings:
    return KafkaSettings(kafka_bootstrap_servers=f"127.0.0.1:{port}", **more)


def test_the_preflight_waits_for_a_broker():
    port = free_port()
    arrived = threading.Event()

    def wait() -> None:
        await_broker(settings(port), 60)
        arrived.set()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert not arrived.wait(1.0)
    with listening(open_broker, port):
        assert arrived.wait(30)


def test_a_missing_broker_is_reported_with_the_settings_to_check():
    port = free_port()
    with pytest.raises(BrokerUnreachable) as error:
        await_broker(settings(port), 0.1)
    assert error.value.exit_code == 9
    message = str(error.value)
    assert message.startswith(f"no broker responds at 127.0.0.1:{port} (PLAINTEXT) within 0.1 s: ")
    assert "Connection refused" in message
    assert {"REFLINK_KAFKA_BOOTSTRAP_SERVERS", "REFLINK_KAFKA_CONNECT_TIMEOUT_S"} <= set(re.findall(r"REFLINK\w+", message))


def test_brokers_without_an_answer_are_unreachable_and_not_refused():
    with listening(lambda *_: None) as port:
        assert try_brokers(settings(port)) == f"127.0.0.1:{port}: the connection was closed"
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert "timed out" in (try_brokers(settings(server.getsockname()[1]), timeout_s=0.1) or "")
    assert "nowhere.invalid" in (try_brokers(KafkaSettings(kafka_bootstrap_servers="nowhere.invalid:9092")) or "")


def test_one_accepting_broker_is_enough():
    with listening(open_broker) as port:
        assert try_brokers(settings(port)) is None
        servers = f"127.0.0.1:{free_port()},127.0.0.1:{port}"
        assert try_brokers(KafkaSettings(kafka_bootstrap_servers=servers)) is None


@pytest.mark.parametrize("servers", ["a:b", "a:99:c:", ":"])
def test_an_invalid_address_is_refused(servers: str):
    with pytest.raises(BadSettings, match="REFLINK_KAFKA_BOOTSTRAP_SERVERS"):
        try_brokers(KafkaSettings(kafka_bootstrap_servers=servers))


def test_a_server_of_another_protocol_is_refused():
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    threading.Thread(target=serve, daemon=True).start()
    with server, pytest.raises(BrokerRefused, match="not a Kafka broker: check REFLINK_KAFKA_BOOTSTRAP_SERVERS"):
        try_brokers(settings(port))


def advertising(host: bytes, port: int) -> Answer:
    def answer(api: int, body: bytes) -> bytes | None:
        if api != 3:
            return open_broker(api, body)
        return struct.pack(">iih", 1, 7, len(host)) + host + struct.pack(">ihii", port, -1, 7, 0)

    return answer


def test_the_advertised_address_of_a_broker_must_be_reachable():
    with listening(advertising(b"nowhere.invalid", 9092)) as port:
        message = try_brokers(settings(port)) or ""
        assert message.startswith(f"127.0.0.1:{port}: it advertises nowhere.invalid:9092, but there ")
        assert message.endswith("; check advertised.listeners of the broker")
    with listening(open_broker) as other, listening(advertising(b"127.0.0.1", other)) as port:
        assert try_brokers(settings(port)) is None


def test_an_advertised_broker_that_requires_authentication_is_refused():
    with listening(lambda *_: struct.pack(">hi", 0, 0)) as other, listening(advertising(b"127.0.0.1", other)) as port:
        with pytest.raises(BrokerRefused) as error:
            try_brokers(settings(port))
        advertised = f"it advertises 127.0.0.1:{other}, but there the broker requires authentication"
        assert f"127.0.0.1:{port} (PLAINTEXT): {advertised}" in str(error.value)


def test_a_server_that_does_not_know_the_password_is_refused():
    """SCRAM also authenticates the broker, so no other server can accept the client in its place."""

    def server(api: int, body: bytes) -> bytes:
        if api in (17, 18):
            return struct.pack(">hi", 0, 0)
        token = body[4:]
        if token.startswith(b"n,,"):
            nonce = token.split(b"r=")[1]
            answer = b"r=" + nonce + b"more,s=" + base64.b64encode(b"salt") + b",i=4096"
        else:
            answer = b"v=" + base64.b64encode(b"no such signature")
        return struct.pack(">hhi", 0, -1, len(answer)) + answer

    with listening(server) as port, pytest.raises(BrokerRefused) as error:
        try_brokers(settings(port, **LOGIN))
    assert "cannot prove that it knows the password of worker" in str(error.value)
    assert "s3cr3t" not in str(error.value)


def test_a_refusal_of_several_lines_is_reported_in_one():
    def refusing(api: int, _: bytes) -> bytes:
        message = b"go\naway\r\n"
        return struct.pack(">hi", 0, 0) if api != 36 else struct.pack(">hh", 58, len(message)) + message + struct.pack(">i", 0)

    with listening(refusing) as port, pytest.raises(BrokerRefused, match="rejects the user worker \\(go away \\)"):
        try_brokers(settings(port, **LOGIN))


def framed(bodies: list[bytes]) -> bytes:
    return b"".join(struct.pack(">ii", len(body) + 4, 0) + body for body in bodies)


BODIES = st.one_of(st.binary(max_size=40), st.just(struct.pack(">hi", 0, 0)), st.just(struct.pack(">hhi", 0, -1, 0)))


@given(
    st.binary(max_size=80) | st.lists(BODIES, max_size=4).map(framed),
    st.sampled_from([{}, LOGIN, {**LOGIN, "kafka_sasl_mechanism": "PLAIN"}]),
)
def test_any_answer_is_accepted_rejected_or_unreachable(answer: bytes, how: dict[str, str]):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        try:
            Probe(settings(1, **how), "127.0.0.1", 1, None, 1.0)._request_metadata(ours)
        except (Rejected, Unreachable):
            return

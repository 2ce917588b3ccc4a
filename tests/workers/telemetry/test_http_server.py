"""The HTTP server for probes and Prometheus."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import orjson
import pytest

from workers.errors import BadSettings
from workers.telemetry import http_server
from workers.telemetry.http_server import HealthServer

#: Simultaneous connections: more than the server keeps, and more than a process may have threads.
HALF_OPEN = 800
LIMIT = 64


def test_it_answers_for_health_and_metrics() -> None:
    well = [False]
    server = HealthServer("127.0.0.1", 0, live=lambda: (True, {}), ready=lambda: (well[0], {"why": "catalog"}))
    server.start()
    try:
        assert get(server.port, "/health/live") == (200, orjson.dumps({"ok": True}))
        assert get(server.port, "/health/ready") == (503, orjson.dumps({"ok": False, "why": "catalog"}))
        well[0] = True
        assert get(server.port, "/health/ready?verbose")[0] == 200
        assert b"# TYPE" in get(server.port, "/metrics")[1]
        assert get(server.port, "/")[0] == 404
    finally:
        server.stop()


def test_a_taken_port_is_named_with_its_setting() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(BadSettings, match=f"cannot listen on .*REFLINK_HTTP_PORT={port}: .*in use"):
            HealthServer("127.0.0.1", port, live=lambda: (True, {}), ready=lambda: (True, {}))


def threads() -> int:
    """Return the number of the server's threads."""
    return sum(thread.name == "health" for thread in threading.enumerate())


def test_half_open_requests_cost_no_threads_and_probes_are_still_answered():
    # The deadline is an hour: the server drops connections above the limit at once, not at their deadline.
    with serving(deadline_s=3600.0, max_connections=LIMIT) as port, ExitStack() as stack:
        before = threads()
        clients = [half_open(port, stack) for _ in range(HALF_OPEN)]
        assert get(port, "/health/live")[0] == 200
        assert threads() == before
        for client in clients[:-LIMIT]:
            wait_until_dropped(client)
        assert get(port, "/health/live")[0] == 200


@pytest.mark.parametrize("drip", [b"", b"X-Slow: 1\r\n", b"x"])
def test_a_request_has_a_deadline_however_steadily_its_bytes_come(drip: bytes):
    with serving(deadline_s=0.2) as port, ExitStack() as stack:
        client = half_open(port, stack)
        if drip:
            with pytest.raises(ConnectionError):  # noqa: PT012
                while True:
                    client.sendall(drip)
        wait_until_dropped(client)


def test_a_client_that_does_not_take_its_answer_is_dropped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "generate_latest", lambda: b"x" * 2**26)  # more than the sockets' buffers hold
    with serving(deadline_s=0.2) as port, socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        with pytest.raises(ConnectionError):  # noqa: PT012
            while True:
                client.sendall(b"x")


@pytest.mark.parametrize("request_", [b"", b"\r\n\r\n", b"GET\r\n\r\n", b"\xff\x00 \xff\r\n\r\n", b"GET /" + b"x" * 2**20])
def test_what_is_no_request_is_refused_or_dropped(request_: bytes):
    with serving() as port:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client, suppress(ConnectionError):
            client.sendall(request_)
            with suppress(OSError):  # the server has already dropped the connection
                client.shutdown(socket.SHUT_WR)
            answer = client.makefile("rb").read()
            assert not answer or int(answer.split()[1]) in (404, 405)
        assert get(port, "/health/live")[0] == 200
        assert get(port, "/health/live", "POST")[0] == 405


def test_a_probe_that_fails_costs_its_connection_alone(caplog: pytest.LogCaptureFixture):
    def fails() -> tuple[bool, dict[str, Any]]:
        raise ValueError("a defect")

    server = HealthServer("127.0.0.1", 0, live=lambda: (True, {}), ready=fails)
    server.start()
    try:
        with pytest.raises(http.client.RemoteDisconnected):
            get(server.port, "/health/ready")
        assert get(server.port, "/health/live")[0] == 200
    finally:
        server.stop()
    assert "a defect" in caplog.text


def test_it_stops_with_connections_open():
    with ExitStack() as stack:
        with serving(deadline_s=3600.0) as port:
            client = half_open(port, stack)
            assert get(port, "/health/live")[0] == 200
        wait_until_dropped(client)


@contextmanager
def serving(**limits: Any) -> Iterator[int]:
    """Run a live and ready server. Yield its port."""
    server = HealthServer("127.0.0.1", 0, live=lambda: (True, {}), ready=lambda: (True, {}), **limits)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


def half_open(port: int, stack: ExitStack) -> socket.socket:
    """Open a connection and send an incomplete request."""
    client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
    with suppress(ConnectionError):  # the server has already dropped it
        client.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n")
    return client


def wait_until_dropped(client: socket.socket) -> None:
    """Wait until the server ends the connection. Raises TimeoutError if it does not."""
    with suppress(ConnectionError):
        while client.recv(65536):
            pass


def get(port: int, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()

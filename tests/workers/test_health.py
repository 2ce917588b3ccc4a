"""The address that probes and Prometheus use."""

from __future__ import annotations

import http.client
import socket

import orjson
import pytest

from workers.errors import BadSettings
from workers.health import HealthServer


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
        with pytest.raises(BadSettings, match=f"REFLINK_HTTP_PORT={port} can't be listened on: .*in use"):
            HealthServer("127.0.0.1", port, live=lambda: (True, {}), ready=lambda: (True, {}))


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()

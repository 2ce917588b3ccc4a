"""Free ports outside the range of outgoing connections."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from workers.devkit import ports
from workers.devkit.errors import LocalSetupError
from workers.devkit.ports import free_port, outgoing_from


def test_ports_are_distinct_and_outside_the_range_of_outgoing_connections() -> None:
    given = [free_port() for _ in range(500)]
    assert len(set(given)) == 500
    assert max(given) < outgoing_from()
    # The kernel selects these ports, as for each outgoing connection.
    for _ in range(50):
        with socket.socket() as any_socket:
            any_socket.bind(("127.0.0.1", 0))
            assert any_socket.getsockname()[1] not in given


def test_a_port_in_use_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    first = free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first))
        taken.listen()
        assert free_port(first) != first
        monkeypatch.setattr(ports, "_given", set())
        monkeypatch.setattr(ports, "_LEAST", first)
        monkeypatch.setattr(ports, "outgoing_from", lambda: first + 1)
        with pytest.raises(LocalSetupError, match=f"no free port on loopback between {first} and {first}"):
            free_port()
    assert free_port(first) == first


def test_without_linux_the_default_range_is_assumed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "_OUTGOING", tmp_path / "absent")
    assert outgoing_from() == 32768

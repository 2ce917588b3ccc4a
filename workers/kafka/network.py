"""kafka-python's network client, corrected where it loses a request, and closed if the client that uses it fails to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka.errors import KafkaConnectionError
from kafka.net.compat import KafkaNetClient


class NetworkClient(KafkaNetClient):  # type: ignore[misc]
    """A network client that reports a broker without connection to the producer as not ready.

    kafka-python 3.0.12 raises an error. The producer's thread then looks the coordinator up again, but drops the request: after
    the coordinator of a transaction had gone, ``commit_transaction`` never returned.
    """

    def await_ready(self, node_id: int, timeout_ms: int = 30_000) -> bool:
        """Return whether requests can be sent to the broker; wait for a connection up to ``timeout_ms``."""
        try:
            return bool(super().await_ready(node_id, timeout_ms))
        except KafkaConnectionError:
            return False


@contextmanager
def network() -> Iterator[Callable[..., NetworkClient]]:
    """Yield the factory of a client's network, and close the network if the client fails: its thread would retry forever."""
    made: list[NetworkClient] = []

    def make(**options: Any) -> NetworkClient:
        made.append(NetworkClient(**options))
        return made[-1]

    try:
        yield make
    except BaseException:
        for each in made:
            each.close()
        raise

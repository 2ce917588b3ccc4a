"""Real brokers behind proxies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.campaigns.chaos.proxy import Proxy, Way
from tests.kafka import await_markers
from workers.devkit.cluster import BrokerCluster
from workers.devkit.ports import free_port
from workers.devkit.processes import WORKERS, Worker


class Network:
    """The proxies between one kind of worker and all brokers."""

    def __init__(self, proxies: Sequence[Proxy]) -> None:
        self.proxies = proxies

    @property
    def address(self) -> str:
        """The bootstrap servers that lead through these proxies."""
        return ",".join(f"127.0.0.1:{proxy.port}" for proxy in self.proxies)

    def turn(self, way: Way) -> None:
        """Set the state of all proxies from now on."""
        for proxy in self.proxies:
            proxy.turn(way)


class Cluster:
    """Brokers that each kind of worker reaches through its own proxies, and other clients directly."""

    def __init__(self, folder: Path, brokers: int = 1) -> None:
        self._listeners = [{worker: free_port() for worker in WORKERS} for _ in range(brokers)]
        self.networks = {
            worker: Network([Proxy(ports[worker], free_port()) for ports in self._listeners]) for worker in WORKERS
        }
        self.brokers = BrokerCluster.start(brokers, folder, extra=self._properties)
        self.address = self.brokers.address

    def _properties(self, index: int) -> dict[str, str]:
        seen = {worker: network.proxies[index].port for worker, network in self.networks.items()}
        names = ("PLAINTEXT", "CONTROLLER", *map(str.upper, WORKERS))
        return {
            "listeners": _addresses(self._listeners[index]),
            "advertised.listeners": _addresses(seen),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        }

    def restart(self, index: int = 0, *, kill: bool, away_s: float = 0.0) -> None:
        """Stop or kill one broker and restart it with the same data; the proxies refuse connections to it meanwhile.

        One of several brokers stays down for ``away_s``, long enough for the others to take over, and the method returns when
        all are in sync again. A single broker is killed only once no transaction waits for its markers: see
        ``await_markers``.
        """
        proxies = [network.proxies[index] for network in self.networks.values()]
        for proxy in proxies:
            proxy.turn("cut")
        try:
            if kill and len(self.brokers.brokers) == 1:
                await_markers(self.address)
            self.brokers.brokers[index].end(kill=kill)
            if len(self.brokers.brokers) > 1:
                time.sleep(away_s)
            self.brokers.start_again(index)
        finally:
            for proxy in proxies:
                proxy.turn("open")
        if len(self.brokers.brokers) > 1:
            self.brokers.wait_in_sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.brokers.stop()
        for network in self.networks.values():
            for proxy in network.proxies:
                proxy.close()


def _addresses(ports: Mapping[Worker, int]) -> str:
    return ",".join(f"{worker.upper()}://127.0.0.1:{port}" for worker, port in ports.items())

"""Run several real brokers on loopback as one cluster, for tests and campaigns that kill one broker while the others run.

with BrokerCluster.start(3) as cluster:
    cluster.kill(0)
    cluster.start_again(0)
    cluster.wait_in_sync()

With three brokers, all topics, ``__consumer_offsets`` and ``__transaction_state`` have three replicas; two replicas must have
a record before it is acknowledged, and a replica that is behind never becomes the leader. docs/reliability.md requires the
same of production. Each broker is also a controller, so that a test may kill any of them.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from workers.config.settings import KafkaSettings, read
from workers.devkit.broker import Broker, new_cluster_id
from workers.devkit.errors import LocalSetupError
from workers.devkit.ports import free_port
from workers.errors import BrokerUnreachable
from workers.kafka.clients import connect

#: Kafka treats a killed broker as gone after this time; its default of 9 s is longer than a worker's session in the tests.
_BROKER_SESSION_MS: Final = 5000
#: Heap of one of several brokers; a single broker gets twice as much.
_HEAP_MB: Final = 256
_SYNC_TIMEOUT_S: Final = 120.0


class BrokerCluster:
    """Running brokers and their data. Use as a context manager, or call ``stop``."""

    def __init__(self, brokers: list[Broker], folder: Path, *, owns_folder: bool) -> None:
        self.brokers, self.folder, self._owns_folder = brokers, folder, owns_folder

    @property
    def address(self) -> str:
        """All brokers in the format of bootstrap servers."""
        return ",".join(broker.address for broker in self.brokers)

    @classmethod
    def start(
        cls,
        count: int,
        folder: Path | None = None,
        *,
        cache: Path | None = None,
        extra: Callable[[int], Mapping[str, str]] = lambda _: {},
    ) -> Self:
        """Start ``count`` brokers in ``folder`` (a temporary one by default); return when all replicas are in sync.

        ``extra`` returns server properties for the broker with that index. They override those of this module, except that
        values of ``listeners`` and ``advertised.listeners`` are appended to them. Raises LocalSetupError.
        """
        owns_folder = folder is None
        folder = Path(tempfile.mkdtemp(prefix="reflink-kafka-")) if folder is None else folder.resolve()
        cluster_id, ports, controllers = new_cluster_id(), *([free_port() for _ in range(count)] for _ in range(2))
        voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in enumerate(controllers, start=1))
        heap_mb = _HEAP_MB if count > 1 else 2 * _HEAP_MB
        cluster = cls([], folder, owns_folder=owns_folder)
        try:
            for index, (port, controller) in enumerate(zip(ports, controllers, strict=True)):
                plain, own, more = f"PLAINTEXT://127.0.0.1:{port}", f"CONTROLLER://127.0.0.1:{controller}", dict(extra(index))
                properties = {
                    "node.id": str(index + 1),
                    "controller.quorum.voters": voters,
                    "broker.session.timeout.ms": str(_BROKER_SESSION_MS),
                    "broker.heartbeat.interval.ms": str(_BROKER_SESSION_MS // 5),
                    **_replicated(count),
                    **more,
                    "listeners": ",".join(filter(None, (plain, own, more.get("listeners")))),
                    "advertised.listeners": ",".join(filter(None, (plain, more.get("advertised.listeners")))),
                }
                data, formatting = folder / f"broker-{index}", ["-t", cluster_id]
                cluster.brokers.append(Broker.launch(data, port, properties, formatting, cache=cache, heap_mb=heap_mb))
            for broker in cluster.brokers:
                broker.wait()
            cluster.wait_in_sync()
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def kill(self, index: int) -> None:
        """Kill one broker with SIGKILL and keep its data."""
        self.brokers[index].end(kill=True)

    def start_again(self, index: int) -> None:
        """Start an ended broker on its data; its replicas may be behind for a while. Raises LocalSetupError."""
        self.brokers[index].start_again()

    def wait_in_sync(self, timeout_s: float = _SYNC_TIMEOUT_S) -> None:
        """Wait until all brokers are in the cluster and all replicas of all topics are in sync. Raises LocalSetupError."""
        deadline = time.monotonic() + timeout_s
        while behind := self._behind():
            if time.monotonic() > deadline:
                raise LocalSetupError(
                    f"the local Kafka cluster is not in sync after {timeout_s:g} s: {behind}; logs in {self.folder}"
                )
            time.sleep(0.2)

    def _behind(self) -> str:
        """Describe the brokers or partitions that are not in sync yet; return an empty string if all are."""
        try:
            settings = read(KafkaSettings, kafka_bootstrap_servers=self.address)
            with closing(connect(settings, KafkaAdminClient)) as admin:
                nodes, topics = len(admin.describe_cluster()["brokers"]), admin.describe_topics()
        except (KafkaError, BrokerUnreachable) as error:
            return f"{type(error).__name__}: {error}"
        if nodes < len(self.brokers):
            return f"{nodes} of {len(self.brokers)} brokers are there"
        return ", ".join(
            f"{topic['name']}[{part['partition_index']}]"
            for topic in topics
            for part in topic["partitions"]
            if set(part["isr_nodes"]) != set(part["replica_nodes"])
        )

    def stop(self) -> None:
        """Kill all brokers, and delete their data if ``start`` created the folder."""
        for broker in self.brokers:
            broker.end(kill=True)
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _replicated(count: int) -> dict[str, str]:
    """Return the server properties with which a record survives the loss of one broker, if there are at least three."""
    factor, in_sync = str(min(count, 3)), str(2 if count >= 3 else 1)
    return {
        "default.replication.factor": factor,
        "min.insync.replicas": in_sync,
        "unclean.leader.election.enable": "false",
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": in_sync,
    }

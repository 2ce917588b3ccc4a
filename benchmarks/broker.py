"""A broker of a benchmark's own, with its topics and a catalog in them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reflink.entities import Work
from workers.loading import load, load_and_bind
from workers.local.broker import Broker
from workers.local.pipeline import Pipeline
from workers.local.ports import free_port
from workers.settings import KafkaSettings
from workers.topics import TopicAdmin

PARTITIONS = 6


@contextmanager
def broker_with_catalog(
    works: Sequence[Work], snapshot: Path | None, **settings: Any
) -> Iterator[tuple[KafkaSettings, Pipeline]]:
    """Kafka with the works loaded, and a pipeline without workers yet; they start from ``snapshot`` if one is given."""
    with tempfile.TemporaryDirectory() as name, Broker.start(port=free_port()) as broker:
        folder, kafka = Path(name), KafkaSettings(kafka_bootstrap_servers=broker.address)
        with TopicAdmin(kafka) as admin:
            admin.create(PARTITIONS, 1)
        if snapshot is None:
            load(works, kafka)
        else:
            settings["catalog_snapshot"] = shutil.copytree(snapshot, folder / "catalog")
            load_and_bind(works, folder / "catalog", kafka)
        with Pipeline(folder, kafka_bootstrap_servers=broker.address, **settings) as pipeline:
            yield kafka, pipeline

"""Metrics of loads from sources. A load is a job that ends, so it pushes them or writes them to a file; no worker has them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, pushadd_to_gateway, write_to_textfile

#: The registry of these metrics, apart from those of the workers.
REGISTRY: Final = CollectorRegistry()

LOAD_SUCCESS = Gauge(
    "reflink_load_success", "1 if the last load read all files to their end and sent all changes, else 0.", registry=REGISTRY
)
LOAD_TIMESTAMP = Gauge("reflink_load_timestamp_seconds", "End of the last load, in seconds since 1970.", registry=REGISTRY)
LOAD_SECONDS = Gauge("reflink_load_seconds", "Duration of the last load.", registry=REGISTRY)
LOAD_WORKS = Gauge(
    "reflink_load_works", "Works after the last load (total), and those it sent or withdrew.", ["what"], registry=REGISTRY
)
# effect: added, changed, withdrawn, unchanged, older.
SOURCE_RECORDS = Gauge(
    "reflink_source_records", "Records read by the last load, by their effect.", ["source", "effect"], registry=REGISTRY
)
# what: record, file.
SOURCE_FAULTS = Gauge(
    "reflink_source_faults",
    "Files and records that could not be read, including records of files read earlier.",
    ["source", "what"],
    registry=REGISTRY,
)
SOURCE_NEWEST = Gauge(
    "reflink_source_newest_timestamp_seconds",
    "Modification time of a source's newest file, in seconds since 1970.",
    ["source"],
    registry=REGISTRY,
)
SOURCE_MAX_AGE = Gauge(
    "reflink_source_max_age_seconds",
    "Age of a source's newest file from which it is too old; 0: no limit is configured.",
    ["source"],
    registry=REGISTRY,
)


def note_works(total: int, sent: int, withdrawn: int) -> None:
    """Set the numbers of works of a load."""
    for what, number in (("total", total), ("sent", sent), ("withdrawn", withdrawn)):
        LOAD_WORKS.labels(what).set(number)


def note_records(source: str, effects: Mapping[str, int], records: int, files: int) -> None:
    """Set what a load read of a source. ``records``, ``files``: numbers of unreadable ones."""
    for effect, number in effects.items():
        SOURCE_RECORDS.labels(source, effect).set(number)
    SOURCE_FAULTS.labels(source, "record").set(records)
    SOURCE_FAULTS.labels(source, "file").set(files)


def note_age(source: str, newest: float, max_age: float) -> None:
    """Set the time of a source's newest file, if one was ever read, and its maximum age, in seconds."""
    if newest:
        SOURCE_NEWEST.labels(source).set(newest)
    SOURCE_MAX_AGE.labels(source).set(max_age)


def note_end(started: float, success: bool) -> None:
    """Set result and time of a load that began at ``started``, in seconds since 1970."""
    LOAD_SUCCESS.set(success)
    LOAD_TIMESTAMP.set(time.time())
    LOAD_SECONDS.set(time.time() - started)


def deliver(file: Path | None, gateway: str | None, prefix: str) -> None:
    """Write the metrics to a file for Prometheus's textfile collector, or push them to a Pushgateway. Raises OSError.

    A load that failed early leaves the values of sources from the last load at the gateway.
    """
    if file is not None:
        write_to_textfile(str(file), REGISTRY)
    if gateway is not None:
        pushadd_to_gateway(gateway, job="reflink", registry=REGISTRY, grouping_key={"worker": "load", "prefix": prefix})

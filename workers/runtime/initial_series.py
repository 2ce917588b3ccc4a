"""Initial series of the metrics, which a worker exports before its first batch.

Prometheus computes no increase for a counter that appears with its first event, so no alert would see the first dead letter.
"""

from __future__ import annotations

import importlib.metadata
import os
import time
from pathlib import Path
from typing import Any, Final, get_args

from reflink.entities import Method, Unresolved
from reflink.errors import BadRecord, BadVector, NotAPaper, PackageMissing, TooLarge
from reflink.formats.registry import NAMES
from workers.config.settings import WorkerSettings
from workers.runtime.crash_journal import KilledWorker
from workers.stage import Stage
from workers.telemetry import metrics

#: Errors that a record may cause. Any other class is a defect of reflink, and its series appears when it occurs.
EXPECTED: Final = (BadRecord, BadVector, KilledWorker, NotAPaper, PackageMissing, TooLarge)
_FIELDS: Final = ("tagged", "recognised", "unrecognised", "unread")
_DECISIONS: Final = ("published", "unchanged", "late", "gone", "withdrawn", "overridden", "too-large")
#: Reasons why the ledger has references re-evaluated.
_CAUSES: Final = ("change", "withdrawal", "late", "override", "sweep")
#: Methods and reasons that come from curators or the ledger, not from the workers in ``_DECIDERS``.
_NOT_DECIDED: Final = ("curator", "withdrawn", "forbidden")
#: The workers that decide outcomes.
_DECIDERS: Final = ("linker", "fallback")


def announce(stage: Stage[Any, Any], settings: WorkerSettings) -> None:
    """Export the worker's build and every series with known labels. The state folder must exist."""
    metrics.BUILD_INFO.labels(importlib.metadata.version("reflink-stream")).set(1)
    metrics.START_TIME.set(time.time())
    metrics.LAST_COMMIT.set(0)
    metrics.STATE_FREE_BYTES.set_function(lambda: free_bytes(settings.state_dir))
    metrics.STATE_SIZE_BYTES.set_function(lambda: size_bytes(settings.state_dir))
    for topic in (*stage.inputs, *stage.background_inputs):
        metrics.RECORDS_IN.labels(topic)
    for topic in stage.outputs:
        metrics.RECORDS_OUT.labels(topic)
    for topic in (*stage.inputs, *stage.background_inputs):
        for error in EXPECTED:
            metrics.DEAD_LETTERS.labels(topic, error.__name__)
    for end in ("committed", "aborted"):
        metrics.TRANSACTIONS.labels(end)
    for kind in ("assigned", "revoked", "lost"):
        metrics.REBALANCES.labels(kind)
    for step in ("wait", "handle", "commit", *(("follow",) if stage.follows else ())):
        metrics.STAGE_SECONDS.labels(step)
    if stage.name == "parser":
        for name in NAMES:
            metrics.PAPERS.labels(name)
        for fields in _FIELDS:
            metrics.PARSED.labels(fields)
    if stage.name in _DECIDERS:
        _announce_outcomes()
    if stage.name == "ledger":
        metrics.STAGE_SECONDS.labels("chore")
        metrics.DEAD_LETTERS.labels("overrides", BadRecord.__name__)
        for decision in _DECISIONS:
            metrics.LEDGER_DECISIONS.labels(decision)
        for cause in _CAUSES:
            metrics.JUDGED_AGAIN.labels(cause)
        for live in ("yes", "no"):
            metrics.END_TO_END_SECONDS.labels(live)


def _announce_outcomes() -> None:
    for method in (each for each in get_args(Method) if each not in _NOT_DECIDED):
        metrics.OUTCOMES.labels(method, "")
        metrics.SCORES.labels(method)
    for reason in (each for each in get_args(Unresolved) if each not in _NOT_DECIDED):
        metrics.OUTCOMES.labels("", reason)
    for linked in ("yes", "no"):
        metrics.PROBABILITIES.labels(linked)


def free_bytes(folder: Path) -> float:
    """Return the bytes that this user may still write to the folder's file system; NaN if the system call fails."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return float("nan")
    return float(found.f_bavail * found.f_frsize)


def size_bytes(folder: Path) -> float:
    """Return the size of the folder's file system in bytes; NaN if the system call fails."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return float("nan")
    return float(found.f_blocks * found.f_frsize)

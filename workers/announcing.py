"""What a worker shows the metrics before its first batch, so that a series is there before it is needed.

A counter that appears with its first event has no increase: the first dead letter would be seen by no alert.
"""

from __future__ import annotations

import importlib.metadata
import os
import time
from pathlib import Path
from typing import Any, Final, get_args

from reflink.entities import Method, Unresolved
from reflink.errors import BadRecord, BadVector, NotAPaper, TooLarge
from workers import metrics
from workers.journal import KilledWorker
from workers.settings import WorkerSettings
from workers.stage import Stage

#: What may be wrong with a record. Any other class is a defect of ours, and shows when it comes.
EXPECTED: Final = (BadRecord, BadVector, KilledWorker, NotAPaper, TooLarge)
_DECISIONS: Final = ("published", "unchanged", "late", "gone", "withdrawn", "overridden", "too-large")
#: Why the ledger has references judged again.
_WHY: Final = ("change", "withdrawal", "late", "override", "sweep")
#: What no judge says: curators and the ledger do.
_NOT_JUDGED: Final = ("curator", "withdrawn", "forbidden")
#: The workers that judge references.
_JUDGES: Final = ("linker", "fallback")


def announce(stage: Stage[Any, Any], settings: WorkerSettings) -> None:
    """Shows who this is, and every series of which the labels are known; the state folder must exist."""
    metrics.BUILD_INFO.labels(importlib.metadata.version("reflink-stream")).set(1)
    metrics.START_TIME.set(time.time())
    metrics.LAST_COMMIT.set(0)
    metrics.STATE_FREE_BYTES.set_function(lambda: free_bytes(settings.state_dir))
    metrics.STATE_SIZE_BYTES.set_function(lambda: size_bytes(settings.state_dir))
    for topic in (*stage.inputs, *stage.background_inputs):
        metrics.RECORDS_IN.labels(topic)
    for topic in stage.outputs:
        metrics.RECORDS_OUT.labels(topic)
    for error in EXPECTED:
        metrics.DEAD_LETTERS.labels(error.__name__)
    for end in ("committed", "aborted"):
        metrics.TRANSACTIONS.labels(end)
    for kind in ("assigned", "revoked", "lost"):
        metrics.REBALANCES.labels(kind)
    for step in ("wait", "handle", "commit", *(("follow",) if stage.follows else ())):
        metrics.STAGE_SECONDS.labels(step)
    if stage.name in _JUDGES:
        _announce_judgement()
    if stage.name == "ledger":
        metrics.STAGE_SECONDS.labels("chore")
        for decision in _DECISIONS:
            metrics.LEDGER_DECISIONS.labels(decision)
        for why in _WHY:
            metrics.JUDGED_AGAIN.labels(why)
        for live in ("yes", "no"):
            metrics.END_TO_END_SECONDS.labels(live)


def _announce_judgement() -> None:
    for method in (each for each in get_args(Method) if each not in _NOT_JUDGED):
        metrics.OUTCOMES.labels(method, "")
        metrics.SCORES.labels(method)
    for reason in (each for each in get_args(Unresolved) if each not in _NOT_JUDGED):
        metrics.OUTCOMES.labels("", reason)
    for linked in ("yes", "no"):
        metrics.PROBABILITIES.labels(linked)


def free_bytes(folder: Path) -> float:
    """Bytes that this user may still write where the folder lies; NaN where the system does not say."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return float("nan")
    return float(found.f_bavail * found.f_frsize)


def size_bytes(folder: Path) -> float:
    """Bytes of the file system where the folder lies; NaN where the system does not say."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return float("nan")
    return float(found.f_blocks * found.f_frsize)

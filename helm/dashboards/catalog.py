"""The dashboard of each worker's catalog: its size, its lag behind the topic, and the snapshot it was opened from."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Choice, Row, board
from helm.dashboards.panels import BLUE, GREEN, RED, YELLOW, Panel, Query, curves, figure
from helm.dashboards.promql import rate, series

#: Workers that follow the catalog: all but the parser.
_FOLLOWERS: Final = ('worker=~"linker|fallback|ledger"', 'pod=~"$pod"')
#: Workers that open a snapshot and look up works.
_READERS: Final = ('worker=~"linker|fallback"', 'pod=~"$pod"')
_SNAPSHOT: Final = "reflink_catalog_snapshot_timestamp_seconds"
_DAY_S: Final = 86_400


def catalog() -> str:
    """Return the dashboard as JSON."""
    choices = [Choice("pod", series("reflink_ready", 'worker=~"linker|fallback|ledger"'))]
    about = "The catalog of each worker: works, offset, lag, snapshot, source."
    return board(
        "catalog", "reflink / catalog", about, [Row("Now", _now(), [5]), Row("Over time", _history(), [3, 3, 1])], choices
    )


def _age(*matchers: str) -> str:
    return f"time() - ({series(_SNAPSHOT, *matchers)} > 0)"


def _now() -> list[Panel]:
    return [
        figure(
            "Works",
            "Works of the worker with the most. Good: the works that you loaded and the papers since. Fewer: the load has "
            "stopped, or the workers opened an old snapshot and have not caught up.",
            "short",
            Query(f"max({series('reflink_catalog_works', *_READERS)})"),
            [(None, RED), (1, BLUE)],
        ),
        figure(
            "Largest lag",
            "Largest lag of a worker behind the catalog topic, in records. Good: near 0. High for minutes: works arrive faster "
            "than the linkers encode them; their references are re-evaluated later.",
            "short",
            Query(f"max({series('reflink_catalog_lag_records', *_FOLLOWERS)})"),
            [(None, GREEN), (1000, YELLOW), (100_000, RED)],
            decimals=0,
        ),
        figure(
            "Oldest snapshot",
            "Age of the snapshot that the next start opens. Good: at most the interval of the snapshot job. Workers reject it "
            "after 84 hours, because tombstones may be missing: check the job. No data: no worker has a usable snapshot.",
            "s",
            Query(f"max({_age(*_READERS)})"),
            [(None, GREEN), (2 * _DAY_S, YELLOW), (3 * _DAY_S, RED)],
        ),
        figure(
            "Without a snapshot",
            "Linkers and fallback workers without a usable snapshot: their next start reads the whole topic, for minutes to "
            "hours. Good: 0, except for small catalogs. Otherwise check the snapshot job and its volume.",
            "short",
            Query(f"count({series(_SNAPSHOT, *_READERS)} == 0)"),
            [(None, GREEN), (1, YELLOW)],
            decimals=0,
            nothing="0",
        ),
        figure(
            "Works without a vector",
            "Works for which the model returned no direction, since the workers started. Only identifiers and locators find "
            "them. Good: a few, with empty titles. Growing with every work: the model is broken.",
            "short",
            Query(f"sum({series('reflink_catalog_without_vector_total', *_READERS)})"),
            [(None, GREEN), (100, YELLOW)],
            decimals=0,
        ),
    ]


def _history() -> list[Panel]:
    # "> 0" leaves out the start of a worker, when the offset jumps from 0 to the snapshot's offset.
    arriving = f"max by (worker) (deriv(({series('reflink_catalog_offset', *_FOLLOWERS)} > 0)[$__rate_interval:15s]))"
    return [
        curves(
            "Works",
            "Works of each worker. Good: the same number everywhere, growing. A "
            "lower number: the worker is behind, or opened another source; see Opened from.",
            "short",
            [Query(series("reflink_catalog_works", *_READERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Lag in the catalog topic",
            "Lag of each worker behind the catalog topic, in records. Good: near 0. Linkers fall behind during large loads, "
            "because they encode, and catch up afterwards. Never falling: a worker is stalled.",
            "short",
            [Query(series("reflink_catalog_lag_records", *_FOLLOWERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Offset",
            "Version of each worker's catalog: the next offset that it reads. Good: one line. Workers may differ for some "
            "seconds, because each follows the topic independently.",
            "short",
            [Query(series("reflink_catalog_offset", *_FOLLOWERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Works that arrive",
            "Records of the catalog topic that each worker applies, per second. Good: your papers and loads. None while papers "
            "arrive: papers do not enter the catalog (REFLINK_OFFER_PAPERS).",
            "suffix: /s",
            [Query(arriving, "{{worker}}")],
        ),
        curves(
            "Age of the snapshot",
            "Age of the snapshot that the next start of each worker opens. Good: a saw-tooth up to the interval of the job. "
            "Only rising: the job fails, or the workers mount another volume.",
            "s",
            [Query(_age(*_READERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Opened from",
            "Linkers and fallback workers by the source of their catalog: snapshot, previous (the snapshot before, because the "
            "newest was unusable) or topic. Good: snapshot. topic with a large catalog: starts take long; check the snapshot "
            "job.",
            "short",
            [Query(f"sum by (worker, source) ({series('reflink_catalog_source', *_READERS)}) > 0", "{{worker}} {{source}}")],
            stacked="normal",
        ),
        curves(
            "Time spent following",
            "Seconds per second that each worker spends on applying works. Good: below 0.2, which leaves the rest for "
            "references. Near 1: a large load, during which references wait longer.",
            "short",
            [Query(rate("reflink_stage_seconds_sum", 'step="follow"', *_FOLLOWERS, by="worker, pod"), "{{worker}} {{pod}}")],
        ),
    ]

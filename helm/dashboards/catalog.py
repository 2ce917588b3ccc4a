"""The catalog as each worker has it: how large, how far behind its topic, and what it was opened from."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Choice, Row, board
from helm.dashboards.panels import BLUE, GREEN, RED, YELLOW, Panel, Query, curves, figure
from helm.dashboards.promql import rate, series

#: The parser has none.
_FOLLOWERS: Final = ('worker=~"linker|fallback|ledger"', 'pod=~"$pod"')
#: Those that open a snapshot and look works up.
_READERS: Final = ('worker=~"linker|fallback"', 'pod=~"$pod"')
_SNAPSHOT: Final = "reflink_catalog_snapshot_timestamp_seconds"
_DAY_S: Final = 86_400


def catalog() -> str:
    """Its JSON."""
    choices = [Choice("pod", series("reflink_ready", 'worker=~"linker|fallback|ledger"'))]
    about = "The catalog as workers see it: works, offset, lag, snapshot, source."
    return board("catalog", "reflink / catalog", about, [Row("Now", _now()), Row("Over time", _history())], choices)


def _age(*matchers: str) -> str:
    return f"time() - ({series(_SNAPSHOT, *matchers)} > 0)"


def _now() -> list[Panel]:
    return [
        figure(
            "Works",
            "Works of the worker that has most. Good: what you loaded and the papers since. Less: the load has stopped, or "
            "workers opened an old snapshot and still follow.",
            "short",
            Query(f"max({series('reflink_catalog_works', *_READERS)})"),
            [(None, RED), (1, BLUE)],
            span=5,
        ),
        figure(
            "Furthest behind",
            "Records between the catalog topic's end and the worker furthest behind. Good: near 0. High for minutes: works "
            "come faster than they are encoded; their references are judged again then.",
            "short",
            Query(f"max({series('reflink_catalog_lag_records', *_FOLLOWERS)})"),
            [(None, GREEN), (1000, YELLOW), (100_000, RED)],
            span=5,
            decimals=0,
        ),
        figure(
            "Oldest snapshot",
            "Age of the snapshot that the next start opens. Good: as often as the snapshot job runs. After 84 hours it is "
            "refused, since tombstones may be gone: see the job. No data: no worker has a usable one.",
            "s",
            Query(f"max({_age(*_READERS)})"),
            [(None, GREEN), (2 * _DAY_S, YELLOW), (3 * _DAY_S, RED)],
            span=5,
        ),
        figure(
            "Without a snapshot",
            "Linkers and fallbacks whose next start finds no usable snapshot, and reads the whole topic: minutes to hours. "
            "Good: 0, but for small catalogs. Otherwise see the snapshot job and its volume.",
            "short",
            Query(f"count({series(_SNAPSHOT, *_READERS)} == 0)"),
            [(None, GREEN), (1, YELLOW)],
            span=5,
            decimals=0,
            nothing="0",
        ),
        figure(
            "Works without a vector",
            "Works that the model gave no direction, since the workers started. They are found by identifiers and place only. "
            "Good: a handful, of empty titles. Growing with every work: the model is broken.",
            "short",
            Query(f"sum({series('reflink_catalog_without_vector_total', *_READERS)})"),
            [(None, GREEN), (100, YELLOW)],
            span=4,
            decimals=0,
        ),
    ]


def _history() -> list[Panel]:
    return [
        curves(
            "Works",
            "Good: the same everywhere, and growing. The ledger counts the works it may wake references for. One below "
            "the others: it is behind, or opened something else; see Opened from.",
            "short",
            [Query(series("reflink_catalog_works", *_FOLLOWERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Lag in the catalog topic",
            "Records between each worker's catalog and the topic's end. Good: near 0. Linkers fall behind in large loads, as "
            "they encode; they catch up by themselves. Never falling: a worker stands still.",
            "short",
            [Query(series("reflink_catalog_lag_records", *_FOLLOWERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Offset",
            "The version of each worker's catalog: the next offset that it reads. Good: one line. Workers may differ for some "
            "seconds, as each follows by itself.",
            "short",
            [Query(series("reflink_catalog_offset", *_FOLLOWERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Works that arrive",
            "Records of the catalog topic that each worker takes in, per second. Good: papers in, and your loads. Nothing "
            "while papers come: they are not offered as works (REFLINK_OFFER_PAPERS).",
            "suffix: /s",
            # A start is no arrival: it jumps from 0 to the snapshot's offset.
            [
                Query(
                    f"max by (worker) (deriv(({series('reflink_catalog_offset', *_FOLLOWERS)} > 0)[$__rate_interval:15s]))",
                    "{{worker}}",
                )
            ],
        ),
        curves(
            "Age of the snapshot",
            "Of the snapshot that each worker's next start opens. Good: a saw-tooth as high as the job's interval. A line that "
            "only climbs: the job fails, or its volume is not the workers'.",
            "s",
            [Query(_age(*_READERS), "{{worker}} {{pod}}")],
        ),
        curves(
            "Opened from",
            "Linkers and fallbacks by what they opened: snapshot, previous (the one before, as the newest was unusable) "
            "or topic. Good: snapshot. topic with a large catalog: starts take long; see the snapshot job.",
            "short",
            [Query(f"sum by (worker, source) ({series('reflink_catalog_source', *_READERS)}) > 0", "{{worker}} {{source}}")],
            stacked="normal",
        ),
        curves(
            "Time spent following",
            "Seconds a second that each worker takes works in. Good: under 0.2, the rest is for references. Near 1: a large "
            "load; references wait the longer for it.",
            "short",
            [Query(rate("reflink_stage_seconds_sum", 'step="follow"', *_FOLLOWERS, by="worker, pod"), "{{worker}} {{pod}}")],
            span=24,
        ),
    ]

"""The dashboard of a search engine: its requests, the offsets of its index, and the indexer."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Choice, Row, board
from helm.dashboards.panels import GREEN, RED, YELLOW, Panel, Query, curves, figure
from helm.dashboards.promql import quantile, rate, series

#: Workers that search the index.
_READERS: Final = ('worker=~"linker|fallback"', 'pod=~"$pod"')
_USERS: Final = ('worker=~"linker|fallback|indexer"', 'pod=~"$pod"')
#: Not by pod: the index is one for all.
_LINKER, _INDEXER = 'worker="linker"', 'worker="indexer"'
_SECONDS: Final = "reflink_engine_request_seconds"
_CATALOG, _INDEX = "reflink_catalog_offset", "reflink_engine_offset"


def engine() -> str:
    """Return the dashboard as JSON."""
    rows = [Row("Now", _now(), [5]), Row("Requests", _requests(), [3]), Row("Index", _index(), [2, 2])]
    choices = [Choice("pod", series("reflink_ready", 'worker=~"linker|fallback|indexer"'))]
    about = "Installations with a search engine: its requests and failures, the offsets of its index, the indexer."
    return board("engine", "reflink / search engine", about, rows, choices)


def _behind() -> str:
    return f"max({series(_CATALOG, _LINKER)} - ({series(_INDEX, _LINKER)} > 0))"


def _now() -> list[Panel]:
    return [
        figure(
            "Waiting for the engine",
            "Seconds for which a batch has waited for the engine. Good: 0. Above a minute: links stop; look at the engine's "
            "health and at the log of the worker.",
            "s",
            Query(f"max({series('reflink_service_unavailable_seconds', *_USERS)})"),
            [(None, GREEN), (10, YELLOW), (60, RED)],
        ),
        figure(
            "Searches, p99",
            "The time that 99% of the searches take at most; a search has all references of a batch. Good: well below the "
            "target time of a batch (1 s) and the timeout (10 s). Near the timeout: add nodes, or shards and build the index "
            "again.",
            "s",
            Query(quantile(0.99, _SECONDS, 'request="search"', *_READERS)),
            [(None, GREEN), (1, YELLOW), (5, RED)],
            decimals=2,
        ),
        figure(
            "Index behind",
            "Records of the catalog topic that linkers know and the index does not have. Good: near 0. High for minutes: "
            "works arrive faster than they are indexed, or the indexer is not ready.",
            "short",
            Query(_behind()),
            [(None, GREEN), (1000, YELLOW), (100_000, RED)],
            decimals=0,
        ),
        figure(
            "Indexers ready",
            "Indexers whose index serves. Good: 1. 0 while the first index is filled. 0 at other times: searches do not find "
            "new works; see the end of the indexer's log.",
            "short",
            Query(f"sum({series('reflink_ready', _INDEXER)})"),
            [(None, RED), (1, GREEN)],
            decimals=0,
            nothing="0",
        ),
        figure(
            "Works refused",
            "Works that the engine refused since the indexer started; only identifiers and locators find them. Good: 0. The "
            "log of the indexer has the reason for each.",
            "short",
            Query(f"sum({series('reflink_engine_refused_works_total', _INDEXER)})"),
            [(None, GREEN), (1, YELLOW)],
            decimals=0,
        ),
    ]


def _requests() -> list[Panel]:
    return [
        curves(
            "Seconds of a request",
            "Median and 99th percentile by request: search; watermark, the version of the index; bulk, refresh and index of "
            "the indexer. Good: constant. Rising searches: a larger index, merges, or too little memory for the engine's page "
            "cache.",
            "s",
            [
                Query(quantile(share, _SECONDS, *_USERS, by="request"), f"{{{{request}}}} {name}")
                for share, name in ((0.5, "p50"), (0.99, "p99"))
            ],
        ),
        curves(
            "Requests",
            "Requests per second of each worker. Good: searches follow the batches; a watermark before each batch. None while "
            "references wait: workers wait for the engine.",
            "suffix: /s",
            [Query(rate(_SECONDS + "_count", *_USERS, by="worker, request"), "{{worker}} {{request}}")],
        ),
        curves(
            "Failures",
            "Requests without an answer, or not in time, per second. Good: none. Single ones: a node restarted, and another "
            "answered. Many: nodes are down or overloaded; the log of the worker has the reason.",
            "suffix: /s",
            [Query(rate("reflink_engine_failures_total", *_USERS, by="request"), "{{request}}")],
        ),
    ]


def _index() -> list[Panel]:
    topic = f"max({series(_CATALOG, _INDEXER)} + {series('reflink_catalog_lag_records', _INDEXER)})"
    return [
        curves(
            "Offsets of topic, linkers and index",
            "End of the catalog topic as the indexer knows it, catalog of the linkers, index as they see it and as the "
            "indexer fills it. Good: one line. The two of the index differ while another index is built or takes over.",
            "short",
            [
                Query(topic, "topic"),
                Query(f"max({series(_CATALOG, _LINKER)})", "linkers"),
                Query(f"max({series(_INDEX, *_READERS)})", "index, searched"),
                Query(f"max({series(_INDEX, _INDEXER)})", "index, filled"),
            ],
        ),
        curves(
            "Lag of the indexer",
            "Records of the catalog topic that the index does not have. Good: near 0. It rises during a load and falls "
            "afterwards. Constant: the indexer waits for the engine.",
            "short",
            [Query(series("reflink_catalog_lag_records", _INDEXER), "{{pod}}")],
        ),
        curves(
            "Works indexed",
            "Records of the catalog topic that become visible to searches, per second. Good: follows the works that arrive. "
            "During a load, the speed of the engine.",
            "suffix: /s",
            [Query(f"sum(deriv(({series(_INDEX, _INDEXER)} > 0)[$__rate_interval:15s]))", "indexed")],
        ),
        curves(
            "Waiting for the engine, by worker",
            "Seconds for which the batch in flight has waited. Good: 0. Single teeth: a node restarted. A rising line: the "
            "engine does not answer; lag grows meanwhile, and nothing is lost.",
            "s",
            [Query(series("reflink_service_unavailable_seconds", *_USERS), "{{worker}} {{pod}}")],
        ),
    ]

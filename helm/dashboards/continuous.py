"""What is judged again since the catalog changed: how much, why, how soon, and what became of it."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Choice, Row, board
from helm.dashboards.panels import BLUE, GREEN, RED, YELLOW, Panel, Query, curves, figure
from helm.dashboards.promql import quantile, rate, series

_LEDGER: Final = ('worker="ledger"', 'pod=~"$pod"')
_BEHIND: Final = "reflink_ledger_changes_behind_records"
_WAKES: Final = "reflink_wake_seconds"
_AGAIN: Final = "reflink_judged_again_total"
_DECISIONS: Final = "reflink_ledger_decisions_total"
_WITHDRAWN: Final = 'decision="withdrawn"'
_RETRIES: Final = 'topic="retries"'
#: Links that change are few: a shorter time has too few of them for a percentile.
_HOUR: Final = "1h"


def continuous() -> str:
    """Its JSON."""
    rows = [Row("Now", _now()), Row("From change to link", _late()), Row("What is done", _done())]
    about = "References that are judged again, since works came, changed or went: how much, why and how soon."
    choices = [Choice("pod", series("reflink_ready", 'worker="ledger"'))]
    return board("continuous", "reflink / continuous", about, rows, choices)


def _waiting() -> str:
    # While a partition moves, two workers may tell its lag.
    return f"sum(max by (namespace, partition) ({series('reflink_lag_records', _RETRIES)}))"


def _now() -> list[Panel]:
    return [
        figure(
            "Changes behind",
            "Records of the catalog topic that the ledger furthest behind has not compared its references with. Good: near 0, "
            "or falling after a load. Standing still: see its log, and whether it has time to spare.",
            "short",
            Query(f"max({series(_BEHIND, *_LEDGER)})"),
            [(None, GREEN), (10_000, YELLOW), (1_000_000, RED)],
            span=5,
            decimals=0,
        ),
        figure(
            "Change to link, p99",
            "Of the links that changes of the catalog changed within the last hour: 99 of 100 came this soon after the change. "
            "Good: seconds. Minutes: live papers went first, or a load is under way. No data: none changed.",
            "s",
            Query(quantile(0.99, _WAKES, *_LEDGER, over=_HOUR)),
            [(None, GREEN), (300, YELLOW), (1800, RED)],
            span=5,
        ),
        figure(
            "Sent to be judged again",
            "References a second. Good: a few, and the sweep's 10 for each ledger while one is under way. At "
            "REFLINK_WAKES_PER_S for each ledger: the ledgers hold back what a load has stirred up.",
            "suffix: /s",
            Query(rate(_AGAIN, *_LEDGER)),
            [(None, BLUE)],
            span=5,
        ),
        figure(
            "Retries waiting",
            "References to be judged again that no linker has read yet. Good: near 0 whenever papers leave them a moment. "
            "Growing by the day: linkers are never idle, so add one; after 7 days they are deleted unread.",
            "short",
            Query(_waiting()),
            [(None, GREEN), (100_000, YELLOW), (1_000_000, RED)],
            span=5,
            decimals=0,
        ),
        figure(
            "Withdrawn",
            "Links of the last hour that were taken back because the cited work left the catalog. Good: 0, or as many as you "
            "withdrew. Very many: a load has removed works; look at what wrote to the catalog.",
            "short",
            Query(f"sum(increase({series(_DECISIONS, *_LEDGER, _WITHDRAWN)}[{_HOUR}]))"),
            [(None, BLUE), (10_000, YELLOW)],
            span=4,
            decimals=0,
            nothing="0",
        ),
    ]


def _late() -> list[Panel]:
    return [
        curves(
            "From change to link",
            "From a record of the catalog topic to the commit of a link that it changed. Good: p50 below a second and p99 of "
            "seconds in quiet times. p99 in minutes while papers come: retries wait for them, by design.",
            "s",
            [Query(quantile(share, _WAKES, *_LEDGER, over="5m"), name) for share, name in ((0.5, "p50"), (0.99, "p99"))],
        ),
        curves(
            "Changes behind",
            "Records of the catalog topic that each ledger has not compared its references with. Good: near 0. A load is a "
            "saw-tooth: up while works come, down at a steady slope. Level: waking stands still.",
            "short",
            [Query(series(_BEHIND, *_LEDGER), "{{pod}}")],
        ),
        curves(
            "Retries waiting",
            "References to be judged again that no linker has read yet. Good: down to 0 between papers. A slope that only "
            "rises: linkers have no time for them, or a linker's catalog is far behind what they ask for.",
            "short",
            [Query(_waiting(), "waiting")],
        ),
    ]


def _done() -> list[Panel]:
    return [
        curves(
            "Sent to be judged again, by why",
            "change: of the catalog. withdrawal: of the cited work. late: the outcome did not know a change. override: a "
            "curator. sweep: what keys may have missed. Good: small beside what papers bring. Replays are not in it.",
            "suffix: /s",
            [Query(rate(_AGAIN, *_LEDGER, by="why"), "{{why}}")],
            stacked="normal",
        ),
        curves(
            "Sent, read, published",
            "References a second: sent by the ledgers, read from retries by linkers (replays included), and links that changes "
            "changed. Good: read follows sent, and published is a small part: most works leave most links as they are.",
            "suffix: /s",
            [
                Query(rate(_AGAIN, *_LEDGER), "sent"),
                Query(rate("reflink_records_in_total", _RETRIES), "read"),
                Query(rate(f"{_WAKES}_count", *_LEDGER), "published"),
            ],
        ),
        curves(
            "The ledger's decisions",
            "published and unchanged: judged, and told or not. late: an older version. gone: taken back with its paper. "
            "withdrawn: the cited work is gone. overridden: as a curator says. Good: unchanged for most of a sweep.",
            "suffix: /s",
            [Query(rate(_DECISIONS, *_LEDGER, by="decision"), "{{decision}}")],
        ),
    ]

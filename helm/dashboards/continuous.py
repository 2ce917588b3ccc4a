"""The dashboard of re-evaluated references after catalog changes: how many, why, how soon, and with which result."""

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
#: Few links change: a shorter window has too few of them for a percentile.
_HOUR: Final = "1h"


def continuous() -> str:
    """Return the dashboard as JSON."""
    rows = [Row("Now", _now(), [5]), Row("From change to link", _late()), Row("Re-evaluations", _done())]
    about = "Re-evaluated references after changes of the catalog: how many, why, and how soon."
    choices = [Choice("pod", series("reflink_ready", 'worker="ledger"'))]
    return board("continuous", "reflink / continuous", about, rows, choices)


def _waiting() -> str:
    # While a partition moves, two workers may report its lag.
    return f"sum(max by (namespace, partition) ({series('reflink_lag_records', _RETRIES)}))"


def _now() -> list[Panel]:
    return [
        figure(
            "Changes behind",
            "Records of the catalog topic that the furthest ledger has not compared with its references. Good: near 0, or "
            "falling after a load. Constant: check its log, and whether it has spare time.",
            "short",
            Query(f"max({series(_BEHIND, *_LEDGER)})"),
            [(None, GREEN), (10_000, YELLOW), (1_000_000, RED)],
            decimals=0,
        ),
        figure(
            "Change to link, p99",
            "99% of the links that catalog changes caused within the last hour were published within this time of the change. "
            "Good: seconds. Minutes: live papers had priority, or a load is in progress. No data: no link changed.",
            "s",
            Query(quantile(0.99, _WAKES, *_LEDGER, over=_HOUR)),
            [(None, GREEN), (300, YELLOW), (1800, RED)],
        ),
        figure(
            "Sent for re-evaluation",
            "References that the ledgers send to retries, per second. Good: few, plus 10 per ledger during a sweep. At "
            "REFLINK_WAKES_PER_S per ledger: the ledgers limit the rate after a load.",
            "suffix: /s",
            Query(rate(_AGAIN, *_LEDGER)),
            [(None, BLUE)],
        ),
        figure(
            "Retries waiting",
            "References in retries that no linker has read. Good: near 0 whenever papers leave the linkers time. Growing for "
            "days: linkers are never idle, so add one; after 7 days Kafka deletes the records.",
            "short",
            Query(_waiting()),
            [(None, GREEN), (100_000, YELLOW), (1_000_000, RED)],
            decimals=0,
        ),
        figure(
            "Withdrawn",
            "Links of the last hour that were withdrawn because the cited work left the catalog. Good: 0, or the works that "
            "you withdrew. Very many: a load has removed works; check the writers of the catalog.",
            "short",
            Query(f"sum(increase({series(_DECISIONS, *_LEDGER, _WITHDRAWN)}[{_HOUR}]))"),
            [(None, BLUE), (10_000, YELLOW)],
            decimals=0,
            nothing="0",
        ),
    ]


def _late() -> list[Panel]:
    return [
        curves(
            "From change to link",
            "Time from a record of the catalog topic to the commit of a link that it changed. Good: p50 below a second and p99 "
            "of seconds in quiet times. p99 of minutes while papers arrive: retries wait for live papers, by design.",
            "s",
            [Query(quantile(share, _WAKES, *_LEDGER, over="5m"), name) for share, name in ((0.5, "p50"), (0.99, "p99"))],
        ),
        curves(
            "Changes behind",
            "Records of the catalog topic that each ledger has not compared with its references. Good: near 0. A load is a "
            "saw-tooth: a rise while works arrive, then a steady fall. Constant: propagation is stalled.",
            "short",
            [Query(series(_BEHIND, *_LEDGER), "{{pod}}")],
        ),
        curves(
            "Retries waiting",
            "References in retries that no linker has read. Good: back to 0 between papers. Only rising: linkers have no time "
            "for them, or the catalog of a linker is too far behind to handle them.",
            "short",
            [Query(_waiting(), "waiting")],
        ),
    ]


def _done() -> list[Panel]:
    return [
        curves(
            "Re-evaluations by cause",
            "change: of the catalog. withdrawal: of the cited work. late: the outcome preceded a change. override: of a "
            "curator. sweep: references without a common key. Good: small beside new papers. Replays are not included.",
            "suffix: /s",
            [Query(rate(_AGAIN, *_LEDGER, by="why"), "{{why}}")],
            stacked="normal",
        ),
        curves(
            "Sent, read, published",
            "References per second: sent by ledgers, read from retries by linkers (replays included), and published because of "
            "changes. Good: read follows sent, and published is a small part, since most works change few links.",
            "suffix: /s",
            [
                Query(rate(_AGAIN, *_LEDGER), "sent"),
                Query(rate("reflink_records_in_total", _RETRIES), "read"),
                Query(rate(f"{_WAKES}_count", *_LEDGER), "published"),
            ],
        ),
        curves(
            "The ledger's decisions",
            "published and unchanged: evaluated, with a new or the same result. late: of an older version. gone: withdrawn "
            "with its paper. withdrawn: the cited work left the catalog. overridden: by a curator. Good: mostly unchanged "
            "during a sweep.",
            "suffix: /s",
            [Query(rate(_DECISIONS, *_LEDGER, by="decision"), "{{decision}}")],
        ),
    ]

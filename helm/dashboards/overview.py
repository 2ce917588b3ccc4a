"""The main dashboard: input, output, latency, lag, and ready workers."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Row, board
from helm.dashboards.panels import BLUE, GREEN, RED, YELLOW, Panel, Query, curves, figure
from helm.dashboards.promql import mean, named, quantile, rate, series

_PAPERS: Final = ('worker="parser"', 'topic="papers"')
_LIVE: Final = 'live="yes"'
_OUTCOMES: Final = "reflink_outcomes_total"
_LINKED: Final = 'reason=""'
_LATENCY: Final = "reflink_end_to_end_seconds"
#: Seconds of the latency objective from a paper to its links, as in the alerts; a bucket ends there.
OBJECTIVE_S: Final = 30
_IN_TIME: Final = f'le="{OBJECTIVE_S}.0"'
_LAG: Final = series("reflink_lag_records")
#: Lower bound for the rate of a topic, in records per second: at lower rates, seconds of work mean nothing.
_SLOWEST: Final = "0.1"


def overview() -> str:
    """Return the dashboard as JSON."""
    rows = [Row("Now", _now()), Row("Flow", _flow(), [2, 3]), Row("Results", _results(), [3, 2])]
    return board("overview", "reflink / overview", "Papers in, links out, latency, lag, and outcomes of references.", rows)


def _seconds_of_work() -> str:
    # Leave out background inputs (retries, and the catalog of the ledger): workers handle them only behind other inputs.
    foreground = 'topic!~"retries|catalog"'
    lag, speed = series("reflink_lag_records", foreground), rate("reflink_records_in_total", foreground, by="topic", over="5m")
    return f"sum by (topic) ({lag}) / clamp_min({speed}, {_SLOWEST})"


def _now() -> list[Panel]:
    linked = f"{rate(_OUTCOMES, _LINKED, over='15m')} / {rate(_OUTCOMES, over='15m')}"
    in_time = f"{rate(_LATENCY + '_bucket', _LIVE, _IN_TIME, over='1h')} / {rate(_LATENCY + '_count', _LIVE, over='1h')}"
    return [
        figure(
            "Papers in",
            "Papers per second that the parsers read and committed. Good: as many as you send. 0 while you send: check Workers "
            "ready, then the lag of the parser.",
            "suffix: /s",
            Query(rate("reflink_records_in_total", *_PAPERS)),
            [(None, BLUE)],
        ),
        figure(
            "Links out",
            "Linked references per second, re-evaluations included. Good: follows Papers in, with some tens of links per "
            "paper. 0 while papers arrive: Lag by topic shows the stalled worker.",
            "suffix: /s",
            Query(rate(_OUTCOMES, _LINKED)),
            [(None, BLUE)],
        ),
        figure(
            "Linked",
            "Share of linked references in the last 15 minutes. Good: the usual share of your collection. A drop: a feed, the "
            "catalog or the model changed; see the quality dashboard.",
            "percentunit",
            Query(linked),
            [(None, BLUE)],
        ),
        figure(
            "Latency, p95",
            f"95% of the live references have an outcome within this time of their paper's arrival. Good: below {OBJECTIVE_S} "
            "s. Above: papers wait; add replicas of the worker with the most seconds of work waiting.",
            "s",
            Query(quantile(0.95, _LATENCY, _LIVE, over="5m")),
            [(None, GREEN), (OBJECTIVE_S / 2, YELLOW), (OBJECTIVE_S, RED)],
        ),
        figure(
            f"Within {OBJECTIVE_S} s",
            f"Share of live references of the last hour with an outcome within {OBJECTIVE_S} s of the paper's arrival. Good: "
            "at least 99%. Below: see latency and lag. Replayed dead letters are excluded.",
            "percentunit",
            Query(in_time),
            [(None, RED), (0.95, YELLOW), (0.99, GREEN)],
            decimals=2,
        ),
        figure(
            "Work waiting",
            "Work in the longest queue, in seconds at the rate of the last five minutes. Good: below 30 s, or falling. Rising "
            "for minutes: add replicas of the worker that reads the topic, up to its partitions.",
            "s",
            Query(f"max({_seconds_of_work()})"),
            [(None, GREEN), (30, YELLOW), (300, RED)],
        ),
        figure(
            "Workers ready",
            "Share of the scraped workers that are ready. Good: 100%. Less for some minutes after a start, while workers load "
            "the catalog. Less for longer: see the workers dashboard and the log of the worker.",
            "percentunit",
            Query(f"sum({series('reflink_ready')}) / count({series('up')})"),
            [(None, RED), (0.5, YELLOW), (1, GREEN)],
            decimals=0,
        ),
        figure(
            "Dead letters",
            "Records of the last hour that became dead letters. Good: 0, or the usual few of your feed. More: see the reasons "
            "below, and read the records with reflink-worker dead-letters.",
            "short",
            Query(f"sum(increase({series('reflink_dead_letters_total')}[1h]))"),
            [(None, GREEN), (1, YELLOW)],
            decimals=0,
        ),
    ]


def _flow() -> list[Panel]:
    return [
        curves(
            "Papers in, references out",
            "Per second: papers read, references with an outcome, and linked references. Good: the three curves have the same "
            "shape, except for re-evaluations (see continuous). Papers without outcomes: see the lag.",
            "suffix: /s",
            [
                Query(rate("reflink_records_in_total", *_PAPERS), "papers"),
                Query(rate(_OUTCOMES), "outcomes"),
                Query(rate(_OUTCOMES, _LINKED), "links"),
            ],
        ),
        curves(
            "Latency of live papers",
            f"Time from a paper's arrival to the commit of its outcome. Objective, dashed: {OBJECTIVE_S} s. Good: p99 below "
            "it. p50 low and p99 high: one partition or one large paper is late. All high: papers wait; see the lag.",
            "s",
            [
                Query(quantile(share, _LATENCY, _LIVE, over="5m"), name)
                for share, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
            ],
            limit=OBJECTIVE_S,
        ),
        curves(
            "Lag by topic",
            "Records that wait for each worker: papers for the parser, references and retries for the linker, fallback for the "
            "fallback, outcomes for the ledger. Good: near 0, or falling after a burst. A topic that rises alone shows the "
            "slow worker.",
            "short",
            [Query(f"sum by (topic) ({_LAG})", "{{topic}}")],
        ),
        curves(
            "Seconds of work waiting",
            "Lag divided by the rate of the last five minutes. Autoscaling keeps it at its target. Good: below 30 s. Above "
            "with all replicas running: you need more partitions or faster machines.",
            "s",
            [Query(_seconds_of_work(), "{{topic}}")],
        ),
        curves(
            "Workers ready",
            "Ready processes of each worker. Good: the number of replicas. A saw-tooth: a worker restarts repeatedly; see its "
            "restarts and its log.",
            "short",
            [Query(f"sum by (worker) ({series('reflink_ready')})", "{{worker}}")],
            stacked="normal",
        ),
    ]


def _results() -> list[Panel]:
    return [
        curves(
            "Outcomes by method",
            "Shares of the methods that linked references. Good: constant. Semantic or lexical growing at the cost of "
            "identifier: identifiers are missing in the papers or in the catalog.",
            "suffix: /s",
            [Query(named(rate(_OUTCOMES, by="method"), "method", "not linked"), "{{method}}")],
            stacked="percent",
        ),
        curves(
            "Not linked, by reason",
            "Shares of the reasons among references without a link. Good: mostly not-in-catalog. docs/accuracy.md explains a "
            "reason that grows.",
            "suffix: /s",
            [Query(rate(_OUTCOMES, 'method=""', by="reason"), "{{reason}}")],
            stacked="percent",
        ),
        curves(
            "The ledger's decisions",
            "published: new or changed links. unchanged: the same result after a re-evaluation. late: of an older version of "
            "the paper. gone, withdrawn: withdrawn with the paper or the cited work. Good: published; for the others see "
            "continuous.",
            "suffix: /s",
            [Query(rate("reflink_ledger_decisions_total", by="decision"), "{{decision}}")],
        ),
        curves(
            "Dead letters by reason",
            "Dead letters in five minutes, by error. Good: none. NotAPaper: the file is not JATS. Others: read one with "
            "reflink-worker dead-letters; an error that docs/events.md does not list is a defect of reflink.",
            "short",
            [Query(f"sum by (reason) (increase({series('reflink_dead_letters_total')}[5m]))", "{{reason}}")],
        ),
        curves(
            "Mean batch by worker",
            "Mean number of records in a batch. Good: large while there is lag, small otherwise. Small despite lag: single "
            "records take long; see the workers dashboard.",
            "short",
            [Query(mean("reflink_batch_records", by="worker"), "{{worker}}")],
        ),
    ]

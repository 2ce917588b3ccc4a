"""The one dashboard to watch: what goes in, what comes out, how late, what waits, and who is ready."""

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
#: Seconds within which a paper's links are promised, as in the objective of the alerts; a bucket ends there.
OBJECTIVE_S: Final = 30
_IN_TIME: Final = f'le="{OBJECTIVE_S}.0"'
_LAG: Final = series("reflink_lag_records")
#: Of a topic that moves less, seconds of work mean nothing.
_SLOWEST: Final = "0.1"


def overview() -> str:
    """Its JSON."""
    rows = [Row("Now", _now()), Row("Flow", _flow()), Row("What comes out", _results())]
    return board("overview", "reflink / overview", "Papers in, links out, latency, lag, and what became of references.", rows)


def _seconds_of_work() -> str:
    # Nobody waits for retries and for the ledger's reading of the catalog: they have their turn when there is nothing else.
    foreground = 'topic!~"retries|catalog"'
    lag, speed = series("reflink_lag_records", foreground), rate("reflink_records_in_total", foreground, by="topic", over="5m")
    return f"sum by (topic) ({lag}) / clamp_min({speed}, {_SLOWEST})"


def _now() -> list[Panel]:
    linked = f"{rate(_OUTCOMES, _LINKED, over='15m')} / {rate(_OUTCOMES, over='15m')}"
    in_time = f"{rate(_LATENCY + '_bucket', _LIVE, _IN_TIME, over='1h')} / {rate(_LATENCY + '_count', _LIVE, over='1h')}"
    return [
        figure(
            "Papers in",
            "Papers a second that the parsers read and committed. Good: as many as you send. 0 while you send: look at "
            "Workers ready, then at the parser's lag.",
            "suffix: /s",
            Query(rate("reflink_records_in_total", *_PAPERS)),
            [(None, BLUE)],
        ),
        figure(
            "Links out",
            "References a second that were linked, also those judged again. Good: it follows Papers in, some tens of links to "
            "a paper. 0 while papers come in: look at the lag by topic, which names the worker that stands still.",
            "suffix: /s",
            Query(rate(_OUTCOMES, _LINKED)),
            [(None, BLUE)],
        ),
        figure(
            "Linked",
            "Share of references that were linked, of the last 15 minutes. Good: what your collection always has. A drop means "
            "that a feed, the catalog or the model changed: see the quality dashboard.",
            "percentunit",
            Query(linked),
            [(None, BLUE)],
        ),
        figure(
            "Latency, p95",
            f"95 of 100 live references have their outcome within this time of the paper's arrival. Good: below {OBJECTIVE_S} "
            "s. Above: papers wait; look at Seconds of work and add replicas of the worker named there.",
            "s",
            Query(quantile(0.95, _LATENCY, _LIVE, over="5m")),
            [(None, GREEN), (OBJECTIVE_S / 2, YELLOW), (OBJECTIVE_S, RED)],
        ),
        figure(
            f"Within {OBJECTIVE_S} s",
            f"Share of live references of the last hour with an outcome within {OBJECTIVE_S} s of the paper's arrival. Good: "
            "99% or more. Below: see latency and lag; records replayed from the dead letters do not count.",
            "percentunit",
            Query(in_time),
            [(None, RED), (0.95, YELLOW), (0.99, GREEN)],
            decimals=2,
        ),
        figure(
            "Work waiting",
            "Seconds of work that lie in the longest queue, at the speed of the last five minutes. Good: under 30 s, or "
            "falling. Rising for minutes: add replicas of the worker that reads that topic, up to its partitions.",
            "s",
            Query(f"max({_seconds_of_work()})"),
            [(None, GREEN), (30, YELLOW), (300, RED)],
        ),
        figure(
            "Workers ready",
            "Share of the scraped workers that are ready. Good: 100%. Less for some minutes after a start, while catalogs are "
            "loaded. Less for longer: see the workers dashboard and the log of the one that is not ready.",
            "percentunit",
            Query(f"sum({series('reflink_ready')}) / count({series('up')})"),
            [(None, RED), (0.5, YELLOW), (1, GREEN)],
            decimals=0,
        ),
        figure(
            "Dead letters",
            "Records of the last hour that could not be processed. Good: 0, or the few that your feed always has. More: see "
            "the reasons below, and read them with reflink-worker dead-letters.",
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
            "Per second: papers read, references that got an outcome, and those of them that were linked. Good: the three "
            "curves have one shape, but for what is judged again (see continuous). Papers without outcomes: see the lag.",
            "suffix: /s",
            [
                Query(rate("reflink_records_in_total", *_PAPERS), "papers"),
                Query(rate(_OUTCOMES), "outcomes"),
                Query(rate(_OUTCOMES, _LINKED), "links"),
            ],
            span=12,
        ),
        curves(
            "Latency of live papers",
            f"From a paper's arrival to the commit of its outcome. Objective, dashed: {OBJECTIVE_S} s. Good: "
            "p99 below it. p50 low and p99 high: one partition or one large paper is late. All high: papers wait, see the lag.",
            "s",
            [
                Query(quantile(share, _LATENCY, _LIVE, over="5m"), name)
                for share, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
            ],
            span=12,
            limit=OBJECTIVE_S,
        ),
        curves(
            "Lag by topic",
            "Records that wait in front of each worker: papers - parser, references and retries - linker, fallback - fallback, "
            "outcomes - ledger. Good: near 0, or falling after a burst. One that rises alone names the slow worker.",
            "short",
            [Query(f"sum by (topic) ({_LAG})", "{{topic}}")],
        ),
        curves(
            "Seconds of work waiting",
            "The lag divided by the speed of the last five minutes. Autoscaling holds it at its target. Good: under 30 s. "
            "Above with all replicas running: more partitions or faster machines are needed.",
            "s",
            [Query(_seconds_of_work(), "{{topic}}")],
        ),
        curves(
            "Workers ready",
            "Ready processes of each worker. Good: as many as there are replicas. A saw-tooth is a worker that comes and goes: "
            "see its restarts and its log.",
            "short",
            [Query(f"sum by (worker) ({series('reflink_ready')})", "{{worker}}")],
            stacked="normal",
        ),
    ]


def _results() -> list[Panel]:
    return [
        curves(
            "Outcomes by method",
            "How references were linked, as shares. Good: a steady picture. Semantic or lexical growing at the cost of "
            "identifier: identifiers are missing in the papers or in the catalog.",
            "suffix: /s",
            [Query(named(rate(_OUTCOMES, by="method"), "method", "not linked"), "{{method}}")],
            stacked="percent",
        ),
        curves(
            "Not linked, by reason",
            "Why references stay without a link, as shares of those. Good: mostly not-in-catalog. A reason that grows is "
            "explained in docs/accuracy.md.",
            "suffix: /s",
            [Query(rate(_OUTCOMES, 'method=""', by="reason"), "{{reason}}")],
            stacked="percent",
        ),
        curves(
            "The ledger's decisions",
            "published: new or changed links. unchanged: judged again, the same. late: of an older version of the paper. gone, "
            "withdrawn: taken back with the paper or the cited work. Good: published; for the others see continuous.",
            "suffix: /s",
            [Query(rate("reflink_ledger_decisions_total", by="decision"), "{{decision}}")],
        ),
        curves(
            "Dead letters by reason",
            "In five minutes, by the error that refused the record. Good: none. NotAPaper: the sender's file is not JATS. Any "
            "other: read one with reflink-worker dead-letters; a name that is not in docs/events.md is a defect of ours.",
            "short",
            [Query(f"sum by (reason) (increase({series('reflink_dead_letters_total')}[5m]))", "{{reason}}")],
            span=12,
        ),
        curves(
            "Mean batch by worker",
            "Records that a worker takes at once. Good: large while there is lag, small when there is none. Small in spite of "
            "lag: one record takes long, see the workers dashboard.",
            "short",
            [Query(mean("reflink_batch_records", by="worker"), "{{worker}}")],
            span=12,
        ),
    ]

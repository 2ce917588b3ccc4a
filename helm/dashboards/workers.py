"""What each worker process does: how much, in which batches, where its time goes, and what disturbs it."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Choice, Row, board
from helm.dashboards.panels import GREEN, RED, Panel, Query, bars, curves, spread, states
from helm.dashboards.promql import buckets, quantile, rate, series

_CHOSEN: Final = ('worker=~"$worker"', 'pod=~"$pod"')
_POD: Final = 'pod=~"$pod"'
_WORKERS: Final = ("parser", "linker", "fallback", "ledger")
_STAGE: Final = "reflink_stage_seconds"


def workers() -> str:
    """Its JSON."""
    rows = [
        Row("Health", _health()),
        Row("Throughput and batches", _throughput()),
        Row("Where the time goes: seconds in each step, per second", [_steps(each) for each in _WORKERS]),
        Row("Inside handle: seconds by what was done, per second", [_handling(each) for each in _WORKERS]),
        Row("Kafka", _kafka()),
    ]
    choices = [Choice("worker", series("reflink_ready")), Choice("pod", series("reflink_ready", 'worker=~"$worker"'))]
    return board(
        "workers", "reflink / workers", "Each worker: throughput, batches, time by step, lag, disturbances.", rows, choices
    )


def _health() -> list[Panel]:
    return [
        states(
            "Readiness",
            "Green while a worker has joined its group and its catalog is warm. Good: green. Red at the start for as long as "
            "the catalog is loaded. Stripes: it comes and goes; read the end of its log, the exit code says why.",
            Query(series("reflink_ready", *_CHOSEN), "{{worker}} {{pod}}"),
            {0: ("not ready", RED), 1: ("ready", GREEN)},
            span=9,
        ),
        curves(
            "Age of the process",
            "Time since each worker began. Good: lines that climb. A drop to 0 is a restart: expected in an upgrade or when "
            "replicas change, otherwise see the log of the process before.",
            "s",
            [Query(f"time() - {series('reflink_start_timestamp_seconds', *_CHOSEN)}", "{{worker}} {{pod}}")],
            span=5,
        ),
        curves(
            "Since the last commit",
            "Time since a worker last committed. Good: seconds while records wait; it climbs when there is nothing to do. "
            "Climbing while there is lag: the worker is stuck, its watchdog will end it.",
            "s",
            [
                Query(
                    f"time() - ({series('reflink_last_commit_timestamp_seconds', *_CHOSEN)} > 0)",
                    "{{worker}} {{pod}}",
                )
            ],
            span=5,
        ),
        curves(
            "State disk used",
            "Share of the file system of the state folder that is full. Good: under 80%. The ledger ends with exit code 10 "
            "when its disk is full: enlarge the volume before.",
            "percentunit",
            [
                Query(
                    f"1 - {series('reflink_state_free_bytes', *_CHOSEN)} / {series('reflink_state_size_bytes', *_CHOSEN)}",
                    "{{worker}} {{pod}}",
                )
            ],
            span=5,
            limit=0.8,
            most=1,
        ),
    ]


def _throughput() -> list[Panel]:
    return [
        curves(
            "Records in",
            "Records each process consumed and committed, per second. Good: processes of one worker are alike. One that has "
            "none: it has no partitions (more replicas than partitions), or it stands still.",
            "suffix: /s",
            [Query(rate("reflink_records_in_total", *_CHOSEN, by="worker, pod"), "{{worker}} {{pod}}")],
        ),
        curves(
            "Records out by topic",
            "Records written, per second. Good: it follows the records in. fallback: references that the linker passes on; "
            "growing there costs the fallback's time.",
            "suffix: /s",
            [Query(rate("reflink_records_out_total", *_CHOSEN, by="worker, topic"), "{{worker}} -> {{topic}}")],
        ),
        spread(
            "Records in a batch",
            "How many records are taken at once. Good: high while there is lag, 1 to 10 in quiet hours. Small in spite of lag: "
            "the time aimed at is used up by few records; see the time by step.",
            "short",
            buckets("reflink_batch_records", *_CHOSEN),
            decimals=0,
        ),
        curves(
            "A batch takes, p95",
            "Seconds of one batch in each worker's handle, and of its commit. Good: handle near the time that batches aim at, "
            "commit under 0.1 s. A slow commit is the broker's: see its disks and its network.",
            "s",
            [
                Query(quantile(0.95, _STAGE, f'step="{step}"', *_CHOSEN, by="worker"), f"{{{{worker}}}} {step}")
                for step in ("handle", "commit")
            ],
        ),
        curves(
            "A batch was expected to take",
            "What the policy expected of the last batch. Good: near to what a batch takes. Far from it for minutes: records "
            "differ much in cost, and latency will jump.",
            "s",
            [Query(series("reflink_batch_expected_seconds", *_CHOSEN), "{{worker}} {{pod}}")],
        ),
        curves(
            "Most bytes of a batch",
            "What the policy has learnt that fits into the time of a batch. Good: steady. Falling: records became dearer, or "
            "the machine slower.",
            "bytes",
            [Query(series("reflink_batch_budget_bytes", *_CHOSEN), "{{worker}} {{pod}}")],
        ),
    ]


def _steps(worker: str) -> Panel:
    return curves(
        f"{worker}: time by step",
        "Processes at full work have 1 each. wait: for a batch's records, follow: the catalog, handle: the work itself; commit "
        "runs beside them. Good: handle well below the number of processes. Near it: the worker is full, add replicas. commit "
        "near it: the broker is the limit.",
        "short",
        [Query(rate(_STAGE + "_sum", f'worker="{worker}"', _POD, by="step"), "{{step}}")],
        span=6,
        stacked="normal",
    )


def _handling(worker: str) -> Panel:
    return curves(
        f"{worker}: inside handle",
        "decode and encode: events; text, tokens, model: the encoder; search: candidates; verdict: comparing them. Good: a "
        "steady mix. One that grows tells what became dear: model - longer texts or a slower device, search - a larger "
        "catalog, verdict - more candidates.",
        "short",
        [Query(rate("reflink_handle_seconds_total", f'worker="{worker}"', _POD, by="step"), "{{step}}")],
        span=6,
        stacked="normal",
    )


def _kafka() -> list[Panel]:
    return [
        bars(
            "Lag by partition, the longest twenty",
            "Records that wait in a partition. Good: all near 0, or all alike. One far above the others: a very large paper, "
            "or its process stands still.",
            "short",
            Query(
                f"topk(20, sum by (topic, partition) ({series('reflink_lag_records', *_CHOSEN)}))", "{{topic}} {{partition}}"
            ),
        ),
        curves(
            "Transactions",
            "Transactions per second, by how they ended. Good: committed. Aborted for a moment: partitions moved. Aborted for "
            "minutes: the broker refuses or is away; the worker's log names the error.",
            "suffix: /s",
            [Query(rate("reflink_transactions_total", *_CHOSEN, by="worker, end"), "{{worker}} {{end}}")],
        ),
        curves(
            "Rebalances",
            "Partitions assigned, revoked or lost, counted since the start of the processes. Good: flat. Steps come with "
            "scaling and upgrades. Steps without: a worker misses its session, or autoscaling swings; lost is the worst kind.",
            "short",
            [Query(f"sum by (kind) ({series('reflink_rebalances_total', *_CHOSEN)})", "{{kind}}")],
        ),
    ]

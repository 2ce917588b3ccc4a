"""The dashboard of worker processes: throughput, batch sizes, time by step, and disturbances."""

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
    """Return the dashboard as JSON."""
    rows = [
        Row("Health", _health()),
        Row("Throughput and batches", _throughput()),
        Row("Where the time goes: seconds in each step, per second", [_steps(each) for each in _WORKERS]),
        Row("Inside handle: seconds in each step, per second", [_handling(each) for each in _WORKERS]),
        Row("Kafka", _kafka(), [4]),
    ]
    choices = [Choice("worker", series("reflink_ready")), Choice("pod", series("reflink_ready", 'worker=~"$worker"'))]
    about = "Each worker: throughput, batches, time by step, lag, disturbances."
    return board("workers", "reflink / workers", about, rows, choices)


def _health() -> list[Panel]:
    since_commit = f"time() - ({series('reflink_last_commit_timestamp_seconds', *_CHOSEN)} > 0)"
    used = f"1 - {series('reflink_state_free_bytes', *_CHOSEN)} / {series('reflink_state_size_bytes', *_CHOSEN)}"
    return [
        states(
            "Readiness",
            "Green while a worker has joined its group and its catalog is loaded. Good: green. Red after a start while the "
            "catalog loads. Stripes: it restarts repeatedly; the end of its log and the exit code give the reason.",
            Query(series("reflink_ready", *_CHOSEN), "{{worker}} {{pod}}"),
            {0: ("not ready", RED), 1: ("ready", GREEN)},
        ),
        curves(
            "Age of the process",
            "Time since each worker started. Good: rising lines. A drop to 0 is a restart: expected during upgrades and "
            "scaling, otherwise see the log of the previous process.",
            "s",
            [Query(f"time() - {series('reflink_start_timestamp_seconds', *_CHOSEN)}", "{{worker}} {{pod}}")],
            span=5,
        ),
        curves(
            "Since the last commit",
            "Time since the last commit of each worker. Good: seconds while records wait; it rises while there is no work. "
            "Rising with lag: the worker is stuck, and its watchdog will end it.",
            "s",
            [Query(since_commit, "{{worker}} {{pod}}")],
            span=5,
        ),
        curves(
            "State disk used",
            "Used share of the file system of the state folder. Good: below 80%. The ledger ends with exit code 10 when its "
            "disk is full: enlarge the volume before.",
            "percentunit",
            [Query(used, "{{worker}} {{pod}}")],
            span=5,
            limit=0.8,
            most=1,
        ),
    ]


def _throughput() -> list[Panel]:
    return [
        curves(
            "Records in",
            "Records that each process consumed and committed, per second. Good: the processes of a worker are alike. None: "
            "the process has no partitions (more replicas than partitions), or is stalled.",
            "suffix: /s",
            [Query(rate("reflink_records_in_total", *_CHOSEN, by="worker, pod"), "{{worker}} {{pod}}")],
        ),
        curves(
            "Records out by topic",
            "Records written, per second. Good: follows the records in. fallback: references that the linker leaves to the "
            "fallback; growth costs the fallback time.",
            "suffix: /s",
            [Query(rate("reflink_records_out_total", *_CHOSEN, by="worker, topic"), "{{worker}} -> {{topic}}")],
        ),
        spread(
            "Records in a batch",
            "Distribution of batch sizes, in records. Good: high while there is lag, 1 to 10 in quiet hours. Small despite "
            "lag: few records use up the target time; see the time by step.",
            "short",
            buckets("reflink_batch_records", *_CHOSEN),
            decimals=0,
        ),
        curves(
            "Time of a batch, p95",
            "Seconds per batch in handle and in commit of each worker. Good: handle near the target time of a batch, commit "
            "below 0.1 s. A slow commit: check the disks and the network of the broker.",
            "s",
            [
                Query(quantile(0.95, _STAGE, f'step="{step}"', *_CHOSEN, by="worker"), f"{{{{worker}}}} {step}")
                for step in ("handle", "commit")
            ],
        ),
        curves(
            "Expected time of a batch",
            "Time that the batch policy expected for the last batch. Good: near the measured time. Far from it for minutes: "
            "the cost of records varies much, and so will the latency.",
            "s",
            [Query(series("reflink_batch_expected_seconds", *_CHOSEN), "{{worker}} {{pod}}")],
        ),
        curves(
            "Byte budget of a batch",
            "Bytes that fit into the target time of a batch, as estimated by the batch policy. Good: constant. Falling: "
            "records became more expensive, or the machine slower.",
            "bytes",
            [Query(series("reflink_batch_budget_bytes", *_CHOSEN), "{{worker}} {{pod}}")],
        ),
    ]


def _steps(worker: str) -> Panel:
    return curves(
        f"{worker}: time by step",
        "Seconds per second; a fully loaded process has 1. wait: for the records of a batch; follow: applying works; handle: "
        "handling batches; commit runs in parallel. Good: handle well below the number of processes. Near it: add replicas. "
        "commit near it: the broker is the bottleneck.",
        "short",
        [Query(rate(_STAGE + "_sum", f'worker="{worker}"', _POD, by="step"), "{{step}}")],
        span=6,
        stacked="normal",
    )


def _handling(worker: str) -> Panel:
    return curves(
        f"{worker}: inside handle",
        "decode and encode: events; text, tokens, model: the encoder; search: candidates; verdict: comparing them. Good: "
        "constant shares. A share grows when its step becomes more expensive: model with longer texts or a slower device, "
        "search with a larger catalog, verdict with more candidates.",
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
            "or a stalled process.",
            "short",
            Query(
                f"topk(20, sum by (topic, partition) ({series('reflink_lag_records', *_CHOSEN)}))", "{{topic}} {{partition}}"
            ),
        ),
        curves(
            "Transactions",
            "Transactions per second by their end. Good: committed. Aborted for a moment: partitions moved. Aborted for "
            "minutes: the broker refuses or is unreachable; the log of the worker has the error.",
            "suffix: /s",
            [Query(rate("reflink_transactions_total", *_CHOSEN, by="worker, end"), "{{worker}} {{end}}")],
        ),
        curves(
            "Open transactions, the longest twenty",
            "Seconds for which an open transaction has blocked the last stable offset of a partition; the lag does not include "
            "its records. Good: near 0. 20 s: of a killed worker; the broker ends it. Minutes: it hangs; see the runbook.",
            "s",
            [
                Query(
                    f"topk(20, max by (topic, partition) ({series('reflink_open_transaction_seconds', *_CHOSEN)}))",
                    "{{topic}} {{partition}}",
                )
            ],
        ),
        curves(
            "Rebalances",
            "Partitions assigned, revoked or lost since the start of the processes. Good: constant. Steps accompany scaling "
            "and upgrades. Other steps: a worker exceeds its session timeout, or autoscaling oscillates; lost is the worst "
            "kind.",
            "short",
            [Query(f"sum by (kind) ({series('reflink_rebalances_total', *_CHOSEN)})", "{{kind}}")],
        ),
    ]

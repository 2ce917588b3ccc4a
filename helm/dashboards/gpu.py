"""The dashboard of the linker's encoder and its device: memory, passes, tokens, and the share of time the device works."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Choice, Row, board
from helm.dashboards.panels import BLUE, GREEN, RED, YELLOW, Panel, Query, curves, figure, spread
from helm.dashboards.promql import buckets, mean, rate, series

_LINKER: Final = ('worker="linker"', 'pod=~"$pod"')
_STAGE: Final = "reflink_stage_seconds_sum"
_HANDLE: Final = "reflink_handle_seconds_total"
_MODEL: Final = 'step="model"'
_WAIT: Final = 'step="wait"'
_TOKENS: Final = "reflink_batch_tokens"


def gpu() -> str:
    """Return the dashboard as JSON."""
    rows = [Row("Now", _now(), [6]), Row("Device", _device()), Row("Batches", _batches(), [3, 2])]
    choices = [Choice("pod", series("reflink_ready", 'worker="linker"'))]
    about = "The linkers' encoder: device memory, out of memory, tokens, and where its time goes. On a CPU, memory reads 0."
    return board("gpu", "reflink / GPU and batches", about, rows, choices)


def _busy() -> str:
    """Return the share of time that processes work; handling and following never overlap in a process."""
    working = rate(_STAGE, 'step=~"handle|follow"', *_LINKER)
    return f"{working} / sum({series('reflink_ready', *_LINKER)})"


def _memory_share(labels: str) -> str:
    held, there = series("reflink_gpu_memory_bytes", *_LINKER), series("reflink_gpu_memory_total_bytes", *_LINKER)
    return f"{labels}({held}) / ({labels}({there}) > 0)"


def _now() -> list[Panel]:
    return [
        figure(
            "Linkers ready",
            "Linkers that are ready. Good: the number of replicas. None: no reference is linked; see the workers dashboard.",
            "short",
            Query(f"sum({series('reflink_ready', *_LINKER)})"),
            [(None, RED), (1, GREEN)],
            decimals=0,
        ),
        figure(
            "GPU memory in use",
            "Share of the device memory that linkers use, mostly for vectors of the catalog. No data on a CPU. Good: below "
            "85%. Above: use REFLINK_SEARCH_STREAM, a smaller precision, or a larger GPU before the catalog grows.",
            "percentunit",
            Query(_memory_share("sum")),
            [(None, GREEN), (0.85, YELLOW), (0.95, RED)],
        ),
        figure(
            "Out of memory",
            "Encoder passes that ran out of memory since the linkers started; each was repeated in halves. Good: 0. Growing: "
            "another process uses the device, or the catalog has grown; see the memory.",
            "short",
            Query(f"sum({series('reflink_encoder_out_of_memory_total', *_LINKER)})"),
            [(None, GREEN), (1, RED)],
            decimals=0,
        ),
        figure(
            "Tokens encoded",
            "Tokens of references per second, without padding. Good: follows the references. Compare it with the figure for "
            "your device in docs/semantic.md.",
            "suffix: /s",
            Query(rate(_TOKENS + "_sum", *_LINKER)),
            [(None, BLUE)],
            decimals=0,
        ),
        figure(
            "Linker at work",
            "Share of the time in which linkers handle batches or follow the catalog. Good: below 80%, which leaves room for "
            "bursts. Near 100% with lag: add linkers. Low with lag: records reach the device too slowly; see Work and wait.",
            "percentunit",
            Query(_busy()),
            [(None, GREEN), (0.8, YELLOW), (0.95, RED)],
            decimals=0,
        ),
        figure(
            "Tokens in a batch",
            "Mean number of tokens in a batch. Good: thousands while there is lag, because devices need large batches. Few "
            "despite lag: another step takes the time of the batch; see Inside handle.",
            "short",
            Query(mean(_TOKENS, *_LINKER)),
            [(None, BLUE)],
            decimals=0,
        ),
    ]


def _device() -> list[Panel]:
    return [
        curves(
            "GPU memory",
            "Memory that each linker uses, and memory of its device; 0 on a CPU. Good: constant, below the total. It grows "
            "with the catalog; a jump is a second process on the device.",
            "bytes",
            [
                Query(series("reflink_gpu_memory_bytes", *_LINKER), "held by {{pod}}"),
                Query(series("reflink_gpu_memory_total_bytes", *_LINKER), "total of {{pod}}"),
            ],
        ),
        curves(
            "Token budget of a pass",
            "Token budget of the encoder: halved when memory runs out, raised later. Good: constant at its setting. Low for "
            "long: passes are too small for the device; free memory.",
            "short",
            [Query(series("reflink_encoder_token_budget", *_LINKER), "{{pod}}")],
        ),
        curves(
            "Passes out of memory",
            "Passes that ran out of memory since the start of each linker. Good: constant. A single step is a burst; a "
            "staircase needs more memory: see GPU memory in use.",
            "short",
            [Query(series("reflink_encoder_out_of_memory_total", *_LINKER), "{{pod}}")],
        ),
    ]


def _batches() -> list[Panel]:
    speed = f"{rate(_TOKENS + '_sum', *_LINKER, by='pod')} / {rate(_HANDLE, _MODEL, *_LINKER, by='pod')}"
    return [
        spread(
            "Tokens in a batch",
            "Distribution of batch sizes. Good: the dark band is high while there is lag. Low despite lag: see Records in a "
            "batch of the workers dashboard.",
            "short",
            buckets(_TOKENS, *_LINKER),
            decimals=0,
        ),
        curves(
            "Inside handle",
            "Seconds per second by step, all linkers. model runs on the device. Good: model is the largest. verdict or search "
            "above it: the device waits for the CPU, so give the linker more cores.",
            "short",
            [Query(rate(_HANDLE, *_LINKER, by="step"), "{{step}}")],
            stacked="normal",
        ),
        curves(
            "Work and wait",
            "Shares of a linker's time. work: handling and following; model: in the encoder; wait: for the records of a batch. "
            "Good: wait is low while there is lag. High with lag: the broker delivers too slowly for the device. The rest of "
            "the time is idle.",
            "percentunit",
            [
                Query(_busy(), "work"),
                Query(f"{rate(_HANDLE, _MODEL, *_LINKER)} / sum({series('reflink_ready', *_LINKER)})", "model"),
                Query(f"{rate(_STAGE, _WAIT, *_LINKER)} / sum({series('reflink_ready', *_LINKER)})", "wait"),
            ],
        ),
        curves(
            "Tokens per second of model",
            "Tokens per second of encoder time: the speed of the device. Good: the figure for such a device in "
            "docs/semantic.md. Lower: small batches, or a hot or shared device.",
            "suffix: /s",
            [Query(speed, "{{pod}}")],
        ),
        curves(
            "Follow: the catalog's share",
            "Seconds per second that linkers spend on encoding new works. Good: small. High for hours: a large load; make a "
            "snapshot, so that the next start does not repeat it.",
            "short",
            [Query(rate(_STAGE, 'step="follow"', *_LINKER, by="pod"), "{{pod}}")],
        ),
    ]

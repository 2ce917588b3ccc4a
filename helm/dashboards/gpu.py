"""The linker's encoder and its device: memory, passes, tokens, and whether the device works or waits."""

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
    """Its JSON."""
    rows = [Row("Now", _now()), Row("Device", _device()), Row("Batches", _batches())]
    choices = [Choice("pod", series("reflink_ready", 'worker="linker"'))]
    about = "The linkers' encoder: device memory, out of memory, tokens, and where its time goes. On a CPU, memory reads 0."
    return board("gpu", "reflink / GPU and batches", about, rows, choices)


def _busy() -> str:
    """Processes' share of time with work: handling and following come one after the other."""
    working = rate(_STAGE, 'step=~"handle|follow"', *_LINKER)
    return f"{working} / sum({series('reflink_ready', *_LINKER)})"


def _memory_share(labels: str) -> str:
    held, there = series("reflink_gpu_memory_bytes", *_LINKER), series("reflink_gpu_memory_total_bytes", *_LINKER)
    return f"{labels}({held}) / ({labels}({there}) > 0)"


def _now() -> list[Panel]:
    return [
        figure(
            "Linkers ready",
            "Good: as many as there are replicas. None: no reference is linked; see the workers dashboard.",
            "short",
            Query(f"sum({series('reflink_ready', *_LINKER)})"),
            [(None, RED), (1, GREEN)],
            span=4,
            decimals=0,
        ),
        figure(
            "GPU memory in use",
            "Share of the devices' memory that linkers hold, mostly vectors of the catalog. No data on a CPU. Good: under 85%. "
            "Above: use REFLINK_SEARCH_STREAM, a smaller precision, or a larger card before the catalog grows on.",
            "percentunit",
            Query(_memory_share("sum")),
            [(None, GREEN), (0.85, YELLOW), (0.95, RED)],
            span=4,
        ),
        figure(
            "Out of memory",
            "Passes through the encoder that found no memory, since the linkers started; each was tried again in halves. Good: "
            "0. Growing: something else uses the device, or the catalog has grown; see the memory.",
            "short",
            Query(f"sum({series('reflink_encoder_out_of_memory_total', *_LINKER)})"),
            [(None, GREEN), (1, RED)],
            span=4,
            decimals=0,
        ),
        figure(
            "Tokens encoded",
            "Tokens of references a second, padding not counted. Good: it follows the references. Compare with the figure "
            "measured for your device in docs/semantic.md.",
            "suffix: /s",
            Query(rate(_TOKENS + "_sum", *_LINKER)),
            [(None, BLUE)],
            span=4,
            decimals=0,
        ),
        figure(
            "Linker at work",
            "Share of the time that linkers handle batches or follow the catalog. Good: under 80%, as it leaves room for a "
            "burst. Near 100% with lag: add linkers. Low with lag: see Wait, the device is starved.",
            "percentunit",
            Query(_busy()),
            [(None, GREEN), (0.8, YELLOW), (0.95, RED)],
            span=4,
            decimals=0,
        ),
        figure(
            "Tokens in a batch",
            "Mean of the window. Good: thousands while there is lag: devices like large batches. Few in spite of lag: the time "
            "of a batch is spent elsewhere, see Inside handle.",
            "short",
            Query(mean(_TOKENS, *_LINKER)),
            [(None, BLUE)],
            span=4,
            decimals=0,
        ),
    ]


def _device() -> list[Panel]:
    return [
        curves(
            "GPU memory",
            "What each linker holds of its device, and what there is; 0 on a CPU. Good: steady, below the total. It grows with "
            "the catalog; a jump is a second process on the device.",
            "bytes",
            [
                Query(series("reflink_gpu_memory_bytes", *_LINKER), "held by {{pod}}"),
                Query(series("reflink_gpu_memory_total_bytes", *_LINKER), "total of {{pod}}"),
            ],
        ),
        curves(
            "Tokens in one pass, at most",
            "The encoder's budget: halved when memory runs out, grown back later. Good: flat at its setting. Low for long: "
            "passes are too small to fill the device; make room in memory.",
            "short",
            [Query(series("reflink_encoder_token_budget", *_LINKER), "{{pod}}")],
        ),
        curves(
            "Passes without memory",
            "Counted since the start of each linker. Good: flat. A step is a burst that was survived; a staircase needs "
            "memory: see GPU memory in use.",
            "short",
            [Query(series("reflink_encoder_out_of_memory_total", *_LINKER), "{{pod}}")],
        ),
    ]


def _batches() -> list[Panel]:
    return [
        spread(
            "Tokens in a batch",
            "How batches are spread over sizes. Good: the dark band lies high while there is lag. Low in spite of lag: see "
            "Records in a batch of the workers dashboard.",
            "short",
            buckets(_TOKENS, *_LINKER),
            decimals=0,
        ),
        curves(
            "Inside handle",
            "Seconds a second by what was done, all linkers. model is the device's. Good: model is the largest. verdict or "
            "search above it: the device waits for the processor, so give the linker more cores.",
            "short",
            [Query(rate(_HANDLE, *_LINKER, by="step"), "{{step}}")],
            stacked="normal",
        ),
        curves(
            "Work and wait",
            "Shares of a linker's time. work: handling and following; model: in the encoder; wait: for the records of a batch. "
            "Good: wait low while there is lag. High with lag: reading from the broker is too slow for the device. What is "
            "neither work nor wait is idle.",
            "percentunit",
            [
                Query(_busy(), "work"),
                Query(f"{rate(_HANDLE, _MODEL, *_LINKER)} / sum({series('reflink_ready', *_LINKER)})", "model"),
                Query(f"{rate(_STAGE, _WAIT, *_LINKER)} / sum({series('reflink_ready', *_LINKER)})", "wait"),
            ],
        ),
        curves(
            "Tokens a second of model",
            "Tokens encoded for each second in the encoder: the device's own speed. Good: what docs/semantic.md measured on "
            "such a device. Less: small batches, a hot or shared device.",
            "suffix: /s",
            [
                Query(
                    f"{rate(_TOKENS + '_sum', *_LINKER, by='pod')} / {rate(_HANDLE, _MODEL, *_LINKER, by='pod')}",
                    "{{pod}}",
                )
            ],
            span=12,
        ),
        curves(
            "Follow: the catalog's share",
            "Seconds a second that linkers encode new works instead of references. Good: small. High for hours: a large load "
            "into the catalog; make a snapshot, so that the next start is spared it.",
            "short",
            [Query(rate(_STAGE, 'step="follow"', *_LINKER, by="pod"), "{{pod}}")],
            span=12,
        ),
    ]

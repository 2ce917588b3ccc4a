"""The precision for references: on a CPU the faster of fp32 and bf16, by a short measurement that is kept in a file.

Instructions for bf16 do not tell: on some CPUs they double the speed of the encoder, on others they halve it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import numpy as np
import torch

from reflink.semantic.encoder.bert import Bert
from reflink.semantic.encoder.bert_files import shapes
from reflink.semantic.encoder.model import Pooling
from reflink.semantic.encoder.passes import single_threaded
from reflink.semantic.encoder.precision import Precision
from reflink.storage import durable

log = logging.getLogger(__name__)

#: Minimum speed of bf16, as a multiple of fp32, for which it is chosen: close references are encoded again in fp32.
GAIN: Final = 1.2

#: Number of texts of the measurement, and tokens of each.
_TEXTS: Final = 8
_TOKENS: Final = 32
#: Maximum rounds, and the processor time in seconds after which no further round begins.
_ROUNDS: Final = 9
_SECONDS: Final = 1.0


def choose_query_precision(device: str, precision: Precision, file: Path | None = None) -> Precision:
    """Return the precision for references: that of the works, or instead of fp32 a faster one.

    On a GPU it is fp16, on a CPU bf16 where that is faster.

    A reference is encoded each time, a work once, so speed matters here. docs/semantic.md has the effect on the results.
    ``file``: results of measurements, by machine; None for ``default_file()``. The first call on a machine measures, in about a
    second, and saves the result. If the file cannot be written, every process measures.
    """
    if precision != "fp32":
        return precision
    if device.startswith("cuda"):
        return "fp16"
    if not device.startswith("cpu"):
        return precision
    file, name = file or default_file(), machine()
    rates = _saved(file).get(name)
    if rates is None:
        rates = measure()
        log.info("measured the encoder", extra={"machine": name, "tokens_per_s": rates})
        _save(file, name, rates)
    return "bf16" if rates["bf16"] >= GAIN * rates["fp32"] else "fp32"


def default_file() -> Path:
    """Return the file of results in the user's cache folder: XDG_CACHE_HOME, by default ``~/.cache``.

    For a user without a home, which containers may have, it is a file that cannot be written.
    """
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(folder if Path(folder).is_absolute() else os.devnull) / "reflink" / "encoder.json"


def machine() -> str:
    """Return the name under which results are kept: the processor, its instructions, and the version of torch."""
    facts: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines():
            name, _, value = line.partition(":")
            facts[name.strip()] = value.strip()
    # A hypervisor may give different processors the same name and hide some instructions.
    kind = "/".join(facts.get(name, "") for name in ("cpu family", "model", "stepping"))
    flags = hashlib.sha256(facts.get("flags", "").encode()).hexdigest()[:8]
    return f"{facts.get('model name') or platform.machine()} {kind} {flags}, torch {torch.__version__}"


def measure() -> dict[str, float]:
    """Return the tokens per second of processor time of a small model in fp32 and bf16, on one thread."""
    config = SimpleNamespace(
        vocab_size=_TOKENS, hidden_size=384, num_hidden_layers=2, num_attention_heads=12, intermediate_size=1536,
        max_position_embeddings=_TOKENS, type_vocab_size=2, layer_norm_eps=1e-12,
    )  # fmt: skip
    random = torch.Generator().manual_seed(0)
    weights = {name: torch.randn(shape, generator=random) / 50 for name, shape in shapes(config)}
    transformer = SimpleNamespace(config=config, state_dict=lambda: weights)
    precisions: tuple[Precision, ...] = ("fp32", "bf16")
    models = {precision: Bert(transformer, Pooling("mean", None), "cpu", precision) for precision in precisions}
    with single_threaded(1) as pool:
        return pool.submit(_rates, models).result()


def _rates(models: Mapping[Precision, Bert]) -> dict[str, float]:
    ids, lengths = np.tile(np.arange(_TOKENS), _TEXTS), np.full(_TEXTS, _TOKENS)
    taken: dict[Precision, list[float]] = {precision: [] for precision in models}
    began = time.thread_time()
    with torch.inference_mode():
        # In turns, because other load changes the speed. The first round compiles kernels and does not count, unless it is all.
        for number in range(_ROUNDS + 1):
            for precision, model in models.items():
                start = time.thread_time()
                model(ids, lengths)
                taken[precision].append(time.thread_time() - start)
            if number and time.thread_time() - began > _SECONDS:
                break
    return {precision: len(ids) / min(seconds[1:]) for precision, seconds in taken.items()}


def _saved(file: Path) -> dict[str, dict[str, float]]:
    """Return the usable results in the file."""
    try:
        results = json.loads(file.read_bytes())
        return {
            str(name): {precision: float(rates[precision]) for precision in ("fp32", "bf16")} for name, rates in results.items()
        }
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


def _save(file: Path, name: str, rates: dict[str, float]) -> None:
    """Add a result to the file. Of two processes that save at the same time one result may be lost and is measured again."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps({**_saved(file), name: {precision: round(rate) for precision, rate in rates.items()}}, indent=1)
        durable.write(file, content.encode() + b"\n", file.with_name(f"{file.name}.{os.getpid()}"))

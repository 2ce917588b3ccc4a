"""The device and the arithmetic that an encoder works with, and what each means for its vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import torch

Precision = Literal["fp32", "bf16", "fp16"]

DTYPES: Final[dict[Precision, torch.dtype]] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def choose_device(device: str) -> str:
    """``auto`` is the first CUDA device where there is one, else the CPU; anything else is taken as torch does."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def choose_precision(device: str) -> Precision:
    """The fastest that keeps the order of candidates: fp16 on CUDA, bf16 on CPUs that compute in it, else fp32."""
    if device.startswith("cuda"):
        return "fp16"
    # torch tells only by functions that may go; without them fp32 is slower, never wrong.
    probes: list[Callable[[], bool] | None] = [
        getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    ]
    return "bf16" if device.startswith("cpu") and any(probe is not None and probe() for probe in probes) else "fp32"

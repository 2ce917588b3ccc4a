"""The device and the arithmetic that an encoder works with, and what each means for its vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import torch

from reflink.errors import DeviceMissing

Precision = Literal["fp32", "bf16", "fp16"]

DTYPES: Final[dict[Precision, torch.dtype]] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def choose_device(device: str) -> str:
    """``auto`` is the first CUDA device where there is one, else the CPU; anything else is taken as torch does.

    Raises DeviceMissing for a CUDA device that is not here.
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and (torch.device(device).index or 0) >= (count := torch.cuda.device_count()):
        raise DeviceMissing(f"{device} is not here, which has {count} GPUs")
    return device


def choose_precision(device: str) -> Precision:
    """That of works, which a catalog is made of: fp16 on CUDA, else fp32, so that a catalog is as good as it can be."""
    return "fp16" if device.startswith("cuda") else "fp32"


def choose_query_precision(device: str, precision: Precision) -> Precision:
    """That of references beside works of ``precision``: bf16 beside fp32 on CPUs that compute in it, else the works' own.

    A reference is encoded each time, a work once: there speed counts, and docs/semantic.md has what it costs in answers.
    """
    return "bf16" if precision == "fp32" and device.startswith("cpu") and _computes_bf16() else precision


def _computes_bf16() -> bool:
    # torch tells only by functions that may go; without them fp32 is slower, never wrong.
    probes: list[Callable[[], bool] | None] = [
        getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    ]
    return any(probe is not None and probe() for probe in probes)

"""The choice of the device and the precision of an encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import torch

from reflink.errors import DeviceMissing

Precision = Literal["fp32", "bf16", "fp16"]

DTYPES: Final[dict[Precision, torch.dtype]] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def choose_device(device: str) -> str:
    """Return the torch device: for ``auto`` the first CUDA device if there is one, else the CPU; any other name unchanged.

    Raises DeviceMissing for a CUDA device that the machine does not have.
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and (torch.device(device).index or 0) >= (count := torch.cuda.device_count()):
        raise DeviceMissing(f"{device} is not here, which has {count} GPUs")
    return device


def choose_precision(device: str) -> Precision:
    """Return the precision for works, and so for a catalog: fp16 on CUDA, else fp32, for the best accuracy."""
    return "fp16" if device.startswith("cuda") else "fp32"


def choose_query_precision(device: str, precision: Precision) -> Precision:
    """Return the precision for references: bf16 if works have fp32 on a CPU with bf16 instructions, else that of the works.

    A reference is encoded each time, a work once, so speed matters here. docs/semantic.md has the effect on the results.
    """
    return "bf16" if precision == "fp32" and device.startswith("cpu") and _computes_bf16() else precision


def _computes_bf16() -> bool:
    # Private functions of torch, which may be removed. Without them the encoder uses fp32: slower, but correct.
    probes: list[Callable[[], bool] | None] = [
        getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    ]
    return any(probe is not None and probe() for probe in probes)

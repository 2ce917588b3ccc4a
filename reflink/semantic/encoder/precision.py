"""The choice of the device and the precision of an encoder; ``query_precision`` chooses that of references."""

from __future__ import annotations

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

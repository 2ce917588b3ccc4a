"""Matrices of weights, brought once into the form in which they multiply fastest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

Linear = Callable[[Tensor], Tensor]

#: Rows that oneDNN lays the weights out for. Other numbers run as well.
_ROWS: Final = 1024


def linear(weight: Tensor, bias: Tensor, *, gelu: bool = False) -> Linear:
    """``x`` → ``x @ weight.T + bias``, then GELU if wanted; ``x`` is of the weight's type and on its device.

    On a CPU oneDNN keeps the weights as its kernels read them, instead of laying them out anew for each product, and applies
    bias and GELU before rounding.
    """
    weight, bias = weight.contiguous(), bias.contiguous()
    packed = _packed(weight, bias, gelu) if weight.device.type == "cpu" else None
    if packed is not None:
        return packed
    if gelu:
        return lambda x: functional.gelu(functional.linear(x, weight, bias))
    return lambda x: functional.linear(x, weight, bias)


def _packed(weight: Tensor, bias: Tensor, gelu: bool) -> Linear | None:
    """The same by oneDNN; None where this torch or this processor has no such operation."""
    after = "gelu" if gelu else "none"
    try:
        # What torch's own compiler emits; not promised to stay, hence the probe.
        operators: Any = torch.ops.mkldnn
        multiply = operators._linear_pointwise
        packed = operators._reorder_linear_weight(weight, _ROWS)
        multiply(torch.zeros(2, weight.shape[1], dtype=weight.dtype), packed, bias, after, [], "none")
    except (AttributeError, RuntimeError, TypeError):
        return None
    return lambda x: multiply(x, packed, bias, after, [], "none")

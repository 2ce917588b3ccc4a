"""Linear layers whose weights are converted once into the layout that multiplies fastest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

Linear = Callable[[Tensor], Tensor]

#: Number of rows for which oneDNN optimises the weight layout. Inputs of other sizes work too.
_ROWS: Final = 1024


def linear(weight: Tensor, bias: Tensor, *, gelu: bool = False) -> Linear:
    """Return the function ``x`` → ``x @ weight.T + bias``, then GELU if ``gelu``; ``x`` has the weight's type and device.

    On a CPU oneDNN packs the weights once in the layout of its kernels, instead of once per product, and applies bias and GELU
    before rounding.
    """
    weight, bias = weight.contiguous(), bias.contiguous()
    packed = _packed(weight, bias, gelu) if weight.device.type == "cpu" else None
    if packed is not None:
        return packed
    if gelu:
        return lambda x: functional.gelu(functional.linear(x, weight, bias))
    return lambda x: functional.linear(x, weight, bias)


def _packed(weight: Tensor, bias: Tensor, gelu: bool) -> Linear | None:
    """Return the same function by oneDNN, None if this torch or processor does not support it."""
    after = "gelu" if gelu else "none"
    try:
        # The operators that torch's own compiler emits. They are not a stable interface, hence the probe.
        operators: Any = torch.ops.mkldnn
        multiply = operators._linear_pointwise
        packed = operators._reorder_linear_weight(weight, _ROWS)
        multiply(torch.zeros(2, weight.shape[1], dtype=weight.dtype), packed, bias, after, [], "none")
    except (AttributeError, RuntimeError, TypeError):
        return None
    return lambda x: multiply(x, packed, bias, after, [], "none")

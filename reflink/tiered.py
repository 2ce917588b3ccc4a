"""Kernels that run as plain Python at first, and are compiled once they have taken longer than their budget.

Compiling the scanner takes half a minute of processor time, reading the references of one article in plain Python a fraction
of a second. Only a process that called ``run_plain_first`` does this, as the command ``reflink`` does; workers compile at their
start. A kernel whose machine code is in the cache never runs as plain Python.
"""

from __future__ import annotations

import time
from types import FunctionType
from typing import Any

_plain_first = False
#: Longest array with which a kernel runs as plain Python: at about 100,000 bytes a second it stays near its budget.
LONGEST = 150_000


def run_plain_first() -> None:
    """Run kernels of this process as plain Python for their budget before they are compiled."""
    global _plain_first  # a setting of the process
    _plain_first = True


class Tiered:
    """A kernel with its plain function. Other kernels cannot call it."""

    def __init__(self, kernel: Any, budget_s: float) -> None:
        #: The compiled kernel, a Dispatcher of numba.
        self.kernel = kernel
        self._left = budget_s
        self._plain: Any = None

    def __call__(self, *args: Any) -> Any:
        """Call the compiled kernel, or the plain function if compiling is due, budget is left and no array is long."""
        if not _plain_first or self._left <= 0 or any(getattr(arg, "size", 0) > LONGEST for arg in args):
            return self.kernel(*args)
        if self._plain is None:
            if self.kernel.signatures or self._is_cached(args):
                self._left = 0
                return self.kernel(*args)
            self._plain = plain(self.kernel.py_func)
        import numpy as np  # imported already by then; not at the top, since every command imports this module

        began = time.perf_counter()
        with np.errstate(over="ignore"):  # hashes overflow, as in the compiled kernel
            result = self._plain(*args)
        self._left -= time.perf_counter() - began
        return result

    def _is_cached(self, args: tuple[Any, ...]) -> bool:
        types = tuple(map(self.kernel.typeof_pyval, args))
        return self.kernel._cache.load_overload(types, self.kernel.targetctx) is not None


def plain(function: FunctionType, made: dict[FunctionType, FunctionType] | None = None) -> FunctionType:
    """Return the function with plain functions in place of the kernels that it calls by name. ``made``: those that exist."""
    from numba.core.dispatcher import Dispatcher

    made = {} if made is None else made
    if function not in made:
        names = dict(function.__globals__)
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
        made[function] = copy
        for name in function.__code__.co_names:
            if isinstance(kernel := names.get(name), Dispatcher):
                names[name] = plain(kernel.py_func, made)
    return made[function]

"""Kernels that run as plain Python at first, and are compiled once they have taken longer than their budget.

Compiling scanner and comparison takes 40 s of processor time, reading and comparing the references of one article in plain
Python about one. Only a process that called ``run_plain_first`` does this, as the command ``reflink`` does; workers compile at
the first call. A kernel whose machine code is in the cache never runs as plain Python.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

_plain_first = False


class Plain(NamedTuple):
    """Limits of a kernel as plain Python.

    ``seconds``: in all, after which it is compiled; the call that exceeds them ends first. ``longest``: size of the first
    argument, or of the first array in that, so that no call takes much longer.
    """

    seconds: float
    longest: int


def run_plain_first() -> None:
    """Run kernels of this process as plain Python for their budget before they are compiled."""
    global _plain_first  # a setting of the process
    _plain_first = True


class Tiered:
    """A kernel with its plain function. Other kernels cannot call it."""

    def __init__(self, kernel: Any, limits: Plain) -> None:
        #: The compiled kernel, a Dispatcher of numba.
        self.kernel = kernel
        self._left, self._longest = limits
        self._plain: Any = None

    def __call__(self, *args: Any) -> Any:
        """Call the compiled kernel, or the plain function if compiling is due and the call is within its limits."""
        first = args[0][0] if isinstance(args[0], tuple) else args[0]
        if not _plain_first or self._left <= 0 or first.size > self._longest:
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
    """Return the function with plain functions in place of the kernels that it calls. ``made``: those that exist."""
    made = {} if made is None else made
    if function not in made:
        names = dict(function.__globals__)
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
        made[function] = copy
        used = [name for code in codes(function.__code__) for name in code.co_names]
        for name in used:
            if (value := names.get(name)) is None:
                continue
            if isinstance(value, ModuleType):  # co_names also holds the names of its attributes
                own = {each: _plain_of(getattr(value, each), made) for each in used if hasattr(value, each)}
                names[name] = SimpleNamespace(**own)
            else:
                names[name] = _plain_of(value, made)
    return made[function]


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code and those of the functions and comprehensions within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


def _plain_of(value: Any, made: dict[FunctionType, FunctionType]) -> Any:
    from numba.core.dispatcher import Dispatcher

    return plain(value.py_func, made) if isinstance(value, Dispatcher) else value

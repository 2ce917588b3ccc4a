"""Count for 512 texts at once how many of the given bitmaps contain each text, and compare the counts with a minimum.

In this module a *row* is a bitmap: a matrix row with one bit per text. A vector is 512 bits of a row, in 8 lanes of 64 bits.

The counts are *vertical* (bit-sliced): plane p is a vector that holds bit p of all 512 counts. A carry-save adder replaces
three vectors of weight 2^p by two: their sum ``x ^ y ^ z`` of weight 2^p, and their carry ``majority(x, y, z)`` of weight
2^(p+1). The loop adds 16 rows per iteration. Invariant: after each iteration the planes hold the counts of all rows read so
far, modulo 2^planes.

Cost of a row: one load and about three logical operations for 512 texts.

numba has no type for a vector, so the code emits LLVM IR; LLVM maps its vectors to registers of the processor's width.
``count_rows_plain`` defines the same function in numpy. How to read the code that emits:

- The Python functions run once, when numba compiles a caller. A call of ``builder`` appends an instruction and returns a handle
  of its result. Python's loops and ``if`` therefore unroll and select code; nothing of them remains at run time.
- Instructions form *basic blocks*, which end with a jump. Only the block "rows" is a loop at run time:

      before:   planes = 0                             if begin >= end: go to counted
      rows:     add 16 rows to the planes              while there are more rows: go to rows
      counted:  out[at:at + 8] = planes >= floor

- IR is in SSA form: a value is assigned once. A variable that changes in a loop is a *phi* at the start of a block; it selects
  its value by the block that control came from, one ``add_incoming`` per source. So each plane has two phis: one in "rows" and
  one in "counted", both 0 from "before" and the sum from "rows".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

#: Number of uint64 words in a vector.
LANES: Final = 8
#: Rows added per iteration. The number of rows must be a multiple of it.
ROWS: Final = 16

_I64: Final = ir.IntType(64)
_VECTOR: Final = ir.VectorType(_I64, LANES)
_I32: Final = ir.IntType(32)
_BYTES: Final = ir.IntType(8).as_pointer()
_PREFETCH: Final = ir.FunctionType(ir.VoidType(), [_BYTES, _I32, _I32, _I32])
#: Operands of llvm.prefetch: read, locality 2 (into the L2 cache), data cache. The bitmaps of a later block do not fit L1, and
#: a processor waits for fewer lines at once on the way to L1.
_READ_SOON: Final = [ir.Constant(_I32, value) for value in (0, 2, 1)]
_FOLDED: Final = 4  # planes that the adders of sixteen rows reach: 16 = 2**4; the carry goes to the next plane
_ZERO: Final = ir.Constant(_VECTOR, [0] * LANES)
_ONES: Final = ir.Constant(_VECTOR, [2**64 - 1] * LANES)


def _constant(value: int) -> Any:
    return ir.Constant(_I64, value)


def _majority(builder: Any, x: Any, y: Any, z: Any) -> Any:
    return builder.or_(builder.and_(x, y), builder.and_(builder.or_(x, y), z))


def _load(builder: Any, words: Any, place: Any) -> Any:
    """Emit the load of the vector at ``words[place]``."""
    loaded = builder.load(builder.bitcast(builder.gep(words, [place]), _VECTOR.as_pointer()))
    loaded.align = 8
    return loaded


def _prefetch(builder: Any, words: Any, place: Any) -> None:
    """Emit the prefetch of the cache line of ``words[place]``."""
    function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], _PREFETCH)
    builder.call(function, [builder.bitcast(builder.gep(words, [place]), _BYTES), *_READ_SOON])


def _phi(builder: Any, *sources: tuple[Any, Any]) -> Any:
    """Emit the plane that has, coming from each block, the given vector: ``sources`` are pairs (vector, block)."""
    plane = builder.phi(_VECTOR)
    for source in sources:
        plane.add_incoming(*source)
    return plane


def _add_rows(builder: Any, rows: list[Any], planes: list[Any]) -> list[Any]:
    """Emit the addition of sixteen rows to the planes; return the new planes.

    ``level`` holds the vectors of the current weight: 16 rows for plane 0, then 8, 4 and 2 carries. Each adder takes three
    vectors and puts one sum back, until two are left. These two and the plane are the input of the last adder. The carry of
    weight 16 goes through the other planes.
    """
    new, level = [], rows
    for plane in planes[:_FOLDED]:
        carries = []
        while len(level) > 2:
            x, y, z, *rest = level
            carries.append(_majority(builder, x, y, z))
            level = [*rest, builder.xor(builder.xor(x, y), z)]
        # The plane enters only the last adder, so each plane's dependency on the iteration before is one adder long.
        x, y = level
        carries.append(_majority(builder, x, y, plane))
        new.append(builder.xor(builder.xor(x, y), plane))
        level = carries
    (carry,) = level
    for plane in planes[_FOLDED:]:
        new.append(builder.xor(plane, carry))
        carry = builder.and_(plane, carry)
    return new


def _at_least(builder: Any, planes: list[Any], floor: Any) -> Any:
    """Emit the comparison of all 512 counts with ``floor``; return the mask of the counts that are not below it.

    It goes from the lowest bit up. Before the first bit, count and ``floor`` are equal, so the mask is all ones. If the bit c
    of the count equals the bit l of ``floor``, the mask stays; otherwise it becomes c. Both cases are majority(c, mask, not l).
    """
    mask = _ONES
    for number, plane in enumerate(planes):
        bit = builder.and_(builder.lshr(floor, _constant(number)), _constant(1))
        unset = builder.sub(bit, _constant(1))  # "not l" in 64 bits
        spread = ir.Constant(_VECTOR, ir.Undefined)  # and in all lanes
        for lane in range(LANES):
            spread = builder.insert_element(spread, unset, ir.Constant(_I32, lane))
        mask = _majority(builder, plane, mask, spread)
    return mask


def _is_any_set(builder: Any, mask: Any) -> Any:
    """Emit the test whether any bit of the vector is set."""
    found = builder.extract_element(mask, ir.Constant(_I32, 0))
    for lane in range(1, LANES):
        found = builder.or_(found, builder.extract_element(mask, ir.Constant(_I32, lane)))
    return builder.icmp_unsigned("!=", found, _constant(0))


def _counter(planes: int) -> Any:
    """Return the intrinsic that counts up to 2**planes - 1 rows."""

    @intrinsic  # type: ignore[untyped-decorator]
    def count_rows(
        _: Any,
        bits: Any,
        base: Any,
        stride: Any,
        rows: Any,
        begin: Any,
        end: Any,
        floor: Any,
        out: Any,
        at: Any,
        ahead: Any,
    ) -> Any:
        # ``bits``: uint64, flat. For each row r in ``rows[begin:end]`` the eight words from base + r * stride on are read.
        # ``out[at:at + 8]`` receives the bit mask of the texts that at least ``floor`` rows contain, 1 <= floor < 2**planes.
        # Returns whether any bit of the mask is set. ``ahead``: distance, in words, to the words of the same rows that the
        # next call reads; they are prefetched.
        signature = types.boolean(bits, base, stride, rows, begin, end, floor, out, at, ahead)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            def data(position: int) -> Any:
                return context.make_array(signature.args[position])(context, builder, values[position]).data

            source, numbers, target = data(0), data(3), data(7)
            _, base, stride, _, begin, end, floor, _, at, ahead = values
            before = builder.block
            body, after = builder.append_basic_block("rows"), builder.append_basic_block("counted")
            builder.cbranch(builder.icmp_signed("<", begin, end), body, after)

            builder.position_at_end(body)
            position = builder.phi(_I64)
            counts = [_phi(builder, (_ZERO, before)) for _ in range(planes)]
            loaded = []
            for step in range(ROWS):
                row = builder.load(builder.gep(numbers, [builder.add(position, _constant(step))]))
                place = builder.add(base, builder.mul(builder.sext(row, _I64), stride))
                loaded.append(_load(builder, source, place))
                _prefetch(builder, source, builder.add(place, ahead))
            sums = _add_rows(builder, loaded, counts)
            following = builder.add(position, _constant(ROWS))
            builder.cbranch(builder.icmp_signed("<", following, end), body, after)
            # The phis' second sources: the body above computes them.
            position.add_incoming(begin, before)
            position.add_incoming(following, body)
            for count, sum_ in zip(counts, sums, strict=True):
                count.add_incoming(sum_, body)

            builder.position_at_end(after)
            mask = _at_least(builder, [_phi(builder, (_ZERO, before), (sum_, body)) for sum_ in sums], floor)
            stored = builder.store(mask, builder.bitcast(builder.gep(target, [at]), _VECTOR.as_pointer()))
            stored.align = 8
            return _is_any_set(builder, mask)

        return signature, generate

    return count_rows


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of ``array[index]`` for reading. Any index is safe: a prefetch never faults."""
    signature = types.void(array, index)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        index = builder.zext(values[1], _I64) if values[1].type.width < 64 else values[1]
        _prefetch(builder, data, index)
        return context.get_dummy_value()

    return signature, generate


#: The intrinsics for counts below 256 and below 65,536.
count_rows: Final = _counter(8)
count_many_rows: Final = _counter(16)


def count_rows_plain(bits: npt.NDArray[np.uint64], rows: npt.NDArray[np.integer[Any]], floor: int) -> npt.NDArray[np.bool_]:
    """Return which columns of ``bits`` [number of rows, words] are set in at least ``floor`` of ``rows``: bool [words * 64]."""
    columns = np.unpackbits(np.ascontiguousarray(bits[rows]).view(np.uint8), axis=1, bitorder="little")
    enough: npt.NDArray[np.bool_] = columns.sum(axis=0, dtype=np.int64) >= floor
    return enough

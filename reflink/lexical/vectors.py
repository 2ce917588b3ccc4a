"""How many of some bitmaps hold each of 512 texts: counted in all of them at once, a bit of the count in each register.

The counts are *vertical*: plane p of the counter holds bit p of 512 counts. Sixteen rows at a time are folded into the
planes by carry-save adders (three bits of a weight become one of it and one of the next), so a row costs a load and about
three logical operations. It is written as LLVM's own vectors of 512 bits, which LLVM gives every processor in registers
of its width; ``count_rows_plain`` says the same in numpy.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

#: uint64 words of a vector.
LANES: Final = 8
#: Rows that are added at a time: the number of rows must be a multiple of it.
ROWS: Final = 16

_I64: Final = ir.IntType(64)
_VECTOR: Final = ir.VectorType(_I64, LANES)
_I32: Final = ir.IntType(32)
_BYTES: Final = ir.IntType(8).as_pointer()
_PREFETCH: Final = ir.FunctionType(ir.VoidType(), [_BYTES, _I32, _I32, _I32])
_READ_SOON: Final = [ir.Constant(_I32, value) for value in (0, 3, 1)]  # to read, to be kept, data
_FOLDED: Final = 4  # planes that sixteen rows are folded into; the carry goes to the next one


def _constant(value: int) -> Any:
    return ir.Constant(_I64, value)


def _majority(builder: Any, x: Any, y: Any, z: Any) -> Any:
    return builder.or_(builder.and_(x, y), builder.and_(builder.or_(x, y), z))


def _folded(builder: Any, rows: list[Any], planes: list[Any]) -> tuple[Any, list[Any]]:
    """The carry out of the first four planes, and those after sixteen rows were added to them."""
    new, level = [], rows
    for plane in planes:
        carries = []
        while len(level) > 2:
            x, y, z, *rest = level
            carries.append(_majority(builder, x, y, z))
            level = [*rest, builder.xor(builder.xor(x, y), z)]
        # The plane itself comes last: the next sixteen rows wait for one addition only.
        x, y = level
        carries.append(_majority(builder, x, y, plane))
        new.append(builder.xor(builder.xor(x, y), plane))
        level = carries
    return level[0], new


def _counter(planes: int) -> Any:
    """The intrinsic for counts below 2**planes."""

    @intrinsic  # type: ignore[untyped-decorator]
    def count_rows(
        _: Any, bits: Any, base: Any, stride: Any, rows: Any, begin: Any, end: Any, least: Any, out: Any, at: Any, ahead: Any
    ) -> Any:
        # ``bits``: uint64, flat; eight words are read of each row r in ``rows[begin:end]``, from base + r * stride on.
        # ``out[at:at + 8]`` gets the texts that at least ``least`` of the rows hold, 1 <= least < 2**planes; returned is
        # whether there are any. ``ahead``: distance of the words that will be read next of the same rows.
        signature = types.boolean(bits, base, stride, rows, begin, end, least, out, at, ahead)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            def data(position: int) -> Any:
                return context.make_array(signature.args[position])(context, builder, values[position]).data

            source, numbers, target = data(0), data(3), data(7)
            _, base, stride, _, begin, end, least, _, at, ahead = values
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], _PREFETCH)
            zero, ones = ir.Constant(_VECTOR, [0] * LANES), ir.Constant(_VECTOR, [2**64 - 1] * LANES)

            def vector(pointer: Any) -> Any:
                loaded = builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()))
                loaded.align = 8
                return loaded

            before = builder.block
            body, after = builder.append_basic_block("rows"), builder.append_basic_block("counted")
            builder.cbranch(builder.icmp_signed("<", begin, end), body, after)

            builder.position_at_end(body)
            position = builder.phi(_I64)
            counts = [builder.phi(_VECTOR) for _ in range(planes)]
            loaded = []
            for step in range(ROWS):
                row = builder.load(builder.gep(numbers, [builder.add(position, _constant(step))]))
                place = builder.add(base, builder.mul(builder.sext(row, _I64), stride))
                loaded.append(vector(builder.gep(source, [place])))
                builder.call(prefetch, [builder.bitcast(builder.gep(source, [builder.add(place, ahead)]), _BYTES), *_READ_SOON])
            carry, new = _folded(builder, loaded, counts[:_FOLDED])
            for plane in counts[_FOLDED:]:
                new.append(builder.xor(plane, carry))
                carry = builder.and_(plane, carry)
            following = builder.add(position, _constant(ROWS))
            builder.cbranch(builder.icmp_signed("<", following, end), body, after)
            position.add_incoming(begin, before)
            position.add_incoming(following, body)
            for count, value in zip(counts, new, strict=True):
                count.add_incoming(zero, before)
                count.add_incoming(value, body)

            builder.position_at_end(after)
            results = []
            for value in new:
                result = builder.phi(_VECTOR)
                result.add_incoming(zero, before)
                result.add_incoming(value, body)
                results.append(result)
            # From the lowest bit up: greater or equal so far, or decided by this one, a bit of ``least`` spread over a vector.
            enough = ones
            for plane, result in enumerate(results):
                bit = builder.and_(builder.lshr(least, _constant(plane)), _constant(1))
                unset = builder.sub(bit, _constant(1))
                spread = ir.Constant(_VECTOR, ir.Undefined)
                for lane in range(LANES):
                    spread = builder.insert_element(spread, unset, ir.Constant(_I32, lane))
                enough = _majority(builder, result, enough, spread)
            stored = builder.store(enough, builder.bitcast(builder.gep(target, [at]), _VECTOR.as_pointer()))
            stored.align = 8
            found = builder.extract_element(enough, ir.Constant(_I32, 0))
            for lane in range(1, LANES):
                found = builder.or_(found, builder.extract_element(enough, ir.Constant(_I32, lane)))
            return builder.icmp_unsigned("!=", found, _constant(0))

        return signature, generate

    return count_rows


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_: Any, array: Any, index: Any) -> Any:
    """Has the cache line of ``array[index]`` brought, to be read soon. Never fails, whatever the index."""
    signature = types.void(array, index)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        index = builder.zext(values[1], _I64) if values[1].type.width < 64 else values[1]
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], _PREFETCH)
        builder.call(fetch, [builder.bitcast(builder.gep(data, [index]), _BYTES), *_READ_SOON])
        return context.get_dummy_value()

    return signature, generate


#: Counts below 256, and below 65,536.
count_rows: Final = _counter(8)
count_many_rows: Final = _counter(16)


def count_rows_plain(bits: npt.NDArray[np.uint64], rows: npt.NDArray[np.integer[Any]], least: int) -> npt.NDArray[np.bool_]:
    """Which columns of ``bits`` [number of rows, words] are set in at least ``least`` of ``rows``: bool [words * 64]."""
    columns = np.unpackbits(np.ascontiguousarray(bits[rows]).view(np.uint8), axis=1, bitorder="little")
    enough: npt.NDArray[np.bool_] = columns.sum(axis=0, dtype=np.int64) >= least
    return enough

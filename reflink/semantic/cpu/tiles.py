"""The inner loop of the search as LLVM IR for numba: multiply a tile of rows and queries in vector registers.

A loop written in numba keeps four sums at a time. A processor that starts two fused multiply-adds and two loads per cycle, with
a latency of four cycles, needs more independent sums per loaded value. A tile of r rows and q queries has r * q sums
and loads r + q registers per step; its shape is chosen so that all of them fit the registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


class Shape(NamedTuple):
    """Shape of a tile: float32 values per register, rows and queries."""

    lanes: int
    rows: int
    queries: int


def shape_of(features: Any) -> Shape:
    """Return the tile that fits a processor with these features (name to bool): 32 registers of 512 bits, else 16 of 256."""
    return Shape(16, 4, 6) if features.get("avx512f") else Shape(8, 2, 4)


#: The shape for this processor.
HOST: Final = shape_of(llvmlite.binding.get_host_cpu_features())


def tile(shape: Shape, queries: int) -> Any:
    """Return a function for numba code: ``f(block, row, queries, query, scores, column)``.

    It writes ``scores[j, column + i] = queries[query + j] · block[row + i]`` for ``i < shape.rows`` and ``j < queries``;
    ``queries`` is at most ``shape.queries``. ``block``: fp16 rows as their bits, uint16; their length is a multiple of
    ``shape.lanes``. Both matrices are C-contiguous. Sums are float32.
    """
    # ``generate`` emits the instructions. Its Python loops unroll the code; only the basic block "dims" is a loop at run time.
    # A phi instruction selects its value by the block that control came from: 0 at first, then the value of the last iteration.
    #
    #     before:  at = 0, sums = 0
    #     dims:    load ``lanes`` values of each row and query at ``at``, update all sums, at += lanes; repeat while at < dim
    #     summed:  add the lanes of each sum and store the scores
    lanes, rows = shape.lanes, shape.rows
    vector, halves = ir.VectorType(ir.FloatType(), lanes), ir.VectorType(ir.HalfType(), lanes)
    size = ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block, vectors, scores = (context.make_array(signature.args[at])(context, builder, arguments[at]) for at in (0, 2, 4))
        row, query, column = (context.cast(builder, arguments[at], signature.args[at], types.int64) for at in (1, 3, 5))
        dim = cgutils.unpack_tuple(builder, block.shape)[1]
        width = cgutils.unpack_tuple(builder, scores.shape)[1]
        begin = builder.bitcast(block.data, ir.HalfType().as_pointer())
        row_pointers = [builder.gep(begin, [builder.mul(builder.add(row, size(i)), dim)]) for i in range(rows)]
        query_pointers = [builder.gep(vectors.data, [builder.mul(builder.add(query, size(j)), dim)]) for j in range(queries)]
        name = f"llvm.fmuladd.v{lanes}f32"
        multiply_add = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)

        def load(pointer: Any, at: Any, kind: Any, align: int) -> Any:
            loaded = builder.load(builder.bitcast(builder.gep(pointer, [at]), kind.as_pointer()))
            loaded.align = align
            return loaded

        before, body, after = builder.block, builder.append_basic_block("dims"), builder.append_basic_block("summed")
        builder.branch(body)
        builder.position_at_end(body)
        at = builder.phi(size)
        at.add_incoming(size(0), before)
        sums = [builder.phi(vector) for _ in range(queries * rows)]
        values = [builder.fpext(load(pointer, at, halves, 2), vector) for pointer in row_pointers]
        updated = []
        for j in range(queries):
            query_values = load(query_pointers[j], at, vector, 4)
            updated += [builder.call(multiply_add, [values[i], query_values, sums[j * rows + i]]) for i in range(rows)]
        following = builder.add(at, size(lanes))
        at.add_incoming(following, body)
        for old, new in zip(sums, updated, strict=True):
            old.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
            old.add_incoming(new, body)
        builder.cbranch(builder.icmp_signed("<", following, dim), body, after)
        builder.position_at_end(after)
        totals = _add_across(builder, updated, lanes)
        for j in range(queries):
            first = j * rows
            row_sums = _shuffle(builder, totals[first // lanes], None, [first % lanes + i for i in range(rows)])
            place = builder.gep(scores.data, [builder.add(builder.mul(size(j), width), column)])
            builder.store(row_sums, builder.bitcast(place, row_sums.type.as_pointer())).align = 4
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def compiled(typing_context: Any, block: Any, row: Any, vectors: Any, query: Any, scores: Any, column: Any) -> Any:
        return types.void(block, row, vectors, query, scores, column), generate

    return compiled


def _shuffle(builder: Any, a: Any, b: Any, lanes: Sequence[int]) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
    return builder.shuffle_vector(a, a if b is None else b, mask)


def _add_across(builder: Any, vectors: list[Any], lanes: int) -> list[Any]:
    """Emit the sum of each vector's lanes: the sum of vector i is value ``i % lanes`` of result ``i // lanes``.

    Each step halves two vectors into one. This takes a third of the time of summing each vector alone.
    """
    part = lanes
    while part > 1:
        half = part // 2
        low = [start + i for start in range(0, 2 * lanes, part) for i in range(half)]
        high = [i + half for i in low]
        pairs = [(vectors[i], vectors[min(i + 1, len(vectors) - 1)]) for i in range(0, len(vectors), 2)]
        vectors = [builder.fadd(_shuffle(builder, a, b, low), _shuffle(builder, a, b, high)) for a, b in pairs]
        part = half
    return vectors

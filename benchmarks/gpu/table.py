"""The table of docs/performance.md from the figures of ``python -m benchmarks.gpu --json``.

python -m benchmarks.gpu.table benchmarks/gpu/h100.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.gpu import encoder, lexical
from benchmarks.gpu.__main__ import AIM
from benchmarks.gpu.search import READING


def table(figures: dict[str, Any]) -> str:
    """Return the Markdown table of one run of all parts."""
    return "\n".join(["| measured | figure | aim |", "|---|--:|--:|", *(f"| {' | '.join(row)} |" for row in rows(figures))])


def rows(figures: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what was measured, the figure and the aim."""
    of_encoder, search, both, texts = (figures[part] for part in ("encoder", "search", "both", "lexical"))
    rates, works = of_encoder["rates"], f"{search['works'] / 1e6:.2f} million works"
    calls = both["rates"]
    best = max(calls, key=lambda call: float(calls[call]))
    yield f"from texts to hits over {works}, {int(best):,} texts a call", f"{calls[best]:,.0f} references/s", f"{AIM:,}"
    yield "the same with sentence-transformers' vectors", f"{both['sentence-transformers']:,.0f} references/s", ""
    yield "model alone", f"{rates['model alone']:,.0f} texts/s", ""
    yield (
        "model alone, relative to torch's fp16 products of the same shapes",
        f"{of_encoder['of_products']:.2f}",
        f"{encoder.AIM}",
    )
    yield "encoder with tokenising, 4,096 texts a call", f"{rates['4,096 texts a call']:,.0f} texts/s", ""
    yield "sentence-transformers in fp16", f"{rates['sentence-transformers']:,.0f} texts/s", ""
    yield "least cosine to fp32 on the CPU", f"{of_encoder['least_cosine']:.6f}", f"{encoder.LEAST_COSINE}"
    ratio = search["one_ms"] / search["reading_ms"]
    yield f"one search of {works}", f"{search['one_ms']:.2f} ms", ""
    yield "the same, relative to reading their bytes", f"{ratio:.2f}", f"{READING}"
    by_scores = search["rates"]["4096"]
    yield f"search of {works}, 4,096 vectors a call", f"{max(by_scores.values()):,.0f} references/s", ""
    yield f"the same from host memory, {max(map(int, search['rates'])):,} a call", f"{search['streamed_ms']:,.0f} ms a call", ""
    for name, case in texts["cases"].items():
        yield (
            f"lexical top-{lexical.K} over {texts['works'] / 1e6:.2f} million works, 1,024 a call, {name}",
            f"{case['device_us']['1024']:.1f} µs a query ({case['processor_us']:,.0f} on one core)",
            f"{lexical.AIM:.0f}",
        )


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))

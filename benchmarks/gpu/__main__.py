"""Check and time everything that runs on a GPU, compared with the CPU, in one call.

    python -m benchmarks.gpu [--works FILE] [--texts 20000] [--rows 5270000] [--part encoder|search|both|lexical …]
                            [--json FILE]

encoder: checks that GPU vectors (fp16) agree with CPU vectors (fp32), that decisions at the threshold 0.7959 differ only
within the measured error of it, and that a text's vector does not depend on its batch beyond the stated bound; reports
texts/s by token budget and by texts per call, tokens and model separately, beside sentence-transformers in fp16. search:
``benchmarks.gpu.search``. both: from texts to Hits over that many works, by batch, with the target of 25,000 references/s, and
the same with sentence-transformers' vectors. lexical: ``benchmarks.gpu.lexical`` over ``--rows`` works recombined from the
file. Without --part all four run. Exit code 1 if a check failed, 3 without a GPU.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.gpu import encoder as gpu_encoder
from benchmarks.gpu import lexical as gpu_lexical
from benchmarks.gpu import search as gpu_search
from benchmarks.machine import describe
from benchmarks.semantic.search import HITS
from reflink.semantic import Encoder, VectorIndex
from reflink.text import work_text

BATCHES = (512, 1024, 2048, 4096, 8192)
AIM = 25_000
PARTS = ("encoder", "search", "both", "lexical")

#: Whether all checks held, and the figures.
Measured = tuple[bool, dict[str, Any]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--works", type=Path, default=Path("examples/works.jsonl"), help="whose texts are encoded")
    parser.add_argument("--texts", type=int, default=20_000, help="texts timed; fewer works are repeated")
    parser.add_argument("--rows", type=int, default=5_270_000, help="works that are searched; synthetic vectors, or made texts")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one; may be repeated")
    arguments = parser.parse_args(argv)
    import torch

    if not torch.cuda.is_available():
        print("no GPU here: nothing was checked and nothing timed", file=sys.stderr)
        return 3
    texts = [work_text(work, "TVL", lexical=False) for work in harness.works_of(arguments.works)[: arguments.texts]]
    many = (texts * (arguments.texts // len(texts) + 1))[: arguments.texts]
    print(f"{describe()}; {torch.cuda.get_device_name()}; {len(many):,} texts, {len(set(many)):,} of them different")
    figures: dict[str, Any] = {"machine": describe(), "device": torch.cuda.get_device_name()}
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        vectors = Path(temporary)
        parts: dict[str, Callable[[], Measured]] = {
            "encoder": lambda: gpu_encoder.measure(many, "cuda"),
            "search": lambda: gpu_search.measure(gpu_search.made(vectors, arguments.rows, 384), "cuda"),
            "both": lambda: both(many, gpu_search.made(vectors, arguments.rows, 384), "cuda"),
            "lexical": lambda: gpu_lexical.measure(arguments.works, arguments.rows),
        }
        for part in arguments.part or PARTS:
            print(f"\n{part}", flush=True)
            held, figures[part] = parts[part]()
            failed += [] if held else [part]
            harness.save(arguments.json, figures)
    print(f"\nfailed checks: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def both(texts: Sequence[str], folder: Path, device: str, *, batches: Sequence[int] = BATCHES) -> Measured:
    """Measure references/s from texts to Hits over the works of ``folder``; also with sentence-transformers' vectors."""
    own, index = Encoder(device=device), VectorIndex.open(folder)
    asked = own.encode(texts[: gpu_search.CHECKED])
    expected = index.search(asked, HITS)
    index.place(device)
    held = gpu_search.same(index.search(asked, HITS), expected)
    rates = {str(batch): gpu_encoder.rate(lambda some: index.search(own.encode(some), HITS), texts, batch) for batch in batches}
    encode = gpu_encoder.published(device)
    peer = gpu_encoder.rate(lambda some: index.search(encode(some), HITS), texts, batches[-1], rounds=1)
    print(f"{'held  ' if held else 'BROKEN'} hits of the processor for {len(asked)} texts over {len(index):,} works")
    print("from texts to hits: " + ", ".join(f"{float(each):,.0f}/s by {batch}" for batch, each in rates.items()))
    best = max(rates.values())
    print(
        f"best {best:,.0f} references/s, {best / AIM:.2f} of the aim of {AIM:,}; with sentence-transformers' vectors "
        f"{peer:,.0f}/s by {batches[-1]}"
    )
    figures = {"works": len(index), "rates": rates, "sentence-transformers": peer, "of_aim": best / AIM}
    return held, figures | {"memory": used_memory(device)}


def used_memory(device: str) -> int:
    """Return the bytes that are in use on a GPU, of CUDA, kernels, model, vectors and work arrays together; 0 on a CPU."""
    import torch

    if not device.startswith("cuda"):
        return 0
    free, total = torch.cuda.mem_get_info(device)
    print(
        f"{(total - free) / 2**30:.2f} GiB of the device in use, {torch.cuda.max_memory_allocated(device) / 2**30:.2f} by torch"
    )
    return int(total - free)


if __name__ == "__main__":
    sys.exit(main())

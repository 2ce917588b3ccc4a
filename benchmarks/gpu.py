"""Everything that runs on a GPU, checked against the CPU and timed, in one call.

    python -m benchmarks.gpu [--works FILE] [--texts 20000] [--json FILE]

Today that is the encoder. Checked: vectors of the GPU (fp16) against the CPU (fp32), that decisions at the threshold 0.7959
are the same but within the measured error of it, and that a text's vector does not depend on its batch beyond the stated bound.
Timed: texts per second by token budget and by texts a call, tokens and model apart, beside sentence-transformers in fp16.
Exit code 3 without a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.machine import describe
from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.policy import Policy
from reflink.semantic import Encoder
from reflink.semantic.encoder import BATCH_BOUND
from reflink.semantic.model import default_folder
from reflink.text import work_text

CHECKED = 2000
LEAST_COSINE = 0.9995
BUDGETS = (4096, 16384, 65536, 262144)
CALLS = (64, 512, 4096)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", type=Path, default=Path("examples/works.jsonl"), help="whose texts are encoded")
    parser.add_argument("--texts", type=int, default=20_000, help="texts timed; fewer works are repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args(argv)
    import torch
    from sentence_transformers import SentenceTransformer

    if not torch.cuda.is_available():
        print("no GPU here: nothing was checked and nothing timed", file=sys.stderr)
        return 3
    works = islice((work for work in read_works(arguments.works) if isinstance(work, Work)), arguments.texts)
    texts = [work_text(work, "TVL", lexical=False) for work in works]
    sample = texts[:CHECKED]
    exact = Encoder(device="cpu", precision="fp32").encode(sample)
    fast = Encoder(device="cuda").encode(sample)
    cosines = (exact * fast).sum(axis=1)
    threshold = Policy().threshold
    a, b = exact @ exact[:200].T, fast @ fast[:200].T
    error = float(np.abs(a - b).max())
    flipped = (a >= threshold) != (b >= threshold)
    outside = int((flipped & (np.abs(a - threshold) > error)).sum())
    many = (texts * (arguments.texts // len(texts) + 1))[: arguments.texts]
    alone = Encoder(device="cuda", token_budget=1).encode(sample[:300])
    batched = 1 - (alone * fast[:300]).sum(axis=1).min()
    rates: dict[str, float] = {}
    for budget in BUDGETS:
        encoder = Encoder(device="cuda", token_budget=budget)
        rates[f"token budget {budget:,}"] = timed(encoder.encode, many, len(many))
    tokens_s, model_s = encoder.spent.tokens_s, encoder.spent.model_s
    for number in CALLS:
        rates[f"{number:,} texts a call"] = timed(encoder.encode, many, number)
    share = (encoder.spent.tokens_s - tokens_s) / (encoder.spent.tokens_s - tokens_s + encoder.spent.model_s - model_s)
    published = SentenceTransformer(str(default_folder()), device="cuda", model_kwargs={"dtype": torch.float16})
    rates["sentence-transformers fp16"] = timed(
        lambda some: published.encode(list(some), batch_size=256, normalize_embeddings=True), many, len(many)
    )
    device = torch.cuda.get_device_name()
    print(f"{describe()}; {device}")
    print(f"cosine against fp32 on the CPU: least {cosines.min():.6f}, mean {cosines.mean():.6f} (at least {LEAST_COSINE})")
    print(f"largest error of a score {error:.6f}; decisions at {threshold} that differ outside it: {outside}")
    print(f"of the same text in other batches: 1 - cosine at most {batched:.1e} (bound {BATCH_BOUND['fp16']:.0e})")
    for name, rate in rates.items():
        print(f"{name:28} {rate:10,.0f} texts/s")
    print(f"tokenising: {share:.0%} of the time")
    if arguments.json:
        figures = {
            "device": device,
            "least_cosine": float(cosines.min()),
            "error": error,
            "batched": float(batched),
            "rates": rates,
        }
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0 if cosines.min() >= LEAST_COSINE and outside == 0 and batched < BATCH_BOUND["fp16"] else 1


def timed(encode: Callable[[Sequence[str]], object], texts: Sequence[str], number: int) -> float:
    """Texts per second, so many a call. The vectors come back to the host, so nothing is left on the GPU at the end."""
    encode(texts[:number])
    started = time.perf_counter()
    for start in range(0, len(texts), number):
        encode(texts[start : start + number])
    return len(texts) / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())

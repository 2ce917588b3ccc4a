"""Check and time everything that runs on a GPU, compared with the CPU, in one call.

    python -m benchmarks.gpu [--works FILE] [--texts 20000] [--rows 5270000] [--part encoder|search|both|lexical]
                            [--json FILE]

encoder: checks that GPU vectors (fp16) agree with CPU vectors (fp32), that decisions at the threshold 0.7959 differ only
within the measured error of it, and that a text's vector does not depend on its batch beyond the stated bound; reports
texts/s by token budget and by texts per call, tokens and model separately, beside sentence-transformers in fp16. search:
``benchmarks.gpu.search``. both: from texts to Hits over that many works, by batch, with the target of 25,000 references/s, and
the same with sentence-transformers' vectors. lexical: ``benchmarks.gpu.lexical`` over ``--rows`` works recombined from the
file. Without --part all four run. Exit code 1 if a check failed, 3 without a GPU.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import harness
from benchmarks.gpu import lexical as gpu_lexical
from benchmarks.gpu import search as gpu_search
from benchmarks.machine import describe
from benchmarks.semantic.search import HITS, synthetic
from reflink.linking.policy import Policy
from reflink.semantic import Encoder, VectorIndex
from reflink.semantic.encoder.encoder import BATCH_BOUND
from reflink.semantic.encoder.model import default_folder
from reflink.semantic.index import KIND
from reflink.storage import flatfiles
from reflink.text import work_text

CHECKED = 2000
LEAST_COSINE = 0.9995
BUDGETS = (4096, 16384, 65536, 262144)
CALLS = (64, 512, 4096)
BATCHES = (512, 1024, 2048, 4096, 8192)
AIM = 25_000
PARTS = ("encoder", "search", "both", "lexical")

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
#: Whether all checks held, and the figures.
Measured = tuple[bool, dict[str, Any]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--works", type=Path, default=Path("examples/works.jsonl"), help="whose texts are encoded")
    parser.add_argument("--texts", type=int, default=20_000, help="texts timed; fewer works are repeated")
    parser.add_argument("--rows", type=int, default=5_270_000, help="works that are searched; synthetic vectors, or made texts")
    parser.add_argument("--part", choices=PARTS, help="only this one")
    arguments = parser.parse_args(argv)
    import torch

    if not torch.cuda.is_available():
        print("no GPU here: nothing was checked and nothing timed", file=sys.stderr)
        return 3
    texts = [work_text(work, "TVL", lexical=False) for work in harness.works_of(arguments.works)[: arguments.texts]]
    many = (texts * (arguments.texts // len(texts) + 1))[: arguments.texts]
    print(f"{describe()}; {torch.cuda.get_device_name()}; {len(many):,} texts, {len(set(many)):,} of them different")
    parts: dict[str, Callable[[], Measured]] = {
        "encoder": lambda: encoder(many, "cuda"),
        "search": lambda: gpu_search.measure(arguments.rows, 384, "cuda"),
        "both": lambda: both(many, arguments.rows, "cuda"),
        "lexical": lambda: gpu_lexical.measure(arguments.works, arguments.rows),
    }
    figures: dict[str, Any] = {"machine": describe(), "device": torch.cuda.get_device_name()}
    failed = []
    for part in [arguments.part] if arguments.part else PARTS:
        print(f"\n{part}", flush=True)
        held, figures[part] = parts[part]()
        failed += [] if held else [part]
        harness.save(arguments.json, figures)
    print(f"\nfailed checks: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def encoder(
    texts: Sequence[str],
    device: str,
    *,
    checked: int = CHECKED,
    budgets: Sequence[int] = BUDGETS,
    calls: Sequence[int] = CALLS,
) -> Measured:
    """Compare the device's vectors with the CPU's in fp32, and measure the rates."""
    sample = list(dict.fromkeys(texts))[:checked]
    exact = Encoder(device="cpu", precision="fp32").encode(sample)
    own = Encoder(device=device)
    fast = own.encode(sample)
    cosines = (exact * fast).sum(axis=1)
    threshold = Policy().threshold
    a, b = exact @ exact[:200].T, fast @ fast[:200].T
    error = float(np.abs(a - b).max())
    outside = int((((a >= threshold) != (b >= threshold)) & (np.abs(a - threshold) > error)).sum())
    alone = Encoder(device=device, token_budget=1).encode(sample[:300])
    batched = float(1 - (alone * fast[:300]).sum(axis=1).min())
    bound = BATCH_BOUND[own.precision]
    print(f"cosine against fp32 on the CPU: least {cosines.min():.6f}, mean {cosines.mean():.6f} (at least {LEAST_COSINE})")
    print(f"largest error of a score {error:.6f}; decisions at {threshold} that differ outside it: {outside}")
    print(f"of the same text in other batches: 1 - cosine at most {batched:.1e} (bound {bound:.0e})")
    rates: dict[str, float] = {}
    for budget in budgets:
        rates[f"token budget {budget:,}"] = rate(Encoder(device=device, token_budget=budget).encode, texts, len(texts))
    tokens_s, model_s = own.spent.tokens_s, own.spent.model_s
    for number in calls:
        rates[f"{number:,} texts a call"] = rate(own.encode, texts, number)
    tokens_s, model_s = own.spent.tokens_s - tokens_s, own.spent.model_s - model_s
    rates["sentence-transformers"] = rate(published(device), texts, len(texts))
    for name, each in rates.items():
        print(f"{name:28} {each:10,.0f} texts/s")
    share = tokens_s / (tokens_s + model_s)
    print(f"tokenising: {share:.0%} of the time")
    held = bool(cosines.min() >= LEAST_COSINE) and outside == 0 and batched < bound
    return held, {
        "least_cosine": float(cosines.min()), "error": error, "outside": outside, "batched": batched, "rates": rates,
        "tokenising": share,
    }  # fmt: skip


def both(texts: Sequence[str], rows: int, device: str, *, batches: Sequence[int] = BATCHES) -> Measured:
    """Measure references/s from texts to Hits over ``rows`` works, by batch; also with sentence-transformers' vectors."""
    own = Encoder(device=device)
    encoders: dict[str, Encode] = {"reflink": own.encode, "sentence-transformers": published(device)}
    rates: dict[str, dict[str, float]] = {name: {} for name in encoders}
    with tempfile.TemporaryDirectory() as temporary:
        flatfiles.save(Path(temporary), KIND, {"dim": own.dim}, synthetic(np.random.default_rng(5), rows, own.dim))
        index = VectorIndex.open(temporary)
        asked = own.encode(texts[: gpu_search.CHECKED])
        expected = index.search(asked, HITS)
        index.place(device)
        held = gpu_search.same(index.search(asked, HITS), expected)
        for batch in batches:
            for name, encode in encoders.items():
                rates[name][str(batch)] = rate(lambda some, encode=encode: index.search(encode(some), HITS), texts, batch)  # type: ignore[misc]
    print(f"{'held  ' if held else 'BROKEN'} hits of the processor for {len(asked)} texts over {rows:,} works")
    for name, of in rates.items():
        print(f"from texts to hits, {name}: " + ", ".join(f"{float(each):,.0f}/s by {batch}" for batch, each in of.items()))
    best = max(rates["reflink"].values())
    ratio = best / max(rates["sentence-transformers"].values())
    print(f"best {best:,.0f} references/s, {best / AIM:.2f} of the aim of {AIM:,}; {ratio:.1f} times sentence-transformers")
    return held, {"works": rows, "rates": rates, "of_aim": best / AIM, "of_published": ratio}


def published(device: str) -> Encode:
    """Return sentence-transformers' own model: in fp16, on a CPU in fp32."""
    import torch
    from sentence_transformers import SentenceTransformer

    dtype = torch.float32 if device == "cpu" else torch.float16
    model = SentenceTransformer(str(default_folder()), device=device, model_kwargs={"dtype": dtype})

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = model.encode(list(texts), batch_size=256, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)

    return encode


def rate(work: Callable[[Sequence[str]], object], texts: Sequence[str], number: int, rounds: int = 3) -> float:
    """Return texts per second: the median after one uncounted call. Each call's results end in host memory."""
    work(texts[:number])
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        for start in range(0, len(texts), number):
            work(texts[start : start + number])
        seconds.append(time.perf_counter() - started)
    return len(texts) / statistics.median(seconds)


if __name__ == "__main__":
    sys.exit(main())

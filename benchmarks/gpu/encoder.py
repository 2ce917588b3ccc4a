"""Check the encoder on a GPU against the CPU, and time it: alone, compared with its matrix products, and with the tokens."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reflink.linking.policy import Policy
from reflink.semantic import Encoder
from reflink.semantic.encoder.batches import batches
from reflink.semantic.encoder.encoder import BATCH_BOUND, GPU_TOKEN_BUDGET
from reflink.semantic.encoder.model import default_folder

CHECKED = 2000
LEAST_COSINE = 0.9995
BUDGETS = (16384, 65536, 262144)
CALLS = (64, 512, 4096)
#: Target for the model alone: share of the speed of torch's products of the same shapes.
AIM = 0.6

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]


def measure(
    texts: Sequence[str],
    device: str,
    *,
    checked: int = CHECKED,
    budgets: Sequence[int] = BUDGETS,
    calls: Sequence[int] = CALLS,
) -> tuple[bool, dict[str, Any]]:
    """Compare the device's vectors with the CPU's in fp32, and measure rates; return whether all checks held, and figures."""
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
    share, model = share_of_products(own, texts)
    print(f"model alone {model:,.0f} texts/s, {share:.2f} of the speed of its products ({share / AIM:.2f} of the aim of {AIM})")
    rates: dict[str, float] = {"model alone": model}
    for budget in budgets:
        rates[f"token budget {budget:,}"] = rate(Encoder(device=device, token_budget=budget).encode, texts, len(texts))
    tokens_s, model_s = own.spent.tokens_s, own.spent.model_s
    for number in calls:
        rates[f"{number:,} texts a call"] = rate(own.encode, texts, number)
    tokens_s, model_s = own.spent.tokens_s - tokens_s, own.spent.model_s - model_s
    rates["sentence-transformers"] = rate(published(device), texts, len(texts), rounds=1)
    for name, each in rates.items():
        print(f"{name:28} {each:10,.0f} texts/s")
    tokenising = tokens_s / (tokens_s + model_s)
    print(f"tokenising: {tokenising:.0%} of the time")
    held = bool(cosines.min() >= LEAST_COSINE) and outside == 0 and batched < bound
    return held, {
        "least_cosine": float(cosines.min()), "error": error, "outside": outside, "batched": batched, "rates": rates,
        "of_products": share, "tokenising": tokenising,
    }  # fmt: skip


def share_of_products(own: Encoder, texts: Sequence[str]) -> tuple[float, float]:
    """Return the time of the model's products alone, of torch in its precision, relative to the model's, and texts/s."""
    import torch

    passes: Any = own._backend
    forward, tokens = passes._forward, passes._tokeniser(texts)
    groups = list(batches(tokens.lengths, GPU_TOKEN_BUDGET, padded=False))
    given = [(tokens.take(rows), tokens.lengths[rows]) for rows in groups]
    dim, dtype = own.dim, torch.float16 if own.precision == "fp16" else torch.float32
    layers = len(forward._layers)
    shapes = ((dim, 3 * dim), (dim, dim), (dim, 4 * dim), (4 * dim, dim))
    longest = max(len(ids) for ids, _ in given)
    left = {size: torch.randn(longest, size, device=forward.device).to(dtype) for size in (dim, 4 * dim)}
    right = [torch.randn(inner, outer, device=forward.device).to(dtype) for inner, outer in shapes]
    out = [torch.empty(longest, outer, device=forward.device, dtype=dtype) for _, outer in shapes]

    def model() -> None:
        with torch.inference_mode():
            for ids, lengths in given:
                forward(ids, lengths)

    def products() -> None:
        for ids, _ in given:
            for _ in range(layers):
                for weight, result in zip(right, out, strict=True):
                    torch.mm(left[len(weight)][: len(ids)], weight, out=result[: len(ids)])

    model_s, products_s = (_seconds(work, forward.device) for work in (model, products))
    return products_s / model_s, len(texts) / model_s


def _seconds(work: Callable[[], None], device: Any, rounds: int = 5) -> float:
    import torch

    taken = []
    for _ in range(rounds + 1):  # the first is not counted
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


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

"""Measure encoding: texts per second, cosine to fp32, and the latency of one text, for every available implementation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer

from benchmarks.semantic.rivals import available
from reflink.entities import Reference
from reflink.evaluation.records import read_queries, without_identifiers
from reflink.semantic import Encoder
from reflink.semantic.encoder.encoder import BATCH_BOUND
from reflink.semantic.encoder.linear import linear
from reflink.semantic.encoder.loading import quiet
from reflink.semantic.encoder.model import default_folder
from reflink.semantic.encoder.precision import DTYPES
from reflink.semantic.encoder.query_precision import choose_query_precision
from reflink.text import reference_text

Vectors = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]

REFERENCE = "sentence-transformers fp32"
ALONE = 200
BUDGETS = (512, 2048, 4096, 16384)
#: Multiply-adds per token in the products with weights of the default model: six layers of 12 x 384 x 384.
FLOPS = 2 * 6 * 12 * 384 * 384


def references(file: Path, number: int) -> list[Reference]:
    """Return the first queries of the protocol, without their identifiers."""
    return [without_identifiers(query.reference) for query in islice(read_queries(file), number)]


def measure(file: Path, texts: int = 10_000, rounds: int = 3, *, rivals: bool = True) -> dict[str, Any]:
    """Print the section and return its figures. ``file``: references of the protocol; ``texts`` of them are encoded."""
    cited = references(file, texts)
    began = time.perf_counter()
    all_texts = [reference_text(reference, "TVL", lexical=False) for reference in cited]
    figures: dict[str, Any] = {"texts": len(cited), "text_us": (time.perf_counter() - began) / len(cited) * 1e6}
    fast = choose_query_precision("cpu", "fp32")
    with quiet():
        published = SentenceTransformer(str(default_folder()), device="cpu")
    own = {precision: Encoder(device="cpu", precision=precision) for precision in dict.fromkeys(("fp32", "bf16", fast))}
    ways: dict[str, Encode] = {
        REFERENCE: lambda some: published.encode(list(some), normalize_embeddings=True, show_progress_bar=False)
    }
    ways |= {f"reflink {precision}": encoder.encode for precision, encoder in own.items()}
    if rivals:
        ways |= available(all_texts[-300:])
    lengths = own[fast].tokens(all_texts)
    figures["tokens"] = float(lengths.mean())
    print(f"{len(cited):,} references, {lengths.mean():.1f} tokens each ({lengths.min()}-{lengths.max()}); {rounds} rounds")
    figures["ways"] = side_by_side(ways, all_texts, rounds)
    figures["bounds"] = bounds(figures["ways"], {precision: DTYPES[precision] for precision in own}, figures["tokens"])
    figures["breakdown_us"] = breakdown(Encoder(device="cpu"), all_texts, figures["text_us"])
    figures["alone_ms"] = alone(ways, all_texts)
    figures["by_length"] = by_length(own[fast], all_texts, lengths)
    figures["by_budget"] = by_budget(fast, all_texts)
    figures["batch_bound"] = {precision: batch_bound(encoder, all_texts[:300]) for precision, encoder in own.items()}
    for precision, largest in figures["batch_bound"].items():
        print(f"batch, {precision}: 1 - cosine of the same text at most {largest:.1e} (bound {BATCH_BOUND[precision]:.0e})")
    return figures


def side_by_side(ways: Mapping[str, Encode], texts: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """Run every implementation over the same texts in turns, part by part, so that other load affects all of them."""
    parts = [texts[start::rounds] for start in range(rounds)]
    rates: dict[str, list[float]] = {name: [] for name in ways}
    cpu_rates: dict[str, list[float]] = {name: [] for name in ways}
    cosines: dict[str, list[Vectors]] = {name: [] for name in ways}
    for encode in ways.values():
        encode(texts[:64])
    for part in parts:
        exact: Vectors | None = None
        for name, encode in ways.items():
            began, cpu_began = time.perf_counter(), time.process_time()
            vectors = encode(part)
            rates[name].append(len(part) / (time.perf_counter() - began))
            cpu_rates[name].append(len(part) / (time.process_time() - cpu_began))
            exact = vectors if exact is None else exact  # the first is the reference
            cosines[name].append((vectors.astype(np.float64) * exact).sum(1))
    figures = {}
    print(f"\n{'':28} texts/s   ratio   texts/CPU s   ratio   least cosine  mean cosine")
    for name in ways:
        ratio, cpu_ratio = (
            statistics.median(rate / base for rate, base in zip(each[name], each[REFERENCE], strict=True))
            for each in (rates, cpu_rates)
        )
        near = np.concatenate(cosines[name])
        figures[name] = {
            "rate": statistics.median(rates[name]), "ratio": ratio,
            "cpu_rate": statistics.median(cpu_rates[name]), "cpu_ratio": cpu_ratio,
            "least_cosine": float(near.min()), "mean_cosine": float(near.mean()),
        }  # fmt: skip
        print(
            f"{name:28} {figures[name]['rate']:7,.0f} {ratio:6.2f}x {figures[name]['cpu_rate']:13,.0f} {cpu_ratio:6.2f}x "
            f"{near.min():13.6f} {near.mean():12.6f}"
        )
    return figures


def bounds(
    ways: Mapping[str, Mapping[str, float]], dtypes: Mapping[str, torch.dtype], tokens: float
) -> dict[str, dict[str, float]]:
    """Return per precision the GFLOPS of a core, and the texts per second that its products alone allow: the upper limit."""
    figures, base = {}, ways[REFERENCE]["cpu_rate"]
    print(f"\nbound: products of the model's size alone, {FLOPS / 1e6:.1f} MFLOP a token")
    for precision, dtype in dtypes.items():
        gflops = products(dtype)
        bound = gflops * 1e9 / FLOPS / tokens
        reached = ways[f"reflink {precision}"]["cpu_rate"] / bound
        figures[precision] = {"gflops": gflops, "rate": bound, "reached": reached}
        print(
            f"{precision}: {gflops:,.0f} GFLOPS a core, {bound:,.0f} texts/CPU s, {bound / base:.2f}x {REFERENCE}; "
            f"reached {reached:.0%}"
        )
    return figures


def products(dtype: torch.dtype) -> float:
    """Return the GFLOPS of one core in the model's largest product, with the encoder's packed weights."""
    x, multiply = torch.randn(1024, 384).to(dtype), linear(torch.randn(1536, 384).to(dtype), torch.randn(1536).to(dtype))
    threads, best = torch.get_num_threads(), 0.0
    torch.set_num_threads(1)
    with torch.inference_mode():
        for _ in range(30):
            began = time.thread_time()
            multiply(x)
            best = max(best, 2 * 1024 * 384 * 1536 / (time.thread_time() - began) / 1e9)
    torch.set_num_threads(threads)
    return best


def breakdown(encoder: Encoder, texts: Sequence[str], text_us: float) -> dict[str, float]:
    """Return microseconds per text for building it, its tokens and the model, in batches like a linker's."""
    tokens_s, model_s = encoder.spent.tokens_s, encoder.spent.model_s
    for start in range(0, len(texts), 512):
        encoder.encode(texts[start : start + 512])
    parts = {
        "text": text_us,
        "tokens": (encoder.spent.tokens_s - tokens_s) / len(texts) * 1e6,
        "model": (encoder.spent.model_s - model_s) / len(texts) * 1e6,
    }
    whole = sum(parts.values())
    told = ", ".join(f"{name} {value:,.0f} µs ({value / whole:.1%})" for name, value in parts.items())
    print(f"a reference in batches of 512: {told}")
    return parts


def alone(ways: Mapping[str, Encode], texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return milliseconds of one text alone, p50 and p99."""
    figures = {}
    for name, encode in ways.items():
        took = []
        for text in texts[:ALONE]:
            began = time.perf_counter()
            encode([text])
            took.append((time.perf_counter() - began) * 1e3)
        p50, p99 = np.percentile(took, [50, 99])
        figures[name] = {"p50": float(p50), "p99": float(p99)}
        print(f"alone, {name:28} p50 {p50:6.1f} ms, p99 {p99:6.1f} ms")
    return figures


def by_length(encoder: Encoder, texts: Sequence[str], lengths: npt.NDArray[np.int64]) -> dict[str, dict[str, float]]:
    """Return texts and tokens per second of the shortest, the middle and the longest tenth."""
    order, tenth = np.argsort(lengths, kind="stable"), max(1, len(texts) // 10)
    middle = (len(texts) - tenth) // 2
    figures = {}
    for name, rows in (("short", order[:tenth]), ("median", order[middle : middle + tenth]), ("long", order[-tenth:])):
        some, tokens = [texts[row] for row in rows], int(lengths[rows].sum())
        began = time.perf_counter()
        encoder.encode(some)
        seconds = time.perf_counter() - began
        figures[name] = {"tokens": tokens / tenth, "rate": tenth / seconds, "tokens_rate": tokens / seconds}
        print(
            f"{name:6} texts, {tokens / tenth:5.1f} tokens: {tenth / seconds:8,.0f} texts/s, {tokens / seconds:9,.0f} tokens/s"
        )
    return figures


def by_budget(precision: Any, texts: Sequence[str]) -> dict[str, float]:
    """Return texts per second by token budget, and by the number of texts per call."""
    figures: dict[str, float] = {}
    some = texts[:2048]
    for budget in BUDGETS:
        encoder = Encoder(device="cpu", precision=precision, token_budget=budget)
        encoder.encode(some[:64])
        began = time.perf_counter()
        encoder.encode(some)
        figures[f"budget {budget}"] = len(some) / (time.perf_counter() - began)
    encoder = Encoder(device="cpu", precision=precision)
    for number in (1, 8, 64, 512):
        few = some[: max(256, number)]
        began = time.perf_counter()
        for start in range(0, len(few), number):
            encoder.encode(few[start : start + number])
        figures[f"{number} texts a call"] = len(few) / (time.perf_counter() - began)
    print("; ".join(f"{name}: {rate:,.0f} texts/s" for name, rate in figures.items()))
    return figures


def batch_bound(encoder: Encoder, texts: Sequence[str], rounds: int = 8) -> float:
    """Return the largest 1 - cosine between two encodings of the same text, over random batches, orders and budgets."""
    choice = np.random.default_rng(1)
    first, largest = encoder.encode(texts).astype(np.float64), 0.0
    most = encoder.memory.tokens
    for _ in range(rounds):
        encoder.memory.tokens = int(choice.choice([1, 100, 700, most]))
        rows = choice.permutation(len(texts))[: choice.integers(1, len(texts))]
        vectors = encoder.encode([texts[row] for row in rows])
        largest = max(largest, float((1 - (vectors * first[rows]).sum(1)).max()))
    encoder.memory.tokens = most
    return largest

"""Inputs by number: a seed and a number always give the same bytes, on any machine with the same articles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.campaigns.fuzz import hostile
from tests.campaigns.fuzz.bytewise import BYTES
from tests.campaigns.fuzz.markup import MARKUP
from tests.campaigns.fuzz.seeds import Corpus
from tests.campaigns.fuzz.textual import TEXT

Mutation = Callable[[Random, bytes], bytes]

#: Name, mutations and weight of each level.
LEVELS: Final[tuple[tuple[str, Sequence[Mutation], int], ...]] = (
    ("bytes", BYTES, 25),
    ("markup", MARKUP, 45),
    ("text", TEXT, 30),
)
#: Mutations work within a span of this many bytes, so that whole articles cost no more than small ones.
_STRETCH: Final = 12_000
#: Maximum size of an input in bytes; a larger one is truncated.
LARGEST: Final = 400_000
_SOURCES: Final = (
    None, "", " ", "a name#1 with spaces", "doi:10.1234/ABC", "pmid:0", "\u00fcber/\U0001f600.xml", "s" * 5000, "a\tb", "nul\0",
)  # fmt: skip
_LIMITS: Final = ((2_000, 256, 20_000), (64 * 2**20, 6, 20_000), (64 * 2**20, 256, 2), (0, 256, 20_000), (64 * 2**20, 256, 0))


@dataclass(frozen=True)
class Input:
    """One input: its bytes, the caller's name for them, the limits (size, depth, references) or None, and its origin."""

    number: int
    data: bytes
    source: str | None
    limits: tuple[int, int, int] | None
    base: str
    mutations: tuple[str, ...]


def generate(corpus: Corpus, seed: int, number: int) -> Input:
    """Return the input with this number."""
    rng = Random(f"{seed}:{number}")
    base, data = _base(rng, corpus)
    names: list[str] = []
    for _ in range(0 if rng.random() < 0.03 else min(1 + int(rng.expovariate(0.7)), 8)):
        name, data = _mutated(rng, data, corpus)
        names.append(name)
    source = f"fuzz-{number}.xml" if rng.random() < 0.9 else rng.choice(_SOURCES)
    limits = rng.choice(_LIMITS) if rng.random() < 0.02 else None
    return Input(number, data, source, limits, base, tuple(names))


def mutate(rng: Random, data: bytes) -> bytes:
    """Return ``data`` with one mutation, for a caller with its own base."""
    return _mutated(rng, data, None)[1]


def _base(rng: Random, corpus: Corpus) -> tuple[str, bytes]:
    chance = rng.random()
    if chance < 0.90:
        return "cut", corpus.cut(rng)
    if chance < 0.96:
        return "scattered", corpus.scattered(rng)
    if chance < 0.982:
        return "made", _made(rng)
    if chance < 0.985:
        return "flood", _flood(rng)
    return "whole", corpus.whole(rng)


def _made(rng: Random) -> bytes:
    """Return an article that consists only of strange parts."""
    parts = [rng.choice((hostile.FRAGMENTS, hostile.IDENTIFIERS, hostile.CHARACTERS)) for _ in range(rng.randrange(1, 12))]
    inside = " ".join(map(rng.choice, parts))
    doctype = rng.choice(hostile.DOCTYPES) if rng.random() < 0.4 else ""
    tag = rng.choice(("mixed-citation", "element-citation", "citation", "nlm-citation"))
    text = f"{doctype}<article><front/><back><ref-list><ref id='r'><{tag}>{inside}</{tag}></ref></ref-list></back></article>"
    return text.encode(errors="surrogatepass")


def _flood(rng: Random) -> bytes:
    """Return an article with one unit repeated hundreds or thousands of times."""
    unit = rng.choice(rng.choice((hostile.FLOODS, hostile.FLOODS, hostile.REPEATED, hostile.BAIT, hostile.FRAGMENTS)))
    numbered = unit.count("{}") == unit.count("{")
    flood = "".join(unit.replace("{}", str(n)) if numbered else unit for n in range(rng.choice((300, 1000, 3000, 9000))))
    return rng.choice(hostile.AROUND).replace("{}", flood).encode(errors="surrogatepass")


def _mutated(rng: Random, data: bytes, corpus: Corpus | None) -> tuple[str, bytes]:
    if corpus is not None and rng.random() < 0.04:
        return "bytes.splice", _splice(rng, data, corpus.cut(rng))
    level, choices, _ = rng.choices(LEVELS, [weight for *_, weight in LEVELS])[0]
    mutation = rng.choice(choices)
    if level == "bytes" or len(data) <= _STRETCH:
        data = mutation(rng, data)
    else:
        start = max(data.rfind(b"<", 0, rng.randrange(len(data))), 0)
        if b"<ref" in data and rng.random() < 0.6:  # prefer references, the parser's main output
            start = rng.choice([match.start() for match in re.finditer(b"<ref[ >]", data)] or [start])
        stop = data.find(b"<", start + _STRETCH)
        stop = len(data) if stop < 0 else stop
        data = data[:start] + mutation(rng, data[start:stop]) + data[stop:]
    return f"{level}.{mutation.__name__}", data[:LARGEST] if len(data) > LARGEST else data


def _splice(rng: Random, data: bytes, other: bytes) -> bytes:
    """Join the beginning of one article and the end of another."""
    if rng.random() < 0.5:  # cut at the beginnings of tags
        at = data.find(b"<", rng.randrange(len(data) + 1)) if data else 0
        to = other.find(b"<", rng.randrange(len(other)))
        return data[: max(at, 0)] + other[max(to, 0) :]
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other)) :]

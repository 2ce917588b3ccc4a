"""Generate catalogs larger than the real one: works recombined from the parts of real works.

The recipe, for each made work, every draw uniform and independent, one seed for all:

- title: as many words as the title of a drawn work. The first word is that of a drawn title; each next one is the word that
  follows a drawn occurrence of the current word in any real title. So every pair of neighbouring words is real and has its
  real frequency, and so have the trigrams, including those across spaces.
- last names: as many as a drawn work has, each drawn from all names of all works.
- venue: that of a drawn work; year: that of another.

Fields are normalised and truncated as the method prescribes. ``likeness`` compares lengths and trigrams with the real ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.entities import Work
from reflink.lexical.trigrams import TRIGRAMS, trigram_sets
from reflink.text import LIMITS, RAW_CANDIDATE_FIELDS, Mode, normalise

CHUNK: Final = 50_000
#: How often another occurrence is drawn when a drawn one is the end of its title.
TRIES: Final = 16

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Packed:
    """Texts end to end as ASCII bytes, and the offset of each."""

    data: Bytes
    offsets: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Pack normalised texts."""
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
        return cls(np.frombuffer("".join(texts).encode("ascii"), np.uint8), offsets)


class Recipe:
    """The parts of real works, in arrays to draw from."""

    def __init__(self, works: Sequence[Work]) -> None:
        titles = [normalise(work.title or "", lexical=True, limit=LIMITS["T"]).split() for work in works]
        numbers: dict[str, int] = {}
        self.title_words = np.array([numbers.setdefault(word, len(numbers)) for title in titles for word in title], np.int64)
        self.title_offsets = _offsets([len(title) for title in titles])
        self.words = Packed.of(list(numbers))
        # Occurrences by word: positions in title_words.
        self.occurrences = np.argsort(self.title_words, kind="stable")
        self.occurrence_offsets = _offsets(np.bincount(self.title_words, minlength=len(numbers)))
        names = [[normalise(name, lexical=True) for name in work.last_names] for work in works]
        self.name_counts = np.array([len(each) for each in names], np.int64)
        self.names = Packed.of([name for each in names for name in each])
        self.venues = Packed.of([normalise(work.venue or "", lexical=True, limit=LIMITS["V"]) for work in works])
        self.years = Packed.of(["" if work.year is None else str(work.year)[: LIMITS["Y"]] for work in works])

    def texts(self, count: int, mode: Mode, seed: int) -> Iterator[list[str]]:
        """Yield the lexical texts of ``count`` made works in chunks, in any mode without the abstract.

        The works do not depend on the mode, and a smaller count gives a prefix of a greater one.
        """
        for first in range(0, count, CHUNK):
            yield self.chunk(first, count, mode, seed)

    def chunk(self, first: int, count: int, mode: Mode, seed: int) -> list[str]:
        """Return the chunk of ``texts`` that begins with work ``first``, a multiple of CHUNK. Threads may share the work."""
        order = np.frombuffer((RAW_CANDIDATE_FIELDS if mode == "Raw" else mode).encode(), np.uint8)
        limits = np.array([LIMITS["T"], LIMITS["L"]], np.int64)
        data, offsets = _make(
            min(CHUNK, count - first), np.random.default_rng([seed, first]), order, limits,
            self.title_words, self.title_offsets, self.occurrences, self.occurrence_offsets,
            self.words.data, self.words.offsets, self.name_counts, self.names.data, self.names.offsets,
            self.venues.data, self.venues.offsets, self.years.data, self.years.offsets,
        )  # fmt: skip
        text = data.tobytes().decode("ascii")
        ends = offsets.tolist()
        return [text[ends[at] : ends[at + 1]] for at in range(len(ends) - 1)]


def likeness(real: Sequence[str], made: Sequence[str]) -> dict[str, Any]:
    """Compare sizes of trigram sets at their quantiles, and the shares of texts that contain each trigram."""
    (codes, offsets), (made_codes, made_offsets) = trigram_sets(real), trigram_sets(made)
    sizes, made_sizes = np.diff(offsets), np.diff(made_offsets)
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95, 0.999)
    shares = np.bincount(codes, minlength=TRIGRAMS) / len(real)
    made_shares = np.bincount(made_codes, minlength=TRIGRAMS) / len(made)
    # The expected number of common trigrams of two texts determines the cost of a search.
    frequent = (shares > 1e-5) & (made_shares > 1e-5)
    return {
        "quantiles": quantiles,
        "sizes": np.quantile(sizes, quantiles).round().astype(int).tolist(),
        "made_sizes": np.quantile(made_sizes, quantiles).round().astype(int).tolist(),
        "postings_a_text": [float(sizes.mean()), float(made_sizes.mean())],
        "common_by_chance": [float((shares**2).sum()), float((shares * made_shares).sum())],
        "correlation_of_log_shares": float(np.corrcoef(np.log(shares[frequent]), np.log(made_shares[frequent]))[0, 1]),
    }


def _offsets(lengths: Sequence[int] | Ints) -> Ints:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.asarray(lengths), out=offsets[1:])
    return offsets


@compiled(nogil=True)
def _make(
    count: int, rng: np.random.Generator, order: Bytes, limits: Ints, title_words: Ints, title_offsets: Ints,
    occurrences: Ints, occurrence_offsets: Ints, words: Bytes, word_offsets: Ints,
    name_counts: Ints, names: Bytes, name_offsets: Ints, venues: Bytes, venue_offsets: Ints, years: Bytes, year_offsets: Ints,
) -> tuple[Bytes, Ints]:  # fmt: skip
    works, all_names = len(name_counts), len(name_offsets) - 1
    data, offsets = np.empty(count * 512, np.uint8), np.zeros(count + 1, np.int64)
    title, authors = np.empty(512, np.uint8), np.empty(512, np.uint8)
    size = 0
    for number in range(count):
        # Title
        drawn = rng.integers(0, works)
        wanted = title_offsets[drawn + 1] - title_offsets[drawn]
        drawn = rng.integers(0, works)
        at, last, length = title_offsets[drawn], title_offsets[drawn + 1] - 1, 0
        for done in range(wanted):
            if at > last:
                break
            word = title_words[at]
            if done:
                title[length] = 32
                length += 1
            for byte in range(word_offsets[word], word_offsets[word + 1]):
                title[length] = words[byte]
                length += 1
            if length >= limits[0]:
                length = limits[0]
                break
            choices = occurrence_offsets[word + 1] - occurrence_offsets[word]
            for _ in range(TRIES):
                at = occurrences[occurrence_offsets[word] + rng.integers(0, choices)] + 1
                drawn = np.searchsorted(title_offsets, at, side="right") - 1
                last = title_offsets[drawn + 1] - 1
                # The position after the end of a title begins another one.
                if at < len(title_words) and title_offsets[drawn] != at:
                    break
            else:
                break
        while length and title[length - 1] == 32:
            length -= 1
        # Names
        names_length = 0
        for done in range(name_counts[rng.integers(0, works)]):
            name = rng.integers(0, all_names)
            if done:
                authors[names_length] = 32
                names_length += 1
            for byte in range(name_offsets[name], min(name_offsets[name + 1], name_offsets[name] + 100)):
                authors[names_length] = names[byte]
                names_length += 1
            if names_length >= limits[1]:
                names_length = limits[1]
                break
        while names_length and authors[names_length - 1] == 32:
            names_length -= 1
        venue, year = rng.integers(0, works), rng.integers(0, works)
        for letter in order:
            if letter == 84:  # T
                part, begin, end = title, 0, length
            elif letter == 76:  # L
                part, begin, end = authors, 0, names_length
            elif letter == 86:  # V
                part, begin, end = venues, venue_offsets[venue], venue_offsets[venue + 1]
            else:  # Y
                part, begin, end = years, year_offsets[year], year_offsets[year + 1]
            if begin < end and size > offsets[number]:
                data[size] = 32
                size += 1
            for byte in range(begin, end):
                data[size] = part[byte]
                size += 1
        offsets[number + 1] = size
    return data[:size], offsets

"""The two texts of a pair, their tokens, and the vocabulary that numbers the tokens.

The metadata of a work is "Title #SEP# Authors #SEP# Year #SEP# Journal" (papers/001 Figure 5.1). The other text is the citation
as written, without identifiers. Tokens are folded words (`reflink.folding`).

Without authors, the field of the authors is empty and every word of an extracted last name is removed from the citation. The
paper's table speaks of "matched" authors. If only these went, a pair of other papers would keep names that a match has not, and
in training that alone would tell them apart.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from reflink.entities import Reference, Work
from reflink.evaluation.rivals.rule import names_of
from reflink.folding import fold, folded_words

SEPARATOR: Final = "#SEP#"
#: Maximum tokens of a text; longer ones are cut. 95 of 100 citations have fewer.
LONGEST: Final = 64
#: Minimum occurrences of a word with a number of its own.
FEWEST: Final = 3
#: Numbers for the other words, by a hash: a rare word has the same vector in both texts.
BUCKETS: Final = 8192


def extracted_names(reference: Reference) -> frozenset[str]:
    """Return the folded last names of a citation: the tagged ones, else those that the shipped taggers find in its text.

    Raises ModelNotFound if the taggers' weights are damaged.
    """
    return frozenset(folded for name in names_of(reference) if (folded := fold(name)))


def metadata_tokens(work: Work, *, authors: bool) -> list[str]:
    """Return the tokens of a work's metadata. ``authors``: keep them."""
    names = " ".join(work.authors) if authors else ""
    fields = (work.title or "", names, str(work.year or ""), work.venue or "")
    tokens: list[str] = []
    for number, field in enumerate(fields):
        tokens += [SEPARATOR] * (number > 0) + folded_words(field)
    return tokens


def citation_tokens(reference: Reference, removed: Collection[str] = ()) -> list[str]:
    """Return the tokens of a citation as written. ``removed``: folded last names, whose words are left out."""
    gone = {word for name in removed for word in name.split()}
    return [word for word in folded_words(reference.raw_query) if word not in gone]


@dataclass(frozen=True)
class Vocabulary:
    """Numbers of tokens: 0 padding, 1 an empty text, 2 the separator, then ``words`` in order, then BUCKETS for all others."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Vocabulary:
        """Return the vocabulary of the words that occur at least FEWEST times in ``texts``."""
        counts = Counter(word for text in texts for word in text)
        counts.pop(SEPARATOR, None)
        return cls(tuple(sorted(word for word, count in counts.items() if count >= FEWEST)))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {SEPARATOR: 2, **{word: 3 + at for at, word in enumerate(self.words)}}

    def __len__(self) -> int:
        return 3 + len(self.words) + BUCKETS

    def numbers(self, tokens: Sequence[str]) -> list[int]:
        """Return the numbers of the first LONGEST tokens, of at least one."""
        known, others = self._numbers, 3 + len(self.words)
        return [
            known[word] if word in known else others + zlib.crc32(word.encode()) % BUCKETS for word in tokens[:LONGEST]
        ] or [1]

"""Prepares all records of a batch for comparison: folded text, words, trigrams and numbers in flat arrays.

1. Every record is prepared once, however many pairs it is in.
2. Fields are limited to the lengths in `reflink.verdict.rules`.
3. The arrays of `Packed` are allocated once, at an upper bound of their size.

Cost: linear in the characters of the batch.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.tiered import Plain
from reflink.verdict.kernels.gathering import DOI, NAMES, PAGE, TEXT, TITLE, VENUE, VOLUME, Gathered
from reflink.verdict.kernels.keys import article_key, page_key, volume_key
from reflink.verdict.kernels.letters import fold_words
from reflink.verdict.kernels.numerals import NUMBERS, ORDINALS, WORD_COUNT, YEARS, parts
from reflink.verdict.kernels.people import name_tokens
from reflink.verdict.kernels.tables import TABLES, Tables
from reflink.verdict.kernels.vocabulary import NO_VENUE, SEED, Codes, Hashes, Ints, added, finished, known
from reflink.verdict.kernels.wording import FILTER, Scratch, text, title
from reflink.verdict.rules import NAME_LIMIT, RAW_LIMIT, TITLE_LIMIT

_NAMES: Final = (
    "title", "title_end", "grams", "grams_end", "marks", "numbers", "numbers_end", "years", "years_end", "names", "names_end",
    "venue", "venue_end", "has_venue", "spans", "spans_end", "volume", "volume_end", "page", "page_end", "raw", "raw_end",
    "words", "words_end", "raw_numbers_end", "raw_years_end", "ordinals", "ordinals_end", "raw_marks",
    "raw_mark_words", "raw_length", "raw_digits_end", "others", "article", "article_end", "tagged", "unsure",
)  # fmt: skip
#: One record: the positions of its parts in the arrays of `Packed`. Numbers and years of the citation follow the ones of the
#: title. ``unsure``: the kernels cannot determine the title's marks; ``reflink.verdict.batch.settle_marks`` does.
RECORD: Final = np.dtype((np.record, [(name, np.int64) for name in _NAMES]))
#: Maximum number of words of a venue that are compared.
_VENUE_WORDS: Final = 12


class Packed(NamedTuple):
    """Records of type `RECORD`, and the arrays that they index.

    ``letters``: folded text without spaces. ``grams``: distinct trigrams of each title. ``words`` [w, 2]: hashes of each word
    of a citation, as folded, and with the transliteration of umlauts undone or, of a word with digits, its number. ``begins``
    [w, 2]: start of the word in ``letters``, and flags (`wording`).
    ``names`` [m, 5]: start and end of an author's words in ``tokens``, start and end of the joined words in ``letters``, and
    the mask of their letters. ``tokens`` [t, 3]: start and end of a word in ``letters``, and its mask. ``spans`` [s, 2]: start
    and end of a venue's word in ``letters``. ``published`` [n]: years, NaN for none.
    """

    records: npt.NDArray[Any]
    letters: npt.NDArray[np.uint32]
    grams: Hashes
    words: Hashes
    begins: Ints
    numbers: Hashes
    years: Ints
    ordinals: Hashes
    names: Ints
    tokens: Ints
    token_hashes: Hashes
    spans: Ints
    published: npt.NDArray[np.float64]


def pack(gathered: Gathered) -> Packed:
    """Return the prepared records of ``gathered``, in its order."""
    size, fields = gathered.letters + 1, len(gathered.starts)
    packed = Packed(
        np.zeros(len(gathered.first) - 1, RECORD), np.empty(3 * size, np.uint32), np.empty(size, np.uint64),
        np.empty((size, 2), np.uint64), np.empty((size, 2), np.int64), np.empty(2 * size + len(gathered.codes), np.uint64),
        np.empty(size, np.int64),
        np.empty(size, np.uint64), np.empty((fields, 5), np.int64), np.empty((size, 3), np.int64), np.empty(size, np.uint64),
        np.empty((size, 2), np.int64), gathered.years,
    )  # fmt: skip
    _pack(gathered, packed, TABLES, Scratch(np.empty(FILTER, np.uint64), np.empty(size, np.int64), np.zeros(4, np.int64)))
    return packed


@compiled(inline="always")
def _venue_words(letters: Codes, list_: Ints, values: Ints, words: Hashes, at: int, start: int, ends: Ints, number: int) -> int:
    """Write the spans of a venue's words from ``at`` on, without stop words; return the end of the spans.

    If all words are stop words, the second pass writes them all.
    """
    number = min(number, _VENUE_WORDS)
    for every in range(2):
        first, begun = at, start
        for word in range(number):
            value = SEED
            for position in range(begun, ends[word]):
                value = added(value, letters[position])
            if every or not known(words, values, finished(value)) & NO_VENUE:
                list_[at, 0], list_[at, 1] = begun, ends[word]
                at += 1
            begun = ends[word]
        if at > first:
            break
    return at


@compiled(plain=Plain(5.0, 500_000), nogil=True)
def _pack(gathered: Gathered, packed: Packed, tables: Tables, scratch: Scratch) -> None:
    # Read each array from its tuple once: each access counts references, which costs more than the work on the array.
    codes, letters, first_field = gathered.codes, packed.letters, gathered.first
    starts, stops, plain_starts, plain_stops = gathered.fold_starts, gathered.fold_ends, gathered.starts, gathered.ends
    records, numbers, name_list, token_list, token_hashes, span_list = (
        packed.records, packed.numbers, packed.names, packed.tokens, packed.token_hashes, packed.spans,
    )  # fmt: skip
    folds, kinds, expansions, words, values = tables
    ends, counts = scratch.ends, scratch.counts
    at, grams, spans, tokens, names = 0, 0, 0, 0, 0
    for row in range(len(records)):
        record, field = records[row], first_field[row]
        # The title.
        record.title, record.grams, record.numbers, record.years = at, grams, counts[NUMBERS], counts[YEARS]
        start, stop = starts[field + TITLE], min(stops[field + TITLE], starts[field + TITLE] + TITLE_LIMIT)
        title(codes, start, stop, tables, packed, scratch, record)
        at, grams = record.title_end, record.grams_end
        start = plain_starts[field + TITLE]
        stop = min(plain_stops[field + TITLE], start + TITLE_LIMIT)
        brackets, semicolons = parts(codes, start, stop, kinds, words, values, numbers, counts)
        record.unsure = semicolons or (brackets and record.marks != 0)
        record.numbers_end, record.years_end = counts[NUMBERS], counts[YEARS]
        # The venue: only the words before the first bracket count, unless the venue begins with the bracket.
        start, stop = starts[field + VENUE], stops[field + VENUE]
        cut = start + 1
        while cut < stop and codes[cut] != 40:
            cut += 1
        if start < stop and codes[start] == 40:
            cut = stop
        record.venue, record.has_venue = at, start < stop
        at, number = fold_words(codes, start, min(cut, stop), folds, expansions, letters, at, ends)
        record.spans = spans
        spans = _venue_words(letters, span_list, values, words, spans, record.venue, ends, number)
        record.spans_end = spans
        if cut < stop:
            at, number = fold_words(codes, cut, stop, folds, expansions, letters, at, ends)
        record.venue_end = at
        # Volume and page.
        start, stop = starts[field + VOLUME], stops[field + VOLUME]
        if start < stop:
            begun = at
            at, number = fold_words(codes, start, stop, folds, expansions, letters, at, ends)
            at, record.volume, record.volume_end = volume_key(letters, begun, at, ends, number, kinds, words, values)
        start, stop = starts[field + PAGE], stops[field + PAGE]
        if start < stop:
            begun = at
            at, number = fold_words(codes, start, stop, folds, expansions, letters, at, ends)
            first, last = plain_starts[field + PAGE], plain_stops[field + PAGE]
            at, record.page, record.page_end = page_key(
                letters, begun, at, ends, number, kinds, words, values, codes, first, last
            )
        start, stop = starts[field + DOI], stops[field + DOI]
        at, record.article, record.article_end = article_key(codes, start, stop, letters, at)
        # The citation as written.
        start, stop = starts[field + TEXT], min(stops[field + TEXT], starts[field + TEXT] + RAW_LIMIT)
        record.raw, record.words, record.ordinals = at, counts[WORD_COUNT], counts[ORDINALS]
        if start < stop:
            text(codes, start, stop, tables, packed, scratch, record)
            at, record.raw_digits_end = record.raw_end, counts[NUMBERS]
            start = plain_starts[field + TEXT]
            stop = min(plain_stops[field + TEXT], start + RAW_LIMIT)
            parts(codes, start, stop, kinds, words, values, numbers, counts)
        record.raw_end, record.words_end = at, counts[WORD_COUNT]
        record.raw_numbers_end, record.raw_years_end, record.ordinals_end = counts[NUMBERS], counts[YEARS], counts[ORDINALS]
        # The names.
        record.names = names
        for name in range(field + NAMES, first_field[row + 1]):
            stop = min(stops[name], starts[name] + NAME_LIMIT)
            at, tokens = name_tokens(
                codes, starts[name], stop, folds, expansions, letters, at, words, values, token_list, token_hashes, tokens,
                name_list, names,
            )  # fmt: skip
            names += 1
        record.names_end = names
        record.tagged = (
            record.names_end > record.names
            or record.has_venue
            or starts[field + VOLUME] < stops[field + VOLUME]
            or starts[field + PAGE] < stops[field + PAGE]
        )

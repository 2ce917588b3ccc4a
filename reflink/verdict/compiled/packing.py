"""Records prepared for comparison, all of a batch at once: what ``Description`` holds, as flat arrays."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from reflink.verdict.compiled.gathering import NAMES, PAGE, TEXT, TITLE, VENUE, VOLUME, Gathered
from reflink.verdict.compiled.keys import page_key, volume_key
from reflink.verdict.compiled.letters import EXPANSIONS, FOLDS, KINDS, fold_words
from reflink.verdict.compiled.numerals import Kinds, parts
from reflink.verdict.compiled.people import name_tokens
from reflink.verdict.compiled.vocabulary import NO_VENUE, SEED, VALUES, WORDS, Codes, Hashes, Ints, added, finished, known
from reflink.verdict.compiled.wording import FILTER, text, title
from reflink.verdict.description import NAME_LIMIT, RAW_LIMIT, TITLE_LIMIT

_NAMES: Final = (
    "title", "title_end", "grams", "grams_end", "marks", "numbers", "numbers_end", "years", "years_end", "names", "names_end",
    "venue", "venue_end", "venue_said", "spans", "spans_end", "volume", "volume_end", "page", "page_end", "raw", "raw_end",
    "words", "words_end", "raw_numbers_end", "raw_years_end", "ordinals", "ordinals_end", "raw_marks",
    "raw_mark_words", "raw_length", "tagged", "unsure",
)  # fmt: skip
#: One record: where its parts lie in the arrays of `Packed`. Numbers and years of the citation follow those of the title.
#: ``unsure``: its marks are for ``reflink.verdict.titles`` to tell.
RECORD: Final = np.dtype([(name, np.int64) for name in _NAMES])
#: Words of a venue compared.
_VENUE_WORDS: Final = 12


class Packed(NamedTuple):
    """Records of type `RECORD`, and what they point into.

    ``letters``: folded text without spaces. ``grams``: of titles, each once. ``words``
    [w, 2]: hashes of the citation's words, and with umlauts transliterated.
    ``names`` [m, 5]: where an author's words begin and end in ``tokens``, where they lie joined in ``letters``, and their mask.
    ``tokens`` [t, 3]: a word's place in ``letters``, and mask. ``spans``: the venue's words in ``letters``.
    """

    records: npt.NDArray[Any]
    letters: npt.NDArray[np.uint32]
    grams: Hashes
    words: Hashes
    numbers: Hashes
    years: Ints
    ordinals: Hashes
    names: Ints
    tokens: Ints
    token_hashes: Hashes
    spans: Ints
    published: npt.NDArray[np.float64]


def pack(gathered: Gathered) -> Packed:
    """The records, prepared."""
    size, fields = gathered.letters + 1, len(gathered.starts)
    packed = Packed(
        np.zeros(len(gathered.first) - 1, RECORD), np.empty(3 * size, np.uint32), np.empty(size, np.uint64),
        np.empty((size, 2), np.uint64), np.empty(2 * size + len(gathered.codes), np.uint64), np.empty(size, np.int64),
        np.empty(size, np.uint64), np.empty((fields, 5), np.int64), np.empty((size, 3), np.int64), np.empty(size, np.uint64),
        np.empty((size, 2), np.int64), gathered.years,
    )  # fmt: skip
    _pack(gathered, packed, FOLDS, KINDS, EXPANSIONS, WORDS, VALUES, np.empty(size, np.int64))
    return packed


@numba.njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def _venue_words(letters: Codes, list_: Ints, values: Ints, words: Hashes, at: int, start: int, ends: Ints, number: int) -> int:
    """Writes the spans of a venue's words that count from ``at`` on; where they end."""
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


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _pack(
    gathered: Gathered, packed: Packed, folds: Ints, kinds: Kinds, expansions: Ints, words: Hashes, values: Ints, ends: Ints
) -> None:  # fmt: skip
    # Every array once: to take one out of its tuple counts references, which costs more than what is done with it.
    codes, letters, first_field = gathered.codes, packed.letters, gathered.first
    starts, stops, plain_starts, plain_stops = gathered.fold_starts, gathered.fold_ends, gathered.starts, gathered.ends
    records, gram_list, word_list, numbers, years, ordinals, name_list, token_list, token_hashes, span_list = (
        packed.records, packed.grams, packed.words, packed.numbers, packed.years, packed.ordinals, packed.names, packed.tokens,
        packed.token_hashes, packed.spans,
    )  # fmt: skip
    at, grams, spans, tokens, names = 0, 0, 0, 0, 0
    filter_ = np.empty(FILTER, np.uint64)
    counts = np.zeros(4, np.int64)  # of numbers, years, ordinals, words
    for row in range(len(records)):
        record, field = records[row], first_field[row]
        # The title.
        record.title, record.numbers, record.years = at, counts[0], counts[1]
        start, stop = starts[field + TITLE], min(stops[field + TITLE], starts[field + TITLE] + TITLE_LIMIT)
        record.grams = grams
        at, grams = title(
            codes, start, stop, folds, expansions, letters, at, kinds, words, values, gram_list, grams, filter_,
            numbers, years, ordinals, counts, record,
        )  # fmt: skip
        record.title_end, record.grams_end = at, grams
        start = plain_starts[field + TITLE]
        stop = min(plain_stops[field + TITLE], start + TITLE_LIMIT)
        brackets, semicolons = parts(codes, start, stop, kinds, words, values, numbers, counts)
        record.unsure = semicolons or (brackets and record.marks != 0)
        record.numbers_end, record.years_end = counts[0], counts[1]
        # The venue: of its words only those before a bracket.
        start, stop = starts[field + VENUE], stops[field + VENUE]
        cut = start + 1
        while cut < stop and codes[cut] != 40:
            cut += 1
        if start < stop and codes[start] == 40:
            cut = stop
        record.venue, record.venue_said = at, start < stop
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
        # The citation as written.
        start, stop = starts[field + TEXT], min(stops[field + TEXT], starts[field + TEXT] + RAW_LIMIT)
        record.raw, record.words, record.ordinals = at, counts[3], counts[2]
        if start < stop:
            at = text(
                codes, start, stop, folds, expansions, letters, at, kinds, words, values, word_list, numbers,
                years, ordinals, counts, record,
            )  # fmt: skip
            start = plain_starts[field + TEXT]
            stop = min(plain_stops[field + TEXT], start + RAW_LIMIT)
            parts(codes, start, stop, kinds, words, values, numbers, counts)
        record.raw_end, record.words_end = at, counts[3]
        record.raw_numbers_end, record.raw_years_end, record.ordinals_end = counts[0], counts[1], counts[2]
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
            or record.venue_said
            or starts[field + VOLUME] < stops[field + VOLUME]
            or starts[field + PAGE] < stops[field + PAGE]
        )

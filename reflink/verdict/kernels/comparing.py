"""Compare pairs of prepared records: kernels that compute the rows of evidence.

1. Each row has the columns of `reflink.verdict.evidence.Evidence`, except for ``identifier`` and ``deposit``, which
   `reflink.verdict.batch` fills. tests/reflink/verdict/plain.py computes the same values from the definitions.
2. A reference's trigrams and words are in three hash tables, built when the reference differs from that of the previous pair.
   Pairs of one reference should therefore be consecutive.

Cost of a pair: linear in the trigrams of the work's title, plus the comparison of names, venues and numbers.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.tiered import Plain
from reflink.verdict.evidence import COLUMN, TAGGED, TITLED, WRITTEN
from reflink.verdict.kernels.keys import same, starts_with
from reflink.verdict.kernels.letters import KINDS
from reflink.verdict.kernels.numerals import Kinds
from reflink.verdict.kernels.packing import Packed
from reflink.verdict.kernels.people import authors
from reflink.verdict.kernels.placing import distance, place, settle_unseen, several, title_years, within, year_word
from reflink.verdict.kernels.venues import venue_in_text, venue_similarity
from reflink.verdict.kernels.vocabulary import Hashes, Ints, cleared, has, put
from reflink.verdict.kernels.wording import APART, next_gram
from reflink.verdict.rules import ADDITION, BARE, BEGINNING, NAMED, NAMED_VENUE, UNSEEN

Floats = npt.NDArray[np.float64]

(_TITLE, _EQUAL, _COVER, _BEGINS, _CONTAINED, _LENGTH, _AUTHORS, _AGREEING, _FIRST, _SECOND, _GROUP, _YEAR, _VOLUME, _PAGE,
 _VENUE, _NUMBERS, _TITLE_YEAR, _MARKS, _BARE_ONE, _CARD) = (
    COLUMN[name] for name in ("title", "equal", "cover", "beginning", "contained", "length", "authors", "agreeing",
    "first_author", "second_author", "group", "year", "volume", "page", "venue", "numbers", "title_year", "marks",
    "bare", "card")
)  # fmt: skip
_SILENT: Final = math.nan


def fill(packed: Packed, pairs: Ints, groups: npt.NDArray[np.bool_]) -> Floats:
    """Return the rows of evidence of ``pairs`` (positions of two records), without identifiers.

    ``groups``: True for references that name a group and no person.
    """
    rows = np.full((len(pairs), len(COLUMN)), _SILENT)
    records = packed.records
    tables = [
        np.empty(16 * int((records[end] - records[start]).max()) + 16, np.uint64)
        for start, end in (("grams", "grams_end"), ("raw", "raw_end"), ("words", "words_end"))
    ]
    widest = int((records["spans_end"] - records["spans"]).max()) + 1
    _fill(pairs, packed, groups, KINDS, rows, *tables, np.empty((3, 7), np.int64), np.empty(widest, np.int64))
    return rows


@compiled()
def _found(letters: Any, part: int, part_end: int, whole: int, whole_end: int) -> bool:
    """Return whether one range of letters occurs within another."""
    for at in range(whole, whole_end - (part_end - part) + 1):
        if letters[at] == letters[part] and same(letters, part, part_end, at, at + part_end - part):
            return True
    return False


@compiled(plain=Plain(5.0, 8_000), nogil=True)
def _fill(
    pairs: Ints, packed: Any, groups: npt.NDArray[np.bool_], kinds: Kinds, rows: Floats, title_table: Hashes, raw_table: Hashes,
    word_table: Hashes, band: Ints, line: Ints,
) -> None:  # fmt: skip
    # Read each array from its tuple once: each access counts references, which costs more than the work on the array.
    records, letters, numbers, years, ordinals, gram_list, word_list = (
        packed.records, packed.letters, packed.numbers, packed.years, packed.ordinals, packed.grams, packed.words
    )  # fmt: skip
    begins, name_list, token_list, token_hashes, span_list, when = (
        packed.begins, packed.names, packed.tokens, packed.token_hashes, packed.spans, packed.published
    )  # fmt: skip
    last, titles, raws, words = -1, 61, 61, 61
    for pair in range(len(pairs)):
        at, other = pairs[pair]
        reference, work, row = records[at], records[other], rows[pair]
        if at != last:
            titles = cleared(title_table, reference.grams_end - reference.grams)
            for gram in range(reference.grams, reference.grams_end):
                put(title_table, titles, gram_list[gram])
            raws = _raw_grams(letters, reference.raw, reference.raw_end, raw_table)
            words = cleared(word_table, 2 * (reference.words_end - reference.words))
            for word in range(reference.words, reference.words_end):
                put(word_table, words, word_list[word, 0])
                if word_list[word, 1] != word_list[word, 0] and begins[word, 1] & APART:
                    put(word_table, words, word_list[word, 1])
            last = at
        long, wide = reference.title_end - reference.title, work.title_end - work.title
        has_text = reference.raw_end > reference.raw
        equal = same(letters, reference.title, reference.title_end, work.title, work.title_end)
        row[_LENGTH] = wide
        tagged, published = when[at], when[other]
        if wide:
            shared, seen = 0, 0
            grams = work.grams_end - work.grams
            for gram in range(work.grams, work.grams_end):
                key = gram_list[gram]
                shared += has(title_table, titles, key)
                seen += has(raw_table, raws, key)
            if long:
                count = reference.grams_end - reference.grams
                smaller = min(count, grams)
                row[_TITLE] = 2 * shared / (count + grams + smaller - shared) if shared else 0.0
                row[_EQUAL], row[_COVER] = equal, shared / smaller
                if equal:
                    row[_TITLE] = 1.0
                first, second = (reference, work) if long > wide else (work, reference)
                short, length = min(long, wide), max(long, wide)
                row[_BEGINS] = (
                    short >= BEGINNING
                    and length > ADDITION + short
                    and starts_with(letters, first.title, first.title_end, second.title, second.title_end)
                )
                row[_MARKS] = reference.marks != work.marks
                row[_TITLE_YEAR] = title_years(years, tagged, reference, published, work)
            if has_text:
                row[_CONTAINED] = seen / grams
            # Numbers; for a reference without title, the marks and years of the work's title are compared with the text.
            if equal:
                row[_NUMBERS] = 0.0
            elif long:
                a, a_end, b, b_end = reference.numbers, reference.numbers_end, work.numbers, work.numbers_end
                missing = not within(numbers, a, a_end, numbers, b, b_end)
                more = False
                for number in range(b, b_end):
                    if not within(numbers, number, number + 1, ordinals, reference.ordinals, reference.ordinals_end):
                        more |= not within(numbers, number, number + 1, numbers, a, a_end)
                row[_NUMBERS] = missing + more
            elif has_text:
                begin, end = reference.numbers_end, reference.raw_numbers_end
                row[_NUMBERS] = not within(numbers, work.numbers, work.numbers_end, numbers, begin, end)
            if has_text and not long:
                row[_MARKS] = work.marks & ~reference.raw_mark_words != 0 or reference.raw_marks & ~work.marks != 0
                if work.years_end > work.years:
                    row[_TITLE_YEAR] = 1.0
                    for year in range(work.years, work.years_end):
                        key = year_word(years[year])
                        found = False
                        for number in range(reference.numbers_end, reference.raw_numbers_end):
                            found |= numbers[number] == key
                        if not found:
                            row[_TITLE_YEAR] = _SILENT if several(years, work.years, work.years_end) else 0.0
        if work.names_end > work.names:
            if reference.names_end > reference.names:
                row[_AGREEING], row[_AUTHORS], row[_FIRST], row[_SECOND] = authors(
                    letters, name_list, token_list, token_hashes, reference.names, reference.names_end, work.names,
                    work.names_end, band,
                )  # fmt: skip
            elif reference.words_end > reference.words:
                _named(name_list, token_hashes, work, groups[at], reference.others, word_table, words, row)
            if row[_AGREEING] == 0.0 and _says_nothing(letters, name_list, reference, work):
                row[_AGREEING] = row[_AUTHORS] = row[_FIRST] = row[_SECOND] = _SILENT
        group = work.names_end > work.names and name_list[work.names, 1] - name_list[work.names, 0] > 2
        row[_GROUP] = groups[at] or group
        if not math.isnan(published):
            row[_YEAR] = distance(years, tagged, reference, published, work)
        row[_VOLUME], row[_PAGE] = place(letters, word_list, reference, work, kinds, word_table, words, band)
        if has_text and (row[_VOLUME] == UNSEEN or row[_PAGE] == UNSEEN):
            row[_VOLUME], row[_PAGE] = settle_unseen(letters, numbers, years, reference, work, row[_VOLUME], row[_PAGE])
        if work.has_venue:
            if reference.has_venue:
                row[_VENUE] = venue_similarity(
                    letters, span_list, reference.spans, reference.spans_end, work.spans, work.spans_end, line
                )
            elif work.venue_end - work.venue >= NAMED_VENUE and _found(
                letters, work.venue, work.venue_end, reference.raw, reference.raw_end
            ):
                row[_VENUE] = 1.0
            elif has_text:
                row[_VENUE] = venue_in_text(
                    letters, begins, reference.words, reference.words_end, reference.raw_end, span_list, work.spans,
                    work.spans_end,
                )  # fmt: skip
        bare = not long and reference.names_end == reference.names and reference.raw_length < BARE
        row[_BARE_ONE] = bare
        row[_CARD] = TITLED if long else TAGGED if reference.tagged else WRITTEN


@compiled()
def _raw_grams(letters: Any, start: int, end: int, table: Hashes) -> int:
    """Put the citation's trigrams into a table; return the table's shift."""
    shift: int = cleared(table, end - start)
    gram = np.uint64(0)
    for at in range(start, end):
        gram = next_gram(gram, letters[at])
        if at - start >= 2 or at == end - 1:
            put(table, shift, gram)
    return shift


@compiled()
def _named(
    names: Ints, hashes: Hashes, work: Any, group: bool, others: bool, words: Hashes, shift: int, row: Floats
) -> None:  # fmt: skip
    """Fill the columns of authors by searching the citation for the work's first ``NAMED`` authors.

    One word of a name of two suffices ("Babu" of "Kalyana Babu"). ``others``: the citation abbreviates its authors by "et
    al", so only the authors up to the last one found count.
    """
    named = min(work.names_end - work.names, NAMED)
    count, first, last = 0, False, 1
    for name in range(named):
        here, seen = names[work.names + name], 0
        for token in range(here[0], here[1]):
            seen += has(words, shift, hashes[token])
        found = seen > 0 and (seen == here[1] - here[0] or here[1] - here[0] == 2)
        count += found
        first |= found and name == 0
        if found:
            last = name + 1
    if count or not group:
        row[_AGREEING], row[_AUTHORS], row[_FIRST] = count, count / (last if others else named), first


@compiled()
def _says_nothing(letters: Any, names: Ints, reference: Any, work: Any) -> bool:
    """Return whether two records without a common author do not differ in authors.

    One of them names only a group, or the citation begins with the title and so names nobody.
    """
    a, b = reference.names, work.names
    if work.names_end - b == 1 and names[b, 1] - names[b, 0] > 2:
        return True
    if reference.names_end > a:
        return bool(reference.names_end - a == 1 and names[a, 1] - names[a, 0] > 2)
    start, end = reference.title, reference.title_end
    if start == end:
        start, end = work.title, work.title_end
    return bool(end - start >= BEGINNING and starts_with(letters, reference.raw, reference.raw_end, start, end))

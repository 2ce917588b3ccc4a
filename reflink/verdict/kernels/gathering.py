"""Gathers the records of a batch for the kernels: the characters of all fields in one array."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.blocking.untitled import Untitled, fields_of
from reflink.compiled import compiled
from reflink.entities import Reference, Work
from reflink.folding import _SCRAMBLED, _unscramble
from reflink.tiered import Plain
from reflink.verdict.kernels import letters
from reflink.verdict.kernels.letters import DROPPED, FOLDS, FOLLOWS, HEAD, KINDS, LENGTHS, MANY, UNSEEN_YET
from reflink.verdict.kernels.vocabulary import Codes, Ints
from reflink.verdict.rules import AUTHOR_LIMIT, NAME_LIMIT, RAW_LIMIT, TITLE_LIMIT, YEAR_LIMIT

#: Order of a record's fields: title, venue, volume, page, citation as written, end of the DOI; the authors' names begin at
#: NAMES.
TITLE, VENUE, VOLUME, PAGE, TEXT, DOI, NAMES = range(7)
#: Terminates each field. `gather` replaces this character in a record's own text with `_NO_LETTER`.
_END: Final = "\0"
_NO_LETTER: Final = "\1"

#: Maximum characters of the end of a DOI.
_DOI_END: Final = 14

_of_work: Final = itemgetter("title", "authors", "venue", "year", "volume", "fpage", "ids")
_of_reference: Final = itemgetter(
    "title",
    "last_names",
    "venue",
    "year",
    "volume",
    "first_page",
    "chapter_title",
    "raw_text",
    "raw_noid",
    "collab",
    "collectives",
)


class Gathered(NamedTuple):
    """n records with f fields in total, in the form that the kernels read.

    ``codes``: the fields' characters, uint32. ``first`` [n + 1]: each record's first field. ``starts``, ``ends`` [f]: position
    of a field in ``codes``; ``fold_starts``, ``fold_ends`` [f]: position of the text to fold, which differs where the field was
    decoded with the wrong encoding and has been repaired. ``years`` [n]: float64, NaN for none. ``groups`` [references]: True
    for a reference that names a group and no person. ``letters``: upper bound of the number of letters after folding.
    """

    codes: Codes
    first: Ints
    starts: Ints
    ends: Ints
    fold_starts: Ints
    fold_ends: Ints
    years: npt.NDArray[np.float64]
    groups: npt.NDArray[np.bool_]
    letters: int


def gather(references: Sequence[Reference], works: Sequence[Work]) -> tuple[Gathered, dict[int, Untitled]]:
    """Return the references, then the works, in the form that the kernels read.

    Also return the fields of the references without title and authors, by their positions.
    """
    parts: list[str] = []
    years: list[Any] = []
    counts: list[int] = []
    groups: list[bool] = []
    only: dict[int, Untitled] = {}
    for row, reference in enumerate(references):
        title, names, venue, year, volume, page, chapter, text, bare, *group = _of_reference(reference.__dict__)
        text = text if bare is None else bare
        if not title and (fields := fields_of(reference)):
            (venue, year, volume, page, names), text = fields, ""
            if not names:
                only[row] = fields
        title = title or chapter or ""
        if not title and venue and not volume:  # a book: works name its publisher as their venue
            title, venue = venue, reference.publisher or venue
        if len(names) > AUTHOR_LIMIT:
            names = names[:AUTHOR_LIMIT]
        parts += (title, venue or "", volume or "", page or "", text, "")
        parts += names
        years.append(year if year is None or -YEAR_LIMIT < year < YEAR_LIMIT else None)
        counts.append(len(names))
        groups.append(not names and any(group))
    for work in works:
        title, names, venue, year, volume, page, ids = _of_work(work.__dict__)
        doi = ids.__dict__["doi"]
        title = title or (not volume and venue) or ""
        if len(names) > AUTHOR_LIMIT:
            names = names[:AUTHOR_LIMIT]
        parts += (title, venue or "", volume or "", page or "", "", doi[-_DOI_END:] if doi else "")
        parts += names
        years.append(year if year is None or -YEAR_LIMIT < year < YEAR_LIMIT else None)
        counts.append(len(names))
    first = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(np.array(counts, np.int64) + NAMES, out=first[1:])
    joined = _END.join(parts)
    found = _fields(joined, len(parts))
    if found is None:
        parts = [part.replace(_END, _NO_LETTER) for part in parts]
        found = _fields(_END.join(parts), len(parts))
        assert found is not None
    codes, starts, ends, scrambled, size = found
    fold_starts, fold_ends = starts, ends
    if len(scrambled):
        right = [_right(parts[field], field, first) for field in scrambled]
        found = _fields(_END.join(right), len(right))
        assert found is not None  # the terminator has been replaced in every field by now
        more, more_starts, more_ends, _, more_size = found
        fold_starts, fold_ends = starts.copy(), ends.copy()
        fold_starts[scrambled], fold_ends[scrambled] = more_starts + len(codes), more_ends + len(codes)
        codes, size = np.concatenate((codes, more)), size + more_size
    gathered = Gathered(
        codes, first, starts, ends, fold_starts, fold_ends, np.array(years, np.float64), np.array(groups, np.bool_), size
    )
    return gathered, only


def _right(part: str, field: int, first: Ints) -> str:
    """Return the compared part of a field with its encoding repaired."""
    place = field - int(first[np.searchsorted(first, field, side="right") - 1])
    limit = NAME_LIMIT if place >= NAMES else {TITLE: TITLE_LIMIT, TEXT: RAW_LIMIT}.get(place)
    return _SCRAMBLED.sub(_unscramble, part[:limit])


def _fields(joined: str, number: int) -> tuple[Codes, Ints, Ints, Ints, int] | None:
    """Return characters, starts, ends, fields in the wrong encoding, and an upper bound of the folded letters.

    Returns None if a field contains the terminator.
    """
    codes = np.frombuffer((joined + _END).encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds, unseen, scrambled = np.zeros(number + 1, np.int64), np.empty(1000, np.uint32), np.empty(number, np.int64)
    while True:
        unknown, wrong, size = _scan(codes, FOLDS, KINDS, bounds[1:], unseen, scrambled)
        if unknown < 0:
            return None
        if not unknown:
            return codes, bounds[:-1], bounds[1:] - 1, scrambled[:wrong], size
        letters.learn(set(unseen[:unknown].tolist()))


@compiled(plain=Plain(0.5, 200_000), nogil=True)
def _scan(
    codes: Codes, folds: npt.NDArray[np.int32], kinds: npt.NDArray[np.uint16], bounds: Ints, unseen: Codes, scrambled: Ints
) -> tuple[int, int, int]:
    """Fill ``bounds`` with the start of each next field, ``unseen`` with characters that have no fold yet, and ``scrambled``
    with the fields in the wrong encoding; return the number of unseen characters (-1 if there are too many fields), the number
    of scrambled fields, and an upper bound of the number of folded letters.
    """
    field, unknown, wrong, size = 0, 0, 0, 0
    for at in range(len(codes)):
        code = codes[at]
        if code == 0:
            if field == len(bounds):
                return -1, 0, 0
            bounds[field] = at + 1
            field += 1
        elif code < 128:
            size += 1
        else:
            fold = folds[code]
            if fold == UNSEEN_YET and unknown < len(unseen):
                unseen[unknown] = code
                unknown += 1
            size += (fold - MANY) % LENGTHS if fold > DROPPED else 1
            mixed = kinds[code] & HEAD and codes[at + 1] and kinds[codes[at + 1]] & FOLLOWS
            if mixed and (wrong == 0 or scrambled[wrong - 1] != field):
                scrambled[wrong] = field
                wrong += 1
    return unknown, wrong, size

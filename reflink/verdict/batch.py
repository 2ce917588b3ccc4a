"""Compute the evidence of many pairs at once, or of one pair, by compiled kernels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from reflink.blocking.untitled import Untitled, fields_of, in_supplement, title_proper
from reflink.entities import ID_KINDS, Ids, Reference, Work
from reflink.folding import folded_words
from reflink.verdict.evidence import COLUMN, UNTITLED, Evidence, Floats
from reflink.verdict.kernels import comparing
from reflink.verdict.kernels.gathering import gather
from reflink.verdict.kernels.packing import Packed, pack
from reflink.verdict.kernels.vocabulary import marks_value
from reflink.verdict.rules import DEPOSITS, RAW_LIMIT, TITLE_LIMIT
from reflink.verdict.titles import marks

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_IDENTIFIER: Final = COLUMN["identifier"]
_DEPOSIT: Final = COLUMN["deposit"]
#: Names of preprint servers and data repositories in a citation.
_NAMED_DEPOSIT: Final = re.compile(
    r"rxiv|preprint|pre-print|\bssrn\b|research square|figshare|dryad|zenodo|mendeley data|dataverse", re.IGNORECASE
)
_VENUE: Final = COLUMN["venue"]
_of_venue: Final = itemgetter("venue", "venue_abbreviations", "issns")
_of_ids: Final = itemgetter(*ID_KINDS)
_NONE: Final = (None,) * len(ID_KINDS)


class JournalNames(Protocol):
    """A table of journals."""

    def are_one(self, name: str, venue: str | None, abbreviations: tuple[str, ...], issns: tuple[str, ...], /) -> bool:
        """Return whether ``name`` means the journal of the other values."""


def compare_all(
    references: Sequence[Reference],
    works: Sequence[Work],
    pairs: Rows,
    by_identifier: Flags | None = None,
    journals: JournalNames | None = None,
) -> Floats:
    """Return the rows of evidence, float64 [n, columns], of ``pairs`` [n, 2]: positions in ``references`` and in ``works``.

    ``by_identifier`` [n]: the catalog found the work by an identifier of the reference. ``journals``: the catalog's table
    of journals, if it has one. Every record is prepared once, however many pairs it is in. Pairs of one reference should be
    consecutive: the reference's tables are then built once.
    """
    if not len(pairs):
        return np.empty((0, len(COLUMN)))
    gathered, untitled = gather(references, works)
    packed = pack(gathered)
    settle_marks(packed, references, works)
    rows = comparing.fill(packed, pairs + np.array([0, len(references)]), gathered.groups)
    compare_untitled(rows, untitled, works, pairs)
    compare_deposits(rows, references, works, pairs)
    if journals is not None:
        compare_journals(rows, references, works, pairs, journals)
    compare_identifiers(rows, references, works, pairs)
    if by_identifier is not None:
        rows[by_identifier, _IDENTIFIER] = 1.0
    return rows


def evidence(
    reference: Reference, work: Work, *, by_identifier: bool = False, journals: JournalNames | None = None
) -> Evidence:
    """Return the evidence that ``reference`` cites ``work``. Both may lack any field. See `compare_all`."""
    rows = compare_all([reference], [work], np.zeros((1, 2), np.int64), np.array([by_identifier]), journals)
    return Evidence(*rows[0].tolist())


def compare_untitled(rows: Floats, untitled: Mapping[int, Untitled], works: Sequence[Work], pairs: Rows) -> None:
    """Complete the rows of references without title and authors.

    Since nothing else is known of such a reference, a page of a supplement ("S12") differs from a page ("12"), and the venue is
    also compared with the title proper of the work's venue.
    """
    if not untitled:
        return
    (selected,) = np.nonzero(np.isin(pairs[:, 0], list(untitled)))
    rows[selected, COLUMN["card"]], rows[selected, COLUMN["bare"]] = UNTITLED, 0.0
    venues: list[int] = []
    for row in selected[rows[selected, COLUMN["page"]] > 0].tolist():
        fields, work = untitled[int(pairs[row, 0])], works[pairs[row, 1]]
        if in_supplement(fields.first_page) != in_supplement(work.fpage or ""):
            rows[row, COLUMN["page"]] = 0.0
        elif rows[row, COLUMN["venue"]] < 1.0:
            venues.append(row)
    if venues:
        named = [Reference(id="", citing="", position=1, venue=untitled[int(pairs[row, 0])].venue) for row in venues]
        proper = [Work(id="", venue=title_proper(works[pairs[row, 1]].venue or "")) for row in venues]
        again = compare_all(named, proper, np.repeat(np.arange(len(venues)), 2).reshape(-1, 2))[:, COLUMN["venue"]]
        rows[venues, COLUMN["venue"]] = np.fmax(rows[venues, COLUMN["venue"]], again)


def compare_journals(
    rows: Floats, references: Sequence[Reference], works: Sequence[Work], pairs: Rows, journals: JournalNames
) -> None:
    """Set the column ``venue`` to 1 where reference and work name one journal, for references without title.

    Where titles agree, the journal decides nothing.
    """
    named = {row: name for row, reference in enumerate(references) if (name := _journal(reference))}
    if not named:
        return
    for row in np.flatnonzero((rows[:, _VENUE] < 1) & np.isin(pairs[:, 0], list(named))).tolist():
        at, work = pairs[row].tolist()
        if journals.are_one(named[at], *_of_venue(works[work].__dict__)):
            rows[row, _VENUE] = 1.0


def _journal(reference: Reference) -> str | None:
    """Return the journal that a reference without title names, in its fields or in its text."""
    if reference.title or reference.chapter_title:
        return None
    fields = None if reference.venue else fields_of(reference)
    return fields.venue if fields else reference.venue


def settle_marks(packed: Packed, references: Sequence[Reference], works: Sequence[Work]) -> None:
    """Set the marks of titles with semicolons, or with brackets and marks, which the kernels cannot determine.

    Such a title may cite another article's volume and page, or end in a remark about the work.
    """
    for row in np.flatnonzero(packed.records["unsure"]).tolist():
        record: Reference | Work
        if row < len(references):
            record = references[row]
            title = record.title or record.chapter_title
        else:
            record = works[row - len(references)]
            title = record.title
        title = (title or record.venue or "")[:TITLE_LIMIT]
        packed.records["marks"][row] = marks_value(marks(title, folded_words(title)))


def compare_deposits(rows: Floats, references: Sequence[Reference], works: Sequence[Work], pairs: Rows) -> None:
    """Set the column ``deposit``. Plain Python suffices: few works are preprints or data sets."""
    deposited = np.fromiter(((work.ids.doi or "").startswith(DEPOSITS) for work in works), np.bool_, len(works))
    if not deposited.any():
        return
    for row in np.flatnonzero(deposited[pairs[:, 1]]).tolist():
        reference = references[pairs[row, 0]]
        rows[row, _DEPOSIT] = not _NAMED_DEPOSIT.search(f"{reference.venue or ''} {reference.raw_query[:RAW_LIMIT]}")


def compare_identifiers(rows: Floats, references: Sequence[Reference], works: Sequence[Work], pairs: Rows) -> None:
    """Set the column ``identifier``. Plain Python suffices: few references have identifiers and also other candidates."""
    given = np.fromiter((_has_ids(each) for each in references), np.bool_, len(references))
    if not given.any():
        return
    for row in np.flatnonzero(given[pairs[:, 0]]).tolist():
        reference, work = references[pairs[row, 0]], works[pairs[row, 1]]
        shared = _shared(reference.ids, work.ids)
        if shared is None and _shared(reference.ids_weak, work.ids):
            shared = True  # an identifier found in the text can confirm a pair, but a different one proves nothing
        if shared is not None:
            rows[row, _IDENTIFIER] = float(shared)


def _shared(reference: Ids, work: Ids) -> bool | None:
    """Return True if an identifier is shared, False if two of a kind differ and none is shared, None if no kind is in both."""
    both = [(a, b) for kind in ID_KINDS if (a := getattr(reference, kind)) and (b := getattr(work, kind))]
    return any(a == b for a, b in both) if both else None


def _has_ids(reference: Reference) -> bool:
    values = reference.__dict__
    return bool(_of_ids(values["ids"].__dict__) != _NONE or _of_ids(values["ids_weak"].__dict__) != _NONE)

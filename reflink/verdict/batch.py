"""The evidence of many pairs at once: what ``reflink.verdict.evidence.compare`` says of each, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

import numpy as np
import numpy.typing as npt

from reflink.entities import ID_KINDS, Reference, Work
from reflink.verdict import fields
from reflink.verdict.compiled import comparing
from reflink.verdict.compiled.gathering import gather
from reflink.verdict.compiled.packing import Packed, pack
from reflink.verdict.compiled.points import log_odds
from reflink.verdict.compiled.vocabulary import marks_value
from reflink.verdict.description import TITLE_LIMIT
from reflink.verdict.evidence import COLUMN
from reflink.verdict.folding import folded_words
from reflink.verdict.titles import marks

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_IDENTIFIER: Final = COLUMN["identifier"]
_of_ids: Final = itemgetter(*ID_KINDS)
_NONE: Final = (None,) * len(ID_KINDS)


def compare_all(
    references: Sequence[Reference], works: Sequence[Work], pairs: Rows, by_identifier: Flags | None = None
) -> Floats:
    """The rows of evidence, [n, columns], of ``pairs`` [n, 2]: positions in ``references`` and in ``works``.

    ``by_identifier`` [n]: the catalog found the work by an identifier of the reference. Every record is prepared once, however
    many pairs it is in; pairs of one reference should stand side by side.
    """
    if not len(pairs):
        return np.empty((0, len(COLUMN)))
    gathered = gather(references, works)
    packed = pack(gathered)
    settle_marks(packed, references, works)
    rows = comparing.fill(packed, pairs + np.array([0, len(references)]), gathered.groups)
    compare_identifiers(rows, references, works, pairs)
    if by_identifier is not None:
        rows[by_identifier, _IDENTIFIER] = 1.0
    return rows


def settle_marks(packed: Packed, references: Sequence[Reference], works: Sequence[Work]) -> None:
    """Titles with semicolons, or with brackets and marks: they may cite a place, or end in a remark about the work."""
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


def compare_identifiers(rows: Floats, references: Sequence[Reference], works: Sequence[Work], pairs: Rows) -> None:
    """Few references have identifiers and other candidates than those they name."""
    given = np.fromiter((_has_ids(each) for each in references), np.bool_, len(references))
    if not given.any():
        return
    for row in np.flatnonzero(given[pairs[:, 0]]).tolist():
        reference, work = references[pairs[row, 0]], works[pairs[row, 1]]
        shared = fields.identifiers(reference.ids, work.ids)
        if shared is None and fields.identifiers(reference.ids_weak, work.ids):
            shared = True
        if shared is not None:
            rows[row, _IDENTIFIER] = float(shared)


def _has_ids(reference: Reference) -> bool:
    values = reference.__dict__
    return bool(_of_ids(values["ids"].__dict__) != _NONE or _of_ids(values["ids_weak"].__dict__) != _NONE)


__all__ = ["compare_all", "log_odds"]

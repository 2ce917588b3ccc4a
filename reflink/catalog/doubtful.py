"""Doubtful records of a catalog: works whose DOI belongs to another journal than their venue.

Such a record describes one work under the DOI of another, so a link by its description has a wrong identifier. The journals of
DOIs are learnt from the catalog itself: most publishers begin a DOI with a code of the journal ("10.1371/journal.pone").
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from reflink.entities import Work
from reflink.journals.names import are_alike, code_key

#: The list in a snapshot: a line with ``id``, ``venue`` and ``journal`` (of the DOI) for each doubtful record.
LIST: Final = "doubtful.jsonl"

#: Minimum number of works of a code that name its journal, and minimum share of one journal among them.
_WORKS: Final = 20
_SHARE: Final = 0.9
#: Minimum number of works of a venue with other codes: a venue that is not known elsewhere may be another name of the journal.
_KNOWN: Final = 5


class VenuesByCode:
    """Counts the venues of the works by the code in their DOI. Memory: 8 bytes per work, and the distinct venues and codes."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._venues: dict[str, int] = {}
        self._code, self._venue = array("i"), array("i")

    def add(self, work: Work) -> None:
        """Count the next work."""
        code = code_key(work.ids.doi)
        venue = work.venue if code else None
        self._code.append(self._codes.setdefault(code, len(self._codes)) if code and venue else -1)
        self._venue.append(self._venues.setdefault(venue, len(self._venues)) if venue else -1)

    def doubtful(self) -> Iterator[tuple[int, str, str]]:
        """Yield (row, venue, journal of the DOI) of each doubtful record, in order of the rows."""
        codes, venues = np.frombuffer(self._code, np.int32), np.frombuffer(self._venue, np.int32)
        names = list(self._venues)
        by_code = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[by_code], np.arange(len(self._codes) + 1))
        total = np.bincount(venues[codes >= 0], minlength=len(names))
        found: list[tuple[int, str, str]] = []
        for start, end in pairwise(starts.tolist()):
            if end - start < _WORKS:
                continue
            rows = by_code[start:end]
            distinct, counts = np.unique(venues[rows], return_counts=True)
            journal = names[distinct[counts.argmax()]]
            own = {int(each) for each in distinct if are_alike(names[each], journal)}
            count_of = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
            if sum(count_of[each] for each in own) < _SHARE * len(rows):
                continue
            for row in rows.tolist():
                venue = int(venues[row])
                if venue not in own and total[venue] - count_of[venue] >= _KNOWN:
                    found.append((row, names[venue], journal))
        yield from sorted(found)


def write(folder: Path, found: Iterable[tuple[str, str, str]]) -> None:
    """Write the list of doubtful records, (id, venue, journal of the DOI), into a snapshot, if any. Raises OSError."""
    lines = [orjson.dumps({"id": id_, "venue": venue, "journal": journal}) + b"\n" for id_, venue, journal in found]
    if lines:
        (folder / LIST).write_bytes(b"".join(lines))


def count(folder: Path) -> int:
    """Return the number of doubtful records in a snapshot's list. Raises OSError."""
    path = folder / LIST
    return path.read_bytes().count(b"\n") if path.exists() else 0

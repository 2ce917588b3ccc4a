"""Make a record of arXiv from its raw fields, which are the same in all formats of arXiv."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from reflink.entities import Ids, Inferred, Work
from reflink.errors import BadRecord
from reflink.identifiers import normalise_arxiv, normalise_doi
from reflink.names import divided, is_group
from reflink.recognition import recognise
from reflink.sources.source import SourceRecord
from reflink.sources.tex import plain
from reflink.workids import work_id

_YEAR: Final = re.compile(r"(?<!\d)(19[89]\d|20\d\d)(?!\d)")
#: Separators of authors in one text: "A. Einstein, N. Rosen and B. Podolsky (for the EPR Collaboration)".
_NEXT: Final = re.compile(r"\s*(?:,\s*(?:and|&)\s|,|;|\sand\s|\s&\s)\s*")
_BRACKETED: Final = re.compile(r"\([^()]*\)")
_COLLABORATION: Final = re.compile(r"(?i)\bcollaborations?\b")
_ET_AL: Final = re.compile(r"(?i)et\.? al\.?")
#: Between a speaker and the group: "Anna Lee for the CMS Collaboration".
_FOR: Final = re.compile(r"(?i)(?:^|\s+)(?:for|on behalf of)\s+")
_THE: Final = re.compile(r"(?i)^the\s+")
#: Maximum number of characters of a name, and number of authors.
_MAX_NAME: Final = 300
_MAX_AUTHORS: Final = 10_000
#: Maximum number of characters of a reference to a journal and of a list of authors.
_MAX_PLACE: Final = 1_000
_MAX_LIST: Final = 500_000


@dataclass(frozen=True, slots=True)
class Preprint:
    """The fields of a preprint as arXiv writes them, some with TeX.

    ``authors``: last and given names; the name of a group has no given name or is divided between the two. ``created``: the
    date of the first version, ``version``: of the record. ``journal``: the reference to the published article.
    """

    id: str
    version: int
    title: str
    authors: tuple[tuple[str, str], ...]
    created: str
    journal: str = ""
    doi: str = ""


def source_record(preprint: Preprint) -> SourceRecord:
    """Return the record. Raises BadRecord if the id is not one of arXiv."""
    arxiv = normalise_arxiv(preprint.id)
    if arxiv is None:
        raise BadRecord(f"id: not an id of arXiv: {preprint.id[:60]!r}")
    dois = (normalise_doi(part) for part in preprint.doi[:_MAX_PLACE].replace(",", " ").split())
    ids = Ids.made({"arxiv": arxiv, "doi": next(filter(None, dois), None)})
    found: dict[str, Any] = {"id": work_id(ids, None), "ids": ids}
    if title := plain(preprint.title):
        found["title"] = title
    _read_authors(preprint.authors, found)
    created = _YEAR.search(preprint.created[:100])
    year = int(created[1]) if created else None
    place = _place(" ".join(preprint.journal[:_MAX_PLACE].split()))
    fields = {
        "venue": place.venue, "volume": place.volume, "issue": place.issue, "fpage": place.first_page, "lpage": place.last_page,
        "year": place.year or year, "online_year": year if place.year and year != place.year else None,
        "type": "journal-article" if ids.doi or preprint.journal else "posted-content",
    }  # fmt: skip
    found |= {name: value for name, value in fields.items() if value}
    return SourceRecord(arxiv, preprint.version, Work.made(found))


def authors_of(text: str) -> tuple[tuple[str, str], ...]:
    """Return last and given names of a list of authors in one text: "A. Einstein, N. Rosen (for the EPR Collaboration)"."""
    text = plain_list(text)
    groups = [part[1:-1] for part in _BRACKETED.findall(text) if _COLLABORATION.search(part)]
    names = (name for name in _NEXT.split(_BRACKETED.sub(" ", text)) if name.strip() and not _ET_AL.fullmatch(name.strip()))
    return tuple((name, "") if _COLLABORATION.search(name) else divided(name) for name in (*names, *groups))


def plain_list(text: str) -> str:
    """Return a long list of names without TeX."""
    return plain(text, limit=_MAX_LIST)


@lru_cache(maxsize=1 << 12)
def _place(text: str) -> Inferred:
    """Return the fields of the first work of a reference to a journal."""
    found = recognise(text.partition(";")[0]) if text else None
    return found or Inferred()


def _read_authors(authors: Iterable[tuple[str, str]], found: dict[str, Any]) -> None:
    names: list[str] = []
    groups: list[str] = []
    for last, given in authors:
        if len(names) == _MAX_AUTHORS:
            break
        name = plain(last[:_MAX_NAME])
        if _COLLABORATION.search(last) or (not given and is_group(last)):
            whole = plain(f"{given[:_MAX_NAME]} {last[:_MAX_NAME]}")
            speaker, _, name = _FOR.sub("\n", whole, count=1).rpartition("\n")
            if speaker:
                names.append(divided(speaker)[0])
            name = _THE.sub("", name)
            groups.append(name)
        if any(map(str.isalpha, name)):
            names.append(name)
    if names:
        found["authors"], found["collectives"] = tuple(names), tuple(groups)

"""Merge the fields of the records of one work.

Each rule gives the same result if the merged work is merged again with its records: it selects a value that a record has, or
unites the values in the order of the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from reflink.entities import Work
from reflink.folding import compact, fold
from reflink.merging.likeness import titles_of
from reflink.merging.members import Member
from reflink.merging.rules import Rules
from reflink.verdict.rules import TITLE_LIMIT

#: Maximum number of values of a united field.
MAX_VALUES: Final = 50
#: Fields of which the first record's value wins.
_FIRST: Final = ("title", "venue", "volume", "issue", "type", "language")
#: Minimum share of the names of a list of authors that a longer list of the same work has.
_SHARED: Final = 0.75
#: Maximum number of years between the publication online and in print.
_ONLINE: Final = 3
#: Maximum share of trigrams that another title, e.g. a translation, has in common with a title.
_OTHER_TITLE: Final = 0.5

_KNOWN: Final = frozenset(Work.model_fields)

Values = dict[str, Any]
Origins = dict[str, str]


def merge_fields(members: Sequence[Member], rules: Rules) -> tuple[Values, Origins]:
    """Return the merged fields without ``id`` and ``ids``, and the names of the records that each came from.

    ``members``: in the order of the rules.
    """
    values: Values = {}
    origins: Origins = {}

    def put(name: str, value: object, *sources: Member) -> None:
        if value is not None and value != ():
            values[name] = value
            origins[name] = sources[0].name if len(sources) == 1 else " ".join(dict.fromkeys(each.name for each in sources))

    def ordered(name: str) -> Sequence[Member]:
        ranks = rules.field_ranks.get(name)
        return members if ranks is None else sorted(members, key=lambda member: ranks.get(member.source, len(ranks)))

    for name in _FIRST:
        if found := first(ordered(name), name):
            put(name, getattr(found.work, name), found)
    if found := first(ordered("fpage"), "fpage"):
        put("fpage", found.work.fpage, found)
        _put_last_page(put, found, ordered("lpage"))
    if found := longest_authors(ordered("authors")):
        put("authors", found.work.authors, found)
        put("collectives", found.work.collectives, found)
    _put_years(put, ordered("year"))
    put_united(put, "translated_titles", _other_titles(values.get("title"), ordered("translated_titles")))
    put_united(put, "venue_abbreviations", _other_names(values.get("venue"), ordered("venue_abbreviations")))
    put_united(put, "issns", ((issn, member) for member in ordered("issns") for issn in member.work.issns))
    put_united(put, "related", ((each, member) for member in ordered("related") for each in member.work.related))
    stated = [member for member in ordered("status") if member.work.status]
    if stated:
        found = min(stated, key=lambda member: _seriousness(member.work.status, rules))
        put("status", found.work.status, found)
    for member in members:
        for name, value in (member.work.__pydantic_extra__ or {}).items():
            if name not in values:
                put(name, value, member)
    return values, origins


def first(members: Iterable[Member], name: str) -> Member | None:
    """Return the first record that has the field."""
    return next((member for member in members if getattr(member.work, name)), None)


def longest_authors(members: Sequence[Member]) -> Member | None:
    """Return the record with the longest list of authors that continues the first record's: other lists end in "et al.".

    A list continues another one if it has the same first author and three quarters of its names.
    """
    listed = [member for member in members if member.work.authors]
    if not listed:
        return None
    best = listed[0]
    while True:
        longer = [
            member for member in listed
            if len(member.work.authors) > len(best.work.authors) and _continues(member.work.authors, best.work.authors)
        ]  # fmt: skip
        if not longer:
            return best
        best = max(longer, key=lambda member: len(member.work.authors))


def _continues(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    names = [fold(name) for name in shorter]
    known = {fold(name) for name in longer}
    return fold(longer[0]) == names[0] and sum(name in known for name in names) >= _SHARED * len(names)


def _put_last_page(put: Callable[..., None], chosen: Member, members: Sequence[Member]) -> None:
    """Put the last page of the record that gave the first page, else of a record with the same first page."""
    same = [chosen, *(member for member in members if member.work.fpage == chosen.work.fpage)]
    if found := first(same, "lpage"):
        put("lpage", found.work.lpage, found)


def _put_years(put: Callable[..., None], members: Sequence[Member]) -> None:
    """Put the year of print: of a record that tells it from the year online, else of one with a volume, else the first.

    The year online is the one that a record states, else an earlier year of another record.
    """
    dated = [member for member in members if member.work.year is not None]
    if not dated:
        return
    both = [member for member in dated if member.work.online_year is not None]
    printed = (both or [member for member in dated if member.work.volume] or dated)[0]
    put("year", printed.work.year, printed)
    if both:
        put("online_year", printed.work.online_year, printed)
        return
    year = printed.work.year or 0
    earlier = [member for member in dated if 0 < year - (member.work.year or 0) <= _ONLINE]
    if earlier:
        found = min(earlier, key=lambda member: member.work.year or 0)
        put("online_year", found.work.year, found)


def put_united(put: Callable[..., None], name: str, values: Iterable[tuple[Any, Member]]) -> None:
    """Put the distinct values, at most MAX_VALUES, in their order."""
    found: dict[Any, Member] = {}
    for value, member in values:
        if len(found) < MAX_VALUES:
            found.setdefault(value, member)
    put(name, tuple(found), *found.values())


def _other_titles(title: str | None, members: Sequence[Member]) -> Iterable[tuple[str, Member]]:
    """Yield the titles that are not spellings of ``title`` or of one another: translations."""
    spellings = {compact((title or "")[:TITLE_LIMIT])}
    known: list[frozenset[str]] = []
    for member in members:
        for other in titles_of(member.work):
            letters = compact(other[:TITLE_LIMIT])
            if letters in spellings or len(known) > MAX_VALUES:
                continue
            if title and not known:
                known.append(trigrams(compact(title[:TITLE_LIMIT])))
            grams = trigrams(letters)
            if not any(_similar(grams, each) for each in known):
                spellings.add(letters)
                known.append(grams)
                yield other, member


def trigrams(letters: str) -> frozenset[str]:
    """Return the distinct trigrams of a folded text."""
    return frozenset(letters[at : at + 3] for at in range(max(1, len(letters) - 2)))


def _similar(a: frozenset[str], b: frozenset[str]) -> bool:
    return len(a & b) >= _OTHER_TITLE * min(len(a), len(b))


def _other_names(venue: str | None, members: Sequence[Member]) -> Iterable[tuple[str, Member]]:
    """Yield the names of the venue that differ from ``venue`` and from one another in more than spelling."""
    known = {compact(venue or "")}
    for member in members:
        for name in (*((member.work.venue,) if member.work.venue else ()), *member.work.venue_abbreviations):
            if (letters := compact(name)) not in known:
                known.add(letters)
                yield name, member


def _seriousness(status: str | None, rules: Rules) -> int:
    return rules.status.index(status) if status in rules.status else len(rules.status)


def work_of(values: Values, id_: str, ids: object) -> Work:
    """Return the work with the merged fields."""
    known = {name: value for name, value in values.items() if name in _KNOWN}
    work = Work.made({"id": id_, "ids": ids, **known})
    if len(known) < len(values):
        return work.model_copy(update={name: value for name, value in values.items() if name not in known})
    return work

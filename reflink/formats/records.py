"""What formats of metadata share: fields of a paper and of a citation from those of a work, and several papers in one file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from reflink.bibliography import papers
from reflink.bibliography.citation import DESCRIBING, Citation, described
from reflink.bibliography.references import MAX_INFERRED, Entry
from reflink.entities import Ids, Paper, Work
from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Options, Parsed
from reflink.identifiers import NO_IDS
from reflink.sources.types import BOOKS
from reflink.stripping import separate

#: Fields that works and papers have under one name.
_SHARED: Final = (
    "ids", "title", "translated_titles", "authors", "collectives", "venue", "venue_abbreviations", "issns", "year", "volume",
    "issue", "fpage", "lpage", "related", "language",
)  # fmt: skip
#: Fields that citations and works have under one name.
_CITED: Final = ("title", "venue", "year", "volume", "issue")
_YEAR: Final = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
#: Maximum number of characters in which a year is searched.
_MAX_YEAR: Final = 100
_MAX_ADDRESS: Final = 1000

#: A paper of a file: its fields, its name if it has no identifier, its entries, and warnings.
Part = tuple[Mapping[str, Any], str, list[Entry], tuple[str, ...]]
#: Last name, given names and whether it is a group.
Person = tuple[str, str, bool]


def paper_fields(work: Work) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Paper` that a work states."""
    found = {name: value for name in _SHARED if (value := getattr(work, name)) not in (None, ())}
    return found if work.type is None else {**found, "article_type": work.type}


def year_in(text: str) -> int | None:
    """Return the first year in a text, 1500 to 2099: "Spring 2001", "2003a"."""
    found = _YEAR.search(text[:_MAX_YEAR])
    return int(found[1]) if found else None


def names(people: Iterable[Person]) -> dict[str, Any]:
    """Return the fields of a citation that hold its authors."""
    persons: list[Person] = []
    groups: list[str] = []
    for person in people:
        if person[2]:
            groups.append(person[0])
        else:
            persons.append(person)
    found: dict[str, Any] = {"last_names": tuple(last for last, _, _ in persons)}
    if any(given for _, given, _ in persons):
        found["given_names"] = tuple(given for _, given, _ in persons)
    if groups:
        found["collab"], found["collectives"] = groups[0], tuple(groups)
    return found


def cited(
    work: Mapping[str, Any],
    people: Iterable[Person],
    *,
    kind: str | None,
    editors: Iterable[str],
    publisher: str | None,
    addresses: Iterable[str] = (),
) -> Citation | None:
    """Return the citation of a record of a bibliography.

    ``work``: fields of `Work`; ``kind``: the record's own word; ``addresses``: of the work, which may hold identifiers.
    """
    fields: Citation = {
        "kind": kind, **names(people), "editors": tuple(editors), **{name: work.get(name) for name in _CITED},
        "publisher": publisher, "first_page": work.get("fpage"), "last_page": work.get("lpage"),
        "translated_title": next(iter(work.get("translated_titles") or ()), None),
    }  # fmt: skip
    if work.get("type") in BOOKS and fields["venue"] == fields["title"]:
        fields["venue"] = None
    ids = {kind: value for kind, value in work.get("ids", NO_IDS) if value}
    for address in addresses:
        ids = {**separate(" ".join(address[:_MAX_ADDRESS].split()))[0], **ids}
    return described("", fields, Ids.made({**ids}))


def bibliography(content: Content, found: Iterable[tuple[str, Citation | None]], options: Options) -> tuple[Parsed, ...]:
    """Return the paper whose references are these records, each under its name in the file.

    Raises NotAPaper without a record, TooLarge beyond ``limits.references``.
    """
    entries: list[Entry] = []
    for number, (key, citation) in enumerate(found, start=1):
        check(number, content.name, options)
        if citation is not None:
            entries.append(Entry(key or None, None, [citation]))
    if not entries:
        raise NotAPaper(f"{content.name}: a bibliography without records")
    own = papers.own_name(content.data, content.source)
    return (parsed({}, own, entries, content, options),)


def several(content: Content, parts: Iterator[Part], options: Options) -> tuple[Parsed, ...]:
    """Return the papers of a file. Raises TooLarge if they together exceed ``limits.references``, NotAPaper without a paper.

    Of several records of one paper the one with the most references counts. Together the papers have the characters of untagged
    citations that one paper may have; the citations of the papers behind them are not inferred.
    """
    found: dict[str, Parsed] = {}
    count = length = 0
    for number, (fields, own, entries, warnings) in enumerate(parts, start=1):
        check(number, content.name, options, "papers")
        length += sum(len(work["raw_text"]) for entry in entries for work in entry.works if work.keys().isdisjoint(DESCRIBING))
        infer = options.infer and length <= MAX_INFERRED
        if options.infer and not infer:
            warnings += ("its citations without tags were not read: those of the papers before it are too many",)
        each = parsed(fields, own, entries, content, options, warnings=warnings, infer=infer)
        count += len(each.paper.references)
        check(count, content.name, options, "references in all")
        known = found.get(each.paper.id)
        if known is None or len(known.paper.references) < len(each.paper.references):
            found[each.paper.id] = each
    if not found:
        raise NotAPaper(f"{content.name}: no paper in it")
    return tuple(found.values())


def check(count: int, name: str, options: Options, what: str = "references") -> None:
    """Raise TooLarge if there are more than ``limits.references``, which bounds what a file of many small records costs."""
    if count > max(options.limits.references, 1 if what == "papers" else 0):
        raise TooLarge(f"{name}: more than {options.limits.references} {what}: divide the file")


def parsed(
    fields: Mapping[str, Any],
    own: str,
    entries: list[Entry],
    content: Content,
    options: Options,
    *,
    warnings: tuple[str, ...] = (),
    infer: bool | None = None,
) -> Parsed:
    """Return one paper with its references. ``own``: its id if it has no identifier. Raises TooLarge."""
    paper: Paper = papers.paper(
        fields, entries, own_name=own, source=content.name, limits=options.limits,
        infer=options.infer if infer is None else infer, warnings=warnings,
    )  # fmt: skip
    return Parsed(paper)

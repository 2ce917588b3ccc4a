"""Entries whose fields are stated by name: of BibTeX files, biblatex's .bbl files, and amsrefs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reflink.bibliography.citation import Citation, described
from reflink.entities import Ids
from reflink.formats.latex.commands import arxiv_of, doi_of
from reflink.formats.latex.macros import closing
from reflink.formats.latex.rendering import address
from reflink.names import divided, is_group
from reflink.sources import values
from reflink.sources.pages import first_and_last
from reflink.subtitles import joined

#: Last name, given names, and whether it is a group.
Person = tuple[str, str, bool]
#: Sources of the values of each field, by lower-case name.
Fields = dict[str, list[str]]
Plain = Callable[[str], str]

_NAME: Final = re.compile(r"[\s,]*([A-Za-z][\w:+.-]{0,60})\s*=\s*")
_VALUE: Final = re.compile(r"\s*(?:\{|\"|([^\s,{}\"#=]{1,200}))")
_QUOTE: Final = re.compile(r"[{}\"]|\\.", re.DOTALL)
_CONTINUED: Final = re.compile(r"\s*#")
_AND: Final = re.compile(r"\s+and\s+")
_YEAR: Final = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)(?!\d)")
MAX_VALUE: Final = 20_000
_MAX_FIELDS: Final = 200
MAX_PEOPLE: Final = 5_000
#: The kinds of entries whose own title is that of a book, so that a series is not where they were published.
_VENUES: Final = ("journal", "journaltitle", "shortjournal", "booktitle", "conference", "eventtitle", "xjournal")
_PUBLISHERS: Final = ("publisher", "institution", "school", "organization")
_KINDS: Final = {"arxiv": "arxiv", "pubmed": "pmid", "pmid": "pmid", "pmcid": "pmcid"}


def read_fields(text: str, macros: Mapping[str, str]) -> Fields:
    """Return the fields of a list ``name = value, ...``, in the syntax of BibTeX and amsrefs. ``macros``: BibTeX's strings."""
    found: Fields = {}
    at = 0
    for _ in range(_MAX_FIELDS):
        name = _NAME.match(text, at)
        if name is None:
            at = text.find(",", at) + 1
            if not at:
                break
            continue
        value, at = _read_value(text, name.end(), macros)
        if value.strip():
            found.setdefault(name[1].lower(), []).append(value[:MAX_VALUE])
    return found


def _read_value(text: str, at: int, macros: Mapping[str, str]) -> tuple[str, int]:
    parts: list[str] = []
    for _ in range(_MAX_FIELDS):
        start = _VALUE.match(text, at)
        if start is None:
            break
        if start[1] is not None:
            parts.append(macros.get(start[1].lower(), start[1]))
            at = start.end()
        else:
            opened = start.end() - 1
            close = closing(text, opened) if text[opened] == "{" else _quote(text, opened)
            if close < 0:
                return "", len(text)
            parts.append(text[opened + 1 : close])
            at = close + 1
        more = _CONTINUED.match(text, at)
        if more is None:
            break
        at = more.end()
    return "".join(parts), at


def _quote(text: str, start: int) -> int:
    """Return the position of the quotation mark that closes the one at ``start``, outside of braces; -1 if there is none."""
    depth = 0
    for found in _QUOTE.finditer(text, start + 1, start + MAX_VALUE):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
        elif found[0] == '"' and depth <= 0:
            return found.start()
    return -1


def citation(
    kind: str,
    fields: Fields,
    plain: Plain,
    authors: Sequence[Person] | None = None,
    editors: Sequence[Person] | None = None,
    text: str = "",
) -> Citation | None:
    """Return the citation of an entry. ``authors``: by default those of the field; ``text``: as printed, if it is known."""
    stated = {
        name: plain(content[0]) for name, content in fields.items() if name not in ("abstract", "annotation", "file", "note")
    }

    def first(*names: str) -> str | None:
        return next((value for name in names if (value := stated.get(name))), None)

    if authors is None:
        authors = [person for content in fields.get("author", ()) for person in people(content, plain)]
    if editors is None:
        editors = [person for content in fields.get("editor", ()) for person in people(content, plain)]
    persons = [person for person in authors if not person[2]]
    groups = tuple(person[0] for person in authors if person[2])
    if collaboration := first("collaboration"):
        groups = (*groups, collaboration.strip("() "))
    pages, last_page = first_and_last(first("pages") or "")
    title = joined(filter(None, (first("title"), first("subtitle"))))
    venue = first(*_VENUES)
    year = _YEAR.search(first("year", "date") or "")
    found: dict[str, Any] = {
        "kind": kind.lower() or None, "title": title.rstrip(".") or venue, "last_names": tuple(person[0] for person in persons),
        "given_names": tuple(person[1] for person in persons) if any(person[1] for person in persons) else None,
        "collectives": groups, "collab": groups[0] if groups else None, "editors": tuple(person[0] for person in editors),
        "venue": venue if title else None, "publisher": first(*_PUBLISHERS), "year": int(year[1]) if year else None,
        "volume": values.short(first("volume")), "issue": values.short(first("number", "issue")),
        "first_page": pages or values.short(first("eid", "article-number", "articleno")),
        "last_page": last_page,
    }  # fmt: skip
    return described(text, found, ids(fields))


def ids(fields: Fields) -> Ids:
    """Return the identifiers that fields state."""
    found: dict[str, str] = {}
    doi = address((fields.get("doi") or [""])[0])
    if stated := doi_of(doi) or doi:
        found["doi"] = stated
    sort = (fields.get("eprinttype") or fields.get("archiveprefix") or ["arxiv"])[0].strip().lower()
    eprint = address((fields.get("eprint") or fields.get("arxivid") or [""])[0])
    if sort == "arxiv" and (own := arxiv_of(eprint)):
        found["arxiv"] = own
    elif sort in _KINDS and sort != "arxiv" and eprint:
        found[_KINDS[sort]] = eprint
    for kind in ("pmid", "pmcid"):
        if kind in fields:
            found.setdefault(kind, address(fields[kind][0]))
    url = address((fields.get("url") or [""])[0])
    if "doi" not in found and (linked := doi_of(url)) and url.startswith("http"):
        found["doi"] = linked
    if "arxiv" not in found and url.startswith("http") and (named := arxiv_of(url)):
        found["arxiv"] = named
    return values.ids(**found)


def people(source: str, plain: Plain) -> list[Person]:
    """Return the persons of a field in the syntax of BibTeX: joined by "and"; a name in braces is that of a group."""
    found: list[Person] = []
    for name in _AND.split(" ".join(source.split()))[:MAX_PEOPLE]:
        text = plain(name).strip(" ,;")
        if not text or text.lower() == "others":
            continue
        braced = name.startswith("{") and closing(name, 0) == len(name) - 1
        if (braced and " " in text) or is_group(text):
            found.append((text, "", True))
        else:
            parts = [part.strip() for part in text.split(",")]
            last, given = (parts[0], parts[-1]) if len(parts) == 3 and not braced else (text, "") if braced else divided(text)
            found.append((last, given, False))
    return found

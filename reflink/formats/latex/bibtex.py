"""The entries of amsrefs and of BibTeX files, whose fields have the same syntax, and of AMS-TeX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from reflink.bibliography.citation import Citation
from reflink.formats.latex.macros import MAX_UNCLOSED, closing
from reflink.formats.latex.records import MAX_PEOPLE, MAX_VALUE, Fields, Plain, citation, read_fields

_BIB: Final = re.compile(r"\\bib\*?\s*\{([^{}]{1,300})\}\s*\{([A-Za-z*]{0,40})\}\s*\{")
_AT: Final = re.compile(r"@\s*([A-Za-z]{1,40})\s*[{(]\s*")
_KEY: Final = re.compile(r"([^\s,={}\"]{1,300})\s*,")
_NO_ENTRIES: Final = frozenset(("comment", "preamble", "set", "xdata", "control"))


def amsrefs_entries(text: str, plain: Plain) -> Iterator[tuple[str, Citation | None]]:
    """Yield key and citation of each entry \\bib{key}{type}{...} of amsrefs."""
    at = unclosed = 0
    while unclosed < MAX_UNCLOSED and (found := _BIB.search(text, at)):
        close = closing(text, found.end() - 1)
        unclosed += close < 0
        at = close if close >= 0 else found.end()
        if close >= 0:
            fields = read_fields(text[found.end() : close], {})
            if "date" in fields and "year" not in fields:
                fields["year"] = fields["date"]
            if "book" in fields:  # a compound value: the fields of the book that the entry stands in
                inner = read_fields(fields["book"][0], {})
                fields = {**{name: value for name, value in inner.items() if name not in ("title", "author")}, **fields}
                fields.setdefault("booktitle", inner.get("title", [""]))
            yield found[1].strip(), citation(found[2].strip("*"), fields, plain)


def bibtex_entries(text: str) -> Iterator[tuple[str, str, Fields]]:
    """Yield type, key and fields of each entry of a BibTeX file; an entry gets the fields that its ``crossref`` has."""
    macros = {name: name.capitalize() for name in "jan feb mar apr may jun jul aug sep oct nov dec".split()}
    found: dict[str, tuple[str, str, Fields]] = {}
    at = unclosed = 0
    while unclosed < MAX_UNCLOSED and (start := _AT.search(text, at)):
        kind = start[1].lower()
        opened = text.rfind("{", start.start(), start.end())
        close = closing(text, opened) if opened >= 0 else text.find("\n)", start.end())
        unclosed += close < 0
        following = text.find("\n@", start.end())
        if close < 0 or (0 <= following < close and opened < 0):
            close = following if following >= 0 else len(text)
        at = close + 1
        content = text[start.end() : close]
        if kind == "string":
            if len(macros) < MAX_PEOPLE:
                macros |= {name: value[0][:MAX_VALUE] for name, value in read_fields(content, macros).items()}
        elif kind not in _NO_ENTRIES and (key := _KEY.match(content)):
            found.setdefault(key[1], (kind, key[1], read_fields(content[key.end() :], macros)))
    for kind, name, fields in found.values():
        host = found.get((fields.get("crossref") or [""])[0].strip())
        if host is not None:
            fields = {
                **{key: value for key, value in host[2].items() if key not in ("title", "author", "doi", "pages")},
                **fields,
            }
            fields.setdefault("booktitle", host[2].get("title", [""]))
        yield kind, name, fields


_REF: Final = re.compile(r"\\ref(?![A-Za-z])(?=\s{0,20}\\(?:key|no|by|bysame|manyby|paper|book)(?![A-Za-z]))")
_PART: Final = re.compile(
    r"\\(key|no|by|bysame|manyby|paper|jour|vol|issue|yr|pages|page|book|bookinfo|inbook|publ|publaddr|eds|ed|paperinfo|toappear"
    r"|finalinfo|lang|transl|moreref|procinfo|miscnote)(?![A-Za-z])"
)
#: Fields of BibTeX by commands of AMS-TeX.
_AMSTEX: Final = {
    "by": "author", "manyby": "author", "paper": "title", "jour": "journal", "vol": "volume", "issue": "number", "yr": "year",
    "pages": "pages", "page": "pages", "book": "title", "inbook": "booktitle", "publ": "publisher",
    "eds": "editor", "ed": "editor",
}  # fmt: skip
_COMMA: Final = re.compile(r",\s*(?:and\s+)?")


def amstex_entries(text: str, plain: Plain) -> Iterator[tuple[str, Citation | None]]:
    """Yield key and citation of each entry \\ref ... \\endref of AMS-TeX; its key or number is its name."""
    starts = list(_REF.finditer(text))
    for number, found in enumerate(starts):
        limit = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        end = text.find("\\endref", found.end(), limit)
        content = text[found.end() : end if end >= 0 else limit][:MAX_VALUE]
        parts = _PART.split(content)
        stated = {name: value.strip(" \n\t,;") for name, value in zip(parts[1::2], parts[2::2], strict=True)}
        fields: Fields = {}
        for name, value in stated.items():
            if name in _AMSTEX and value:
                people = _AMSTEX[name] in ("author", "editor")
                fields.setdefault(_AMSTEX[name], []).append(_COMMA.sub(" and ", value) if people else value)
        kind = "article" if "jour" in stated else "book" if "book" in stated else ""
        printed = plain(" ".join(value for name, value in stated.items() if name not in ("key", "no")))
        yield plain(stated.get("key") or stated.get("no") or ""), citation(kind, fields, plain, text=printed)

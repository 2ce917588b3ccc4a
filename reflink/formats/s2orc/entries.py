"""Read one entry of a bibliography: ``bib_entries`` of S2ORC, doc2json and unarXive, and references of the REST interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reflink.bibliography.citation import Citation, described
from reflink.entities import Ids
from reflink.formats.grobid.checking import doubted
from reflink.formats.grobid.printed import corrected, unbroken
from reflink.formats.records import Person, names
from reflink.identifiers import NORMALISERS, normalise_issn
from reflink.names import divided, is_group
from reflink.sources import s2, values
from reflink.sources.pages import first_and_last

#: Kinds of identifiers by their keys in ``other_ids``, ``ids`` and ``externalIds``, in lower case without "_id".
_KINDS: Final = {
    "doi": "doi", "pmid": "pmid", "pubmed": "pmid", "pmcid": "pmcid", "pmc": "pmcid", "pubmedcentral": "pmcid",
    "arxiv": "arxiv",
}  # fmt: skip
#: Names of identifiers in an entry; few entries have others.
_MANY_IDS: Final = 50
_MAX_TITLE: Final = 3_000
#: Keys of the citation as printed: doc2json, its LaTeX parse, unarXive.
_PRINTED: Final = ("raw_text", "bib_entry_raw", "text")


def line(value: Any, most: int = values.MAX_SHORT) -> str:
    """Return a string as one line of at most ``most`` characters; a number as text; else ""."""
    if type(value) is not str:
        return str(value) if type(value) is int and abs(value) < values.MAX_VERSION else ""
    value = " ".join(value[: 2 * most].split())[:most].rstrip()
    return value if value.isprintable() else _printable(value)


def _printable(value: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in value).split())


def entry(value: dict[str, Any], doubts: list[str], name: str) -> Citation | None:
    """Return the citation of a bibliography entry; None if it states nothing. ``name``: the entry's, for ``doubts``."""
    raw = next((text for key in _PRINTED if (text := line(value.get(key), 40_000))), "")
    fields = _fields(value)
    ids = identifiers(value)
    if raw:
        raw = unbroken(raw)
        corrected(fields, raw)
        doubt = doubted(raw, fields, ids)
        if doubt is not None:
            doubts.append(name)
            ids = {}
            fields = {} if doubt == "work" else fields
    if raw and fields.get("title") == raw:  # what doc2json could not read it writes as the title
        fields.pop("title")
    return described(raw, fields, Ids.made({**ids}) if ids else None)


def _fields(value: dict[str, Any]) -> Citation:
    first, last = first_and_last(line(value.get("pages")))
    issue = line(value.get("issue")) or line(value.get("issn"))  # older releases call the issue "issn"
    if issue and normalise_issn(issue):
        issue = ""
    return {
        **names(people(value.get("authors"))), "title": line(value.get("title"), _MAX_TITLE),
        "venue": line(value.get("venue"), _MAX_TITLE) or line(value.get("journal"), _MAX_TITLE),
        "year": values.year(value.get("year")), "volume": line(value.get("volume")), "issue": issue,
        "first_page": first, "last_page": last,
    }  # fmt: skip


def people(authors: Any) -> Iterator[Person]:
    """Yield the authors of a list: in parts, or with a ``name`` in one piece."""
    for author in authors if type(authors) is list else ():
        if type(author) is str:
            author = {"name": author}
        if type(author) is not dict:
            continue
        if last := line(author.get("last")):
            middle = author.get("middle")
            given = [author.get("first"), *(middle if type(middle) is list else [middle])]
            yield last, " ".join(filter(None, map(line, given[: values.MAX_TEXTS]))), False
        elif name := line(author.get("name")) or line(author.get("first")):
            yield (name, "", True) if is_group(name) else (*divided(name), False)


def identifiers(value: dict[str, Any]) -> dict[str, str]:
    """Return the identifiers of a paper or an entry by kind, wherever the schemas keep them; the first of each kind."""
    found: dict[str, str] = {}
    for key in ("other_ids", "ids", "externalIds", "externalids", "identifiers"):
        if type(given := value.get(key)) is dict:
            _identify(given, found)
    _identify(value, found)
    return found


def _identify(given: dict[str, Any], found: dict[str, str]) -> None:
    for key in list(given)[:_MANY_IDS]:
        kind = _KINDS.get(key.lower().removesuffix("_id"))
        if kind is None or kind in found:
            continue
        for each in values.listed(given[key])[: values.MAX_TEXTS]:
            if (text := line(each)) and (known := NORMALISERS[kind](text)):
                found[kind] = known
                break


def cited_paper(value: dict[str, Any]) -> Citation | None:
    """Return the citation of a paper of the REST interface."""
    other = values.mapping(value.get("externalIds") or value.get("externalids"))
    work = s2.work_fields(value, other)
    fields: Citation = {
        **names(people(value.get("authors"))), "title": work["title"], "venue": work["venue"], "year": work["year"],
        "volume": work["volume"], "first_page": work["fpage"], "last_page": work["lpage"],
    }  # fmt: skip
    return described("", fields, work["ids"])

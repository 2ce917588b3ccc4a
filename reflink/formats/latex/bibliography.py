"""The bibliography of a LaTeX source, whatever its style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from reflink.bibliography.citation import DESCRIBING, Citation
from reflink.bibliography.references import Entry
from reflink.entities import Ids
from reflink.errors import TooLarge
from reflink.folding import folded_words
from reflink.formats.latex import records
from reflink.formats.latex.biblatex import biblatex_entries
from reflink.formats.latex.bibtex import amsrefs_entries, amstex_entries, bibtex_entries
from reflink.formats.latex.citations import Reading
from reflink.formats.latex.items import items
from reflink.formats.latex.project import Project
from reflink.identifiers import NO_IDS
from reflink.limits import Limits

_DOCUMENT: Final = re.compile(r"\\begin\s{0,10}\{(?:document|thebibliography)\}")
_CITED: Final = re.compile(
    r"\\(?:[A-Za-z]{0,12}cite[A-Za-z]{0,12}|fullcite|nocite)\*?\s*(?:\[[^\[\]]{0,500}\]\s*){0,2}\{([^{}]{1,5000})\}"
)
_PRINTS: Final = re.compile(r"\\(?:bibliography[A-Za-z]{0,20}\s*\{|printbibliography)")
_LABEL: Final = re.compile(r"(.{1,200}?)\s?\(((?:1[5-9]|20)\d\d[a-z]{0,2}|in press|submitted|n\.?\s?d\.)\)")
#: Maximum number of characters of a label.
_MAX_LABEL: Final = 200


def bibliography(project: Project, name: str, limits: Limits) -> list[Entry]:
    """Return the entries in order. Raises TooLarge (``limits.references``)."""
    reading = Reading(project.macros, len(project.text))
    found: list[Entry] = []
    for entry in _entries(project, reading):
        if len(found) >= limits.references:
            raise TooLarge(f"{name}: more than {limits.references} references")
        if entry.works:
            found.append(entry)
    return found


def _entries(project: Project, reading: Reading) -> Iterator[Entry]:
    text = project.body
    alone = _DOCUMENT.search(project.text) is None
    stated = {key: (kind, fields) for source in project.bibs for kind, key, fields in bibtex_entries(source)}
    some = False
    for records_of, sign in ((biblatex_entries, "\\entry"), (amsrefs_entries, "\\bib"), (amstex_entries, "\\endref")):
        if sign in text:
            for key, citation in records_of(text, reading.plain):
                some = True
                yield Entry(key or None, None, [citation] if citation else [])
    if some and "\\bibitem" not in text:
        return
    for item in items(text, alone=alone):
        some = True
        works = reading.citations(item)
        if item.key in stated and len(works) == 1 and works[0].keys().isdisjoint(DESCRIBING):
            works = [_with_fields(works[0], *stated[item.key], reading)]
        yield Entry(item.key, _label(reading, item.label), works)
    if not some and stated and _PRINTS.search(project.text):
        for key in _cited(text, stated):
            kind, fields = stated[key]
            citation = records.citation(kind, fields, reading.plain)
            yield Entry(key or None, None, [citation] if citation else [])


def _cited(text: str, stated: dict[str, tuple[str, records.Fields]]) -> Iterator[str]:
    """Yield the keys that the text cites, in order, and all keys where it cites "*"."""
    seen: set[str] = set()
    for found in _CITED.finditer(text):
        for key in found[1].split(","):
            key = key.strip()
            for each in stated if key == "*" else (key,):
                if each in stated and each not in seen:
                    seen.add(each)
                    yield each


def _with_fields(work: Citation, kind: str, fields: records.Fields, reading: Reading) -> Citation:
    """Return a work with the fields of its entry in a BibTeX file of the archive, if these agree with its printed text.

    They agree if the text has the title, or volume and page, and the year.
    """
    found = records.citation(kind, fields, reading.plain, text=work["raw_text"])
    if found is None:
        return work
    text = work["raw_text"]
    title = " ".join(folded_words(found.get("title", "")))
    titled = " " in title and title in " ".join(folded_words(text))
    located = all(str(found.get(name, "?")) in text for name in ("volume", "first_page"))
    if not (titled or located) or str(found.get("year", "")) not in text:
        return work
    given = {kind: value for kind, value in found.get("ids", NO_IDS) if value}
    given |= {kind: value for kind, value in work.get("ids", NO_IDS) if value}
    weak = {kind: value for kind, value in work.get("ids_weak", NO_IDS) if value and kind not in given}
    return {**found, **work, **({"ids": Ids.made(given)} if given else {}), "ids_weak": Ids.made(weak)}


def _label(reading: Reading, source: str | None) -> str | None:
    """Return the label of an entry as printed: "[3]", or of natbib's "Smith et al. (2001)"."""
    if not source:
        return None
    label = reading.label(source[:3_000])
    found = _LABEL.match(label)
    return (f"{found[1]} ({found[2]})" if found else label)[:_MAX_LABEL].strip() or None

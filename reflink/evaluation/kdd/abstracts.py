"""The metadata of the papers of the collection: arXiv's .abs files, or works as JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reflink.catalog.reading import read_works
from reflink.entities import Ids, Work
from reflink.errors import BadRecord
from reflink.evaluation.kdd.graph import paper_number
from reflink.formats.latex.citations import Reading
from reflink.identifiers import normalise_arxiv
from reflink.recognition import recognise

#: The first line of a field; the lines of its value that follow it are indented.
_FIELD: Final = re.compile(r"(Paper|Date|Title|Authors?|Journal-ref)(?: \([^()\n]*\))?:[ \t]*(.*(?:\n[ \t]+\S.*)*)")
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SHORT_YEAR: Final = re.compile(r"\d{1,2} [A-Z][a-z]{2} (\d\d)(?!\d)")
#: Affiliations: brackets without brackets in them, removed from the inside out.
_BRACKETS: Final = re.compile(r"\([^()]*\)")
_BETWEEN: Final = re.compile(r"\s*(?:[,;&]|(?<![\w.])and(?![\w.]))\s*")
_GROUP: Final = re.compile(r"(?i)\b(?:collaborations?|collab\.|group|team)(?!\w)")
_SUFFIX: Final = re.compile(r"(?i)(?:jr|sr)\.?|i{2,3}|iv")
#: Words between given names and last names that belong to the last name.
_PARTICLES: Final = frozenset("da das de dei del della der des di do dos du el la le van von den ten ter zu".split())
_LOCATOR: Final = re.compile(
    r"(?P<venue>[A-Za-z][A-Za-z&.:,' -]*?)[\s,]*(?P<volume>[A-Z]?[0-9]{1,4}[A-Z]?)"
    r"(?:\s*\((?P<before>(?:19|20)\d\d)\)[\s,:]*|[\s,:]+)(?:pp?\.?\s?)?(?P<page>[A-Z]?[0-9]{1,6})(?![0-9])"
)
#: Text without macros of a paper, read as LaTeX: the metadata have its accents.
_LATEX: Final = 100_000


def read_metadata(path: Path, archive: str) -> Iterator[Work | BadRecord]:
    """Yield the works of a folder with .abs files, in the order of their names, or of a file of JSON lines.

    ``archive``: of papers whose .abs file states none. In the place of an unreadable record: BadRecord. Raises OSError.
    """
    if not path.is_dir():
        yield from read_works(path)
        return
    for file in sorted(path.rglob("*.abs")):
        try:
            yield read_abstract(file.read_text(encoding="utf-8", errors="replace"), file.stem, archive)
        except BadRecord as error:
            yield BadRecord(f"{file}: {error}")


def read_abstract(text: str, name: str, archive: str) -> Work:
    """Return the work of an .abs file. ``name``: the file's, used if the text states no number. Raises BadRecord."""
    fields: dict[str, str] = {}
    for found in _FIELD.finditer(text):
        if found.start() == 0 or text[found.start() - 1] == "\n":
            fields.setdefault(found[1].removesuffix("s"), " ".join(found[2].split()))
    arxiv = normalise_arxiv(fields.get("Paper", "").partition(" ")[0])
    if arxiv is None:
        if (number := paper_number(name)) is None:
            raise BadRecord("no arXiv number, neither in a line Paper: nor as the name of the file")
        arxiv = f"{archive}/{number}"
    reading = Reading({}, _LATEX)
    stated = {key: " ".join(reading.plain(value).split()) for key, value in fields.items() if key in ("Title", "Author")}
    authors, groups = _people(stated.get("Author", ""))
    submitted, journal = _submitted(fields.get("Date", ""), arxiv), _journal(fields.get("Journal-ref", ""))
    year = journal.pop("year", None)
    return Work.from_dict({
        "id": f"arxiv:{arxiv}", "ids": Ids(arxiv=arxiv), "title": stated.get("Title") or None, "authors": authors,
        "collectives": groups, "year": int(year) if year else submitted,
        "online_year": submitted if year and int(year) != submitted else None, **journal,
    })  # fmt: skip


def _submitted(date: str, arxiv: str) -> int:
    """Return the year of a date; without one, that of the arXiv number."""
    if found := _YEAR.search(date):
        return int(found[0])
    short = found[1] if (found := _SHORT_YEAR.search(date)) else arxiv.rpartition("/")[2][:2]
    return int(short) + (1900 if int(short) > 90 else 2000)


def _people(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return last names with names of groups, and the names of groups, of "A. Name, B. van Other (Place) and C. Third"."""
    while (bare := _BRACKETS.sub(" ", text)) != text:
        text = bare
    authors: list[str] = []
    groups: list[str] = []
    for each in _BETWEEN.split(text.split("(")[0]):
        words = each.replace("~", " ").split()
        while words and _SUFFIX.fullmatch(words[-1]):
            words.pop()
        if not words or not any(char.isalpha() for char in words[-1]):
            continue
        if _GROUP.search(each):
            groups.append(" ".join(words))
            authors.append(groups[-1])
            continue
        start = len(words) - 1
        while start > 1 and words[start - 1].lower() in _PARTICLES:
            start -= 1
        if name := re.sub(r"^(?:[A-Z]\.-?)+(?=[A-Z][a-z])", "", " ".join(words[start:])):
            authors.append(name)
    return tuple(authors), tuple(groups)


def _journal(text: str) -> dict[str, str]:
    """Return venue, volume, first page and year of the first article that a Journal-ref names; {} if it shows none."""
    first = text.split(";")[0]
    years = _YEAR.findall(first)
    if found := _LOCATOR.match(first):
        year = found["before"] or (years[-1] if years else None)
        read = {"venue": found["venue"].strip(" ,"), "volume": found["volume"], "fpage": found["page"]}
        return {**read, **({"year": year} if year else {})}
    inferred = recognise(first)
    if inferred is None:
        return {}
    given = {
        "venue": inferred.venue, "volume": inferred.volume, "fpage": inferred.first_page,
        "year": str(inferred.year) if inferred.year else None,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value}

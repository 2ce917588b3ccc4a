"""Read the papers whose text is in paragraphs with spans: S2ORC to 2020, doc2json, CORD-19 and unarXive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from reflink.contexts.paragraphs import Mention, Paragraph, Part
from reflink.entities import Ids
from reflink.formats.s2orc.entries import identifiers, line, people
from reflink.identifiers import normalise_arxiv
from reflink.sources import values

#: Keys of the parses of a paper, in one of which its bibliography may be.
_PARSES: Final = ("pdf_parse", "latex_parse", "grobid_parse")
_PARTS: Final[tuple[tuple[str, Part], ...]] = (("abstract", "abstract"), ("body_text", "body"), ("back_matter", "back"))
_PMCID: Final = re.compile(r"PMC\d{2,9}")
_MAX_TITLE: Final = 3_000
_MAX_ABSTRACT: Final = 100_000


def parse_of(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the object with the bibliography and the text: the paper itself, or the parse with the most entries."""
    found = [each for each in (value, *map(value.get, _PARSES)) if type(each) is dict and type(each.get("bib_entries")) is dict]
    return max(found, key=lambda each: len(each["bib_entries"])) if found else None


def fields_of(value: dict[str, Any], parse: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return the fields of `reflink.entities.Paper`, and the paper's name if it has no identifier."""
    about = {**value, **values.mapping(value.get("metadata"))}
    own = line(value.get("paper_id")) or line(about.get("id"))
    ids = identifiers(about)
    if _PMCID.fullmatch(own):
        ids.setdefault("pmcid", own)
    elif _is_unarxive(parse) and (arxiv := normalise_arxiv(own)):
        ids.setdefault("arxiv", arxiv)
    authors = list(people(about.get("authors")))
    abstract = about.get("abstract")
    if type(abstract) is not str:
        parts = values.mappings(abstract or parse.get("abstract"))
        abstract = " ".join(filter(None, (line(part.get("text"), _MAX_ABSTRACT) for part in parts)))
    given = tuple(each for _, each, _ in authors)
    found = {
        "ids": Ids.made({**ids}) if ids else None, "title": line(about.get("title"), _MAX_TITLE),
        "authors": tuple(last for last, _, _ in authors), "given_names": given if any(given) else (),
        "collectives": tuple(last for last, _, group in authors if group),
        "venue": line(about.get("journal"), _MAX_TITLE) or line(about.get("venue"), _MAX_TITLE),
        "year": values.year(about.get("year")), "abstract": line(abstract, _MAX_ABSTRACT),
    }  # fmt: skip
    return {name: each for name, each in found.items() if each not in (None, "", ())}, own or None


def _is_unarxive(parse: dict[str, Any]) -> bool:
    """Return whether the paper comes from unarXive, which names papers by their arXiv ids."""
    return any(type(each) is dict and "bib_entry_raw" in each for each in parse["bib_entries"].values())


def paragraphs(parse: dict[str, Any]) -> Iterator[Paragraph]:
    """Yield the paragraphs of abstract, body and back matter."""
    for key, part in _PARTS:
        blocks = parse.get(key)
        for block in blocks if type(blocks) is list else ():
            if type(block) is dict and type(text := block.get("text")) is str:
                own: Part = "abstract" if block.get("section") == "Abstract" else part
                yield from paragraph(
                    text, _section(block.get("section")), own, _spans(block, "cite_spans"), _spans(block, "eq_spans")
                )
    sections = parse.get("sections")  # unarXive 2024 has an object by title instead
    for title, block in sections.items() if type(sections) is dict else ():
        if type(block) is dict and type(text := block.get("text")) is str:
            yield from paragraph(text, _section(title), "body", _spans(block, "cite_spans"), ())


#: Start, end and name of the entry that a span refers to.
Span = tuple[int, int, str]


def _spans(block: dict[str, Any], key: str) -> list[Span]:
    found: list[Span] = []
    spans = block.get(key)
    for span in spans if type(spans) is list else ():
        if type(span) is dict:
            start, end, name = span.get("start"), span.get("end"), span.get("ref_id")
            if type(start) is int and type(end) is int and (key == "eq_spans" or (type(name) is str and name)):
                found.append((start, end, str(name)))
    return found


def _section(value: Any) -> tuple[str, ...]:
    """Return the titles of a section: one title, titles joined by ":::", or a list whose members may be (number, title)."""
    if type(value) is str:
        return tuple(title for part in value.split(" ::: ") if (title := line(part)))
    found: list[str] = []
    for each in values.listed(value)[: values.MAX_TEXTS]:
        title = line(each[-1]) if type(each) is list and each else line(each)
        if title:
            found.append(title)
    return tuple(found)


def paragraph(
    text: str, section: tuple[str, ...], part: Part, cites: list[Span], formulas: list[Span] | tuple[()]
) -> Iterator[Paragraph]:
    """Yield the paragraph of a text, if it has any, as one line, with its spans at their new positions."""
    collapsed = " ".join(text.split())
    if not collapsed:
        return
    places = None if collapsed == text else _places(text)
    mentions: list[Mention] = []
    for start, end, name in sorted(cites):
        if found := _moved(start, end, text, places):
            last = mentions[-1] if mentions else None
            if last is not None and (last.start, last.stop) == found:
                mentions[-1] = Mention(*found, (*last.entries, name))
            else:
                mentions.append(Mention(*found, (name,)))
    spans = [found for start, end, _ in sorted(formulas) if (found := _moved(start, end, text, places))]
    yield Paragraph(collapsed, section, part, tuple(mentions), tuple(spans))


def _places(text: str) -> list[int]:
    """Return the position that each character of a text has in the text with white space collapsed."""
    places: list[int] = []
    at = 0
    space = True  # white space at the beginning is dropped
    for character in text:
        if character.isspace():
            places.append(at)
            space = True
            continue
        if space and at:
            at += 1
        places.append(at)
        at += 1
        space = False
    places.append(at)
    return places


def _moved(start: int, end: int, text: str, places: list[int] | None) -> tuple[int, int] | None:
    """Return a span without white space at its ends, in the collapsed text; None if it is empty or outside."""
    if not 0 <= start < end <= len(text):
        return None
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start == end:
        return None
    return (start, end) if places is None else (places[start], places[end - 1] + 1)

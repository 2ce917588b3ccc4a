"""From the documents of `reflink.jats.document` to papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lxml import etree

from reflink.bibliography import division, papers
from reflink.bibliography.references import Entry
from reflink.contexts.paragraphs import Paragraph
from reflink.entities import Paper
from reflink.errors import TooLarge
from reflink.identifiers import NO_IDS
from reflink.jats.bibliography import entries, placed
from reflink.jats.body import paragraphs
from reflink.jats.document import Document, documents, read
from reflink.jats.front import front, publisher_id
from reflink.limits import Limits
from reflink.markup.tree import parsed
from reflink.workids import work_id

#: Fields that a part of a publication has from the publication if it does not state them.
_SHARED: Final = ("venue", "venue_abbreviations", "issns", "publisher", "year", "volume", "issue", "language")


def parse(data: bytes, *, source: str | None = None, limits: Limits | None = None, infer: bool = True) -> Paper:
    """Parse one article from its XML, without those parts of it that are papers themselves (`parse_all`).

    ``source``: the caller's name of the article (file name, message key), used in errors, and as the paper's id if the article
    has no identifier. ``infer``: recognise the fields of untagged citations (`reflink.entities.Inferred`). Broken XML is
    recovered as far as possible, with ``warnings``. Raises NotAPaper if the bytes are not one JATS/NLM article or BITS book,
    and TooLarge if ``limits`` are exceeded.
    """
    limits = limits or Limits()
    document = read(data, source, limits)
    fields, own = _front(document, data, source, {})
    return _paper(document, entries(document, source or own, limits), fields, own, source, limits, infer)


def parse_all(
    data: bytes, *, source: str | None = None, limits: Limits | None = None, infer: bool = True, text: bool = False
) -> tuple[tuple[Paper, tuple[Paragraph, ...]], ...]:
    """Parse the papers that a document holds, each as `parse` does: articles, books, and their parts.

    A part is a paper if it has an identifier that the paper around it and earlier parts do not have: a ``sub-article``, a
    ``response``, a chapter. The references in it are its own; other references belong to the paper around it. A translation is
    a paper only if it has references. A part without references leaves its text with the paper around it, whose references the
    text may mention. ``text``: also read the text, which takes twice the time of the rest.

    Raises as `parse` does, but accepts several articles; ``limits.references`` bounds the articles and the references of all.
    """
    limits = limits or Limits()
    found: dict[str, tuple[Paper, tuple[Paragraph, ...]]] = {}
    for each in papers_of(documents(data, source, limits), data, source, limits, infer=infer):
        paper = each.paper
        if paper.id in found:
            first, its_text = found[paper.id]
            warning = "another article with the same identifier was left out"
            found[paper.id] = first.model_copy(update={"warnings": (*first.warnings, warning)}), its_text
            continue
        article = parsed(each.document.source, source or paper.id, [])[0] if text else None
        found[paper.id] = paper, paragraphs(article) if article is not None else ()
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Read:
    """A paper, and where its references are.

    ``works``: of each work of its entries, the number of references that its text was divided into, and where in
    ``document.source`` the names of its citation elements begin.
    """

    paper: Paper
    document: Document
    works: list[tuple[int, list[int]]]


def papers_of(
    groups: list[list[Document]], data: bytes, source: str | None, limits: Limits, *, infer: bool, located: bool = False
) -> Iterator[Read]:
    """Yield the papers of the articles and books of a document. ``located``: set `Read.works`. Raises TooLarge."""
    inherited: dict[etree._Element, dict[str, Any]] = {}
    total = 0
    for number, group in enumerate(groups, start=1):
        for document in group:
            fields, own = _front(document, data, source, inherited)
            own = own if number == 1 else f"{own}~{number}"
            found = placed(document, source or own, limits)
            works = _works(found) if located else []
            paper = _paper(document, [entry for entry, _ in found], fields, own, source, limits, infer)
            total += len(paper.references)
            if total > limits.references:
                raise TooLarge(f"{source or own}: more than {limits.references} references")
            yield Read(paper, document, works)


def parse_front(data: bytes, *, source: str | None = None, limits: Limits | None = None) -> Paper:
    """Parse the metadata of one article as `parse` does, and leave out its references, which take most of the time."""
    document = read(data, source, limits or Limits())
    fields, own = _front(document, data, source, {})
    return Paper.model_construct(id=work_id(fields.get("ids", NO_IDS), own), warnings=document.warnings, **fields)


def _front(
    document: Document, data: bytes, source: str | None, inherited: dict[etree._Element, dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """Return the fields of the paper, and its id if it has no identifier. ``inherited``: fields by `Document.outer`."""
    fields = front(document.article)
    if document.outer is not None:
        if document.outer not in inherited:
            outer = front(document.outer)
            inherited[document.outer] = {name: outer[name] for name in _SHARED if name in outer}
        fields = {**inherited[document.outer], **fields}
    return fields, papers.own_name(data, source, publisher_id(document.article))


def _paper(
    document: Document,
    found: list[Entry],
    fields: dict[str, Any],
    own: str,
    source: str | None,
    limits: Limits,
    infer: bool,
) -> Paper:
    return papers.paper(fields, found, own_name=own, source=source, limits=limits, infer=infer, warnings=document.warnings)


def _works(found: list[tuple[Entry, list[list[int]]]]) -> list[tuple[int, list[int]]]:
    return [
        (len(division.works(work)), places)
        for entry, all_places in found
        for work, places in zip(entry.works, all_places, strict=True)
    ]

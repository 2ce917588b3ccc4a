"""Parse JATS, NLM and PMC articles to `reflink.entities.Paper`."""

from __future__ import annotations

from typing import Any

from reflink.bibliography import papers
from reflink.contexts.paragraphs import Paragraph
from reflink.entities import Paper
from reflink.identifiers import NO_IDS
from reflink.jats.bibliography import entries
from reflink.jats.body import paragraphs
from reflink.jats.document import Document, read
from reflink.jats.front import front, publisher_id
from reflink.limits import Limits
from reflink.markup.tree import parsed
from reflink.workids import work_id

__all__ = ["Limits", "parse", "parse_front", "parse_with_text"]


def parse(data: bytes, *, source: str | None = None, limits: Limits | None = None, infer: bool = True) -> Paper:
    """Parse one article from its XML.

    ``source``: the caller's name of the article (file name, message key), used in errors, and as the paper's id if the article
    has no identifier. ``infer``: recognise the fields of untagged citations (`reflink.entities.Inferred`). Broken XML is
    recovered as far as possible, with ``warnings``. Raises NotAPaper if the bytes are not a JATS/NLM article, and TooLarge if
    ``limits`` are exceeded.
    """
    limits = limits or Limits()
    return _paper(read(data, source, limits), data, source, limits, infer)


def parse_with_text(
    data: bytes, *, source: str | None = None, limits: Limits | None = None, infer: bool = True
) -> tuple[Paper, tuple[Paragraph, ...]]:
    """Parse one article as `parse` does, and its text, which takes twice the time of the rest."""
    limits = limits or Limits()
    document = read(data, source, limits)
    paper = _paper(document, data, source, limits, infer)
    article, _ = parsed(document.source, source or paper.id, [])
    return paper, paragraphs(article)


def _paper(document: Document, data: bytes, source: str | None, limits: Limits, infer: bool) -> Paper:
    fields, own = _front(document, data, source)
    found = entries(document, source or own, limits)
    return papers.paper(fields, found, own_name=own, source=source, limits=limits, infer=infer, warnings=document.warnings)


def parse_front(data: bytes, *, source: str | None = None, limits: Limits | None = None) -> Paper:
    """Parse the metadata of one article as `parse` does, and leave out its references, which take most of the time."""
    document = read(data, source, limits or Limits())
    fields, own = _front(document, data, source)
    return Paper.model_construct(id=own, warnings=document.warnings, **fields)


def _front(document: Document, data: bytes, source: str | None) -> tuple[dict[str, Any], str]:
    """Return the fields of the paper, and its id."""
    fields = front(document.article)
    ids = fields.get("ids", NO_IDS)
    own = papers.own_name(data, source, publisher_id(document.article))
    return fields, work_id(ids, None if ids.keys() else own)

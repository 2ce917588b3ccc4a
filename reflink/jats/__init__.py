"""JATS, NLM and PMC articles → `reflink.entities.Paper`."""

from __future__ import annotations

import hashlib

from reflink.entities import Paper
from reflink.identifiers import NO_IDS
from reflink.jats.bibliography import references
from reflink.jats.document import Document, Limits, read
from reflink.jats.front import front, publisher_id
from reflink.workids import work_id

__all__ = ["Limits", "parse"]


def parse(data: bytes, *, source: str | None = None, limits: Limits | None = None, infer: bool = True) -> Paper:
    """One article from its XML.

    ``source`` is what the caller calls it (file name, message key): used in errors, and as the paper's id when the article
    states no identifier. ``infer``: citations that their publisher did not tag get the fields that are sure
    (`reflink.entities.Inferred`). Broken XML gives what can be recovered, and ``warnings`` say so.
    Raises NotAPaper when the bytes are no JATS/NLM article, TooLarge when ``limits`` are exceeded.
    """
    limits = limits or Limits()
    document = read(data, source, limits)
    fields = front(document.article)
    ids = fields.get("ids", NO_IDS)
    citing = work_id(ids, None if ids.keys() else _own_name(document, data, source))
    cited = references(document, citing, source or citing, limits, infer=infer)
    return Paper.model_construct(id=citing, references=cited, warnings=document.warnings, **fields)


def _own_name(document: Document, data: bytes, source: str | None) -> str:
    """What to call a paper without identifiers."""
    return (source or "").strip() or publisher_id(document.article) or "sha256:" + hashlib.sha256(data).hexdigest()[:32]

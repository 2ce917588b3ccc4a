"""JATS, NLM and PMC articles → `reflink.entities.Paper`."""

from __future__ import annotations

import hashlib

from reflink.entities import Ids, Paper
from reflink.jats.bibliography import references
from reflink.jats.document import Limits, read
from reflink.jats.front import front, publisher_id
from reflink.workids import work_id

__all__ = ["Limits", "parse"]


def parse(data: bytes, *, source: str | None = None, limits: Limits | None = None) -> Paper:
    """One article from its XML.

    ``source`` is what the caller calls it (file name, message key): used in errors, and as the paper's id when the article
    states no identifier. Broken XML gives what can be recovered, and ``warnings`` say so.
    Raises NotAPaper when the bytes are no JATS/NLM article, TooLarge when ``limits`` are exceeded.
    """
    limits = limits or Limits()
    document = read(data, source, limits)
    fields = front(document.article)
    fallback = source or publisher_id(document.article) or "sha256:" + hashlib.sha256(data).hexdigest()[:32]
    citing = work_id(fields.get("ids", Ids()), fallback)
    cited = references(document.article, citing, source or citing, limits)
    return Paper.model_construct(id=citing, references=cited, warnings=document.warnings, **fields)

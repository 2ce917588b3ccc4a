"""Topic ``contexts``: where in its text a paper mentions one of its references. Key: reference id."""

from __future__ import annotations

from reflink.contexts.entities import CitationContext
from schemas.envelope import PaperEvent


class ContextsEvent(PaperEvent):
    """The mentions of one reference in one version of its paper, in the order of the text; none if the text has none.

    A reference that a newer version of the paper no longer has keeps its record: the topic ``links`` tells whether it exists.
    An event with a lower ``paper_version`` than the reference's link is of an older version of the paper.
    """

    reference: str
    contexts: tuple[CitationContext, ...] = ()

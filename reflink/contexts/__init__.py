"""Where in its text a paper cites: mentions of references, with their sentences and groups (papers 003 and 004)."""

from __future__ import annotations

from reflink.contexts.engine import contexts_of
from reflink.contexts.entities import CitationContext

__all__ = ["CitationContext", "contexts_of"]

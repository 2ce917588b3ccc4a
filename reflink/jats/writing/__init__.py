"""Write links into the references of JATS articles and BITS books, and leave all other bytes unchanged."""

from __future__ import annotations

from reflink.jats.writing.links import with_links

__all__ = ["with_links"]

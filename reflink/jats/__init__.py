"""Parse JATS, NLM and PMC articles, and books in BITS, to `reflink.entities.Paper`, and write links into them."""

from __future__ import annotations

from reflink.jats.reading import parse, parse_all, parse_front
from reflink.jats.writing import with_links
from reflink.limits import Limits

__all__ = ["Limits", "parse", "parse_all", "parse_front", "with_links"]

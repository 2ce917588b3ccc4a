"""Plain text: lists of citations."""

from __future__ import annotations

from reflink.formats.text.text import Text

__all__ = ["Text"]

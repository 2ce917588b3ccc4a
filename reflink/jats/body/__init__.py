"""The text of a JATS article in paragraphs, with the places where it mentions entries of its bibliography."""

from __future__ import annotations

from reflink.jats.body.reading import paragraphs

__all__ = ["paragraphs"]

"""Books and chapters in BITS and the book DTD of NLM."""

from __future__ import annotations

from typing import ClassVar, Final

from reflink.formats.content import Content
from reflink.formats.jats import Jats

_ROOTS: Final = ("book-part-wrapper", "book-part", "book", "collection")
#: Names that no DocBook and no MARCXML has.
_SIGNS: Final = (b"book-meta", b"book-part", b"book-body", b"collection-meta")


class Bits(Jats):
    """Books, and chapters as papers of their own if they have an identifier: NCBI's Bookshelf, Springer, university presses."""

    name: ClassVar[str] = "bits"
    about: ClassVar[str] = "books and chapters in BITS or NLM's book DTD, as NCBI's Bookshelf and publishers give them"

    def recognises(self, content: Content) -> bool:
        """Return whether the root element is a book, a chapter or a collection with metadata of BITS."""
        if content.root is None or content.root[0] not in _ROOTS:
            return False
        return any(sign in content.data or sign.decode().encode("utf-16-le") in content.data for sign in _SIGNS)

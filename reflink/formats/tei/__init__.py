"""TEI: articles and lists of citations as GROBID, Pub2TEI and HAL write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from reflink.formats.content import Content
from reflink.formats.format import Decision, Format, Options, Parsed
from reflink.formats.tei import marks
from reflink.formats.tei.documents import documents
from reflink.formats.tei.names import NAMESPACE
from reflink.formats.tei.writing import linked

_ROOTS: Final = frozenset(("TEI", "TEI.2", "teiCorpus", "listBibl", "biblStruct", "biblFull"))


class Tei(Format):
    """TEI, one paper for each ``TEI`` element, or for each ``biblFull`` of HAL."""

    name: ClassVar[str] = "tei"
    about: ClassVar[str] = "TEI of GROBID (full text, header, citation lists), Pub2TEI and HAL"
    endings: ClassVar[tuple[str, ...]] = (".tei.xml", ".tei", ".xml")
    writes: ClassVar[bool] = True

    def recognises(self, content: Content) -> bool:
        """Return whether the root element is one of TEI."""
        return content.root is not None and content.root[0] in _ROOTS and content.root[1] in ("", NAMESPACE)

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the papers, as they were before `with_links`."""
        return tuple(each.parsed for each in documents(marks.removed(content.data), content, options))

    def with_links(self, content: Content, decisions: Mapping[str, Decision]) -> bytes:
        """Return the document with the identifiers and the id of the cited work in each ``biblStruct`` and ``bibl``.

        All other bytes are unchanged, except that UTF-16 and UTF-32 become UTF-8. The links of an earlier call are replaced.
        Raises NotAPaper for XML that is not well-formed.
        """
        return linked(content, decisions)

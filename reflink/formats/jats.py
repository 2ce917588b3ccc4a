"""JATS, NLM and PMC articles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from reflink import jats
from reflink.formats.content import Content
from reflink.formats.format import Decision, Format, Options, Parsed

#: Elements that an article may begin with.
_FIRST: Final = frozenset(
    ("processing-meta", "front", "body", "back", "floats-group", "floats-wrap", "sub-article", "response")
)


class Jats(Format):
    """JATS and NLM articles, also within other XML: PMC article sets, OAI records, answers of a publisher's interface."""

    name: ClassVar[str] = "jats"
    about: ClassVar[str] = "JATS and NLM XML, as PubMed Central and publishers give it"
    endings: ClassVar[tuple[str, ...]] = (".xml", ".nxml")
    writes: ClassVar[bool] = True

    def recognises(self, content: Content) -> bool:
        """Return whether the root element is an article that begins as one of JATS does; publishers have articles, too."""
        return content.root is not None and content.root[0] == "article" and content.first_child in _FIRST

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the articles, and the parts of them that are papers themselves (`reflink.jats.parse_all`)."""
        found = jats.parse_all(
            content.data, source=content.source, limits=options.limits, infer=options.infer, text=options.text
        )
        return tuple(Parsed(paper, paragraphs) for paper, paragraphs in found)

    def with_links(self, content: Content, decisions: Mapping[str, Decision]) -> bytes:
        """Return the content with ``pub-id`` and ``ext-link`` elements for its links (`reflink.jats.with_links`)."""
        links = {name: (decision.link, decision.work) for name, decision in decisions.items()}
        return jats.with_links(content.data, links, source=content.source)

"""JATS, NLM and PMC articles."""

from __future__ import annotations

from typing import ClassVar

from reflink import jats
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed


class Jats(Format):
    """JATS and NLM articles, also in a PMC article set or an OAI record of one article."""

    name: ClassVar[str] = "jats"
    about: ClassVar[str] = "JATS and NLM XML, as PubMed Central and publishers give it"
    endings: ClassVar[tuple[str, ...]] = (".xml", ".nxml")

    def recognises(self, content: Content) -> bool:
        """Return whether the root element is an article, or none of a format that is known better."""
        return content.root is not None and content.root[0] == "article"

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the article."""
        data, source, limits, infer = content.data, content.source, options.limits, options.infer
        if options.text:
            return (Parsed(*jats.parse_with_text(data, source=source, limits=limits, infer=infer)),)
        return (Parsed(jats.parse(data, source=source, limits=limits, infer=infer)),)

"""JSON of Semantic Scholar: S2ORC in its schemas, what doc2json and unarXive write, and references of the REST interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from reflink.formats.content import Content
from reflink.formats.format import Decision, Format, Options, Parsed
from reflink.formats.s2orc.documents import documents, is_document, values_of
from reflink.formats.s2orc.writing import linked


class S2orc(Format):
    """Papers of S2ORC and reference lists of Semantic Scholar, one value or one on each line."""

    name: ClassVar[str] = "s2orc"
    about: ClassVar[str] = "S2ORC, doc2json, CORD-19 and unarXive; references of Semantic Scholar's REST interface"
    endings: ClassVar[tuple[str, ...]] = (".json", ".jsonl")
    writes: ClassVar[bool] = True

    def recognises(self, content: Content) -> bool:
        """Return whether the first value is a paper with a bibliography, or a list of references."""
        return any(map(is_document, values_of(content, most=1)))

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the papers. Links that the file has already are not read."""
        return tuple(each.parsed for each in documents(content, options))

    def with_links(self, content: Content, decisions: Mapping[str, Decision]) -> bytes:
        """Return the JSON with ``link``, ``link_ids`` and ``link_probability`` in each linked entry.

        ``link`` is the id of the cited work, in place of that of Semantic Scholar; without a link the entry is unchanged. The
        layout of the JSON is kept as far as indentation goes. Raises NotAPaper and TooLarge.
        """
        return linked(content, decisions)

"""The citation context: one mention of a reference in the text of its paper, with the sentences around it."""

from __future__ import annotations

from reflink.contexts.paragraphs import Part
from reflink.entity_base import Entity


class CitationContext(Entity):
    """One mention of a reference, in a paragraph of its paper.

    ``section``: titles of the sections around it, the outermost first. ``paragraph``: its number in the paper, from 1, in the
    order of `reflink.formats.Parsed`. ``start`` and ``stop``: the characters of the marker in the paragraph; ``marker``: their
    text, e.g. "[3]". ``implied``: the marker does not name the reference, but a range does that the marker begins ("[3]–[5]"
    names 4), a list does that is linked to its first entry, or the link has no text.

    ``sentence`` is the sentence of the marker, which begins at the character ``sentence_start`` of the paragraph; ``before``
    and ``after`` are its neighbours in the paragraph, if there are any. Each has at most `MAX_SENTENCE` characters: of a longer
    one, those nearest to the marker.

    ``text``: the same sentences as paper 003 gives them: the mention is MAINCIT, every other one CIT, a formula FORMULA, each
    between spaces. ``group``: ids of the other references that are cited with it, in order (see
    `reflink.contexts.grouping`), at most `MAX_GROUP`, the nearest.
    """

    part: Part = "body"
    section: tuple[str, ...] = ()
    paragraph: int
    start: int
    stop: int
    marker: str = ""
    implied: bool = False
    before: str | None = None
    sentence: str = ""
    sentence_start: int = 0
    after: str | None = None
    text: str = ""
    group: tuple[str, ...] = ()

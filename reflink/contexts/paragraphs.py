"""The text of a paper as its format gives it: paragraphs, with the places where they mention entries of the bibliography."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The part of the paper in which a paragraph stands.
Part = Literal["abstract", "body", "caption", "table", "footnote", "back"]


@dataclass(frozen=True, slots=True)
class Mention:
    """One marker in a paragraph: ``text[start:stop]``, e.g. "3" or "Smith et al., 2001".

    ``entries``: the names of the entries in their file (`reflink.entities.Reference.xml_id`) that the marker refers to, as the
    format states them. A range is two mentions, of its ends, with a dash between them, unless the format lists its entries.
    """

    start: int
    stop: int
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph as one line of text, and its mentions in order.

    ``section``: titles of the sections around it, the outermost first. ``formulas``: spans of formulas in the text.
    """

    text: str
    section: tuple[str, ...] = ()
    part: Part = "body"
    mentions: tuple[Mention, ...] = ()
    formulas: tuple[tuple[int, int], ...] = ()

"""Papers and paragraphs for tests of contexts, written as text with marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reflink.contexts.paragraphs import Mention, Paragraph
from reflink.entities import Paper, Reference

_MARK = re.compile(r"<([^<>|]*)\|([^<>|]*)>")


def paper(labels: Sequence[str | None], works: dict[int, int] | None = None) -> Paper:
    """Return a paper with an entry "r1", "r2", … for each label. ``works``: number of works of some entries."""
    references = []
    for number, label in enumerate(labels, start=1):
        for ordinal in range(1, (works or {}).get(number, 1) + 1):
            name = {} if label is None else {"label": label}
            id = f"p#r{number}.{ordinal}"
            references.append(Reference(id=id, citing="p", position=len(references) + 1, xml_id=f"r{number}", **name))
    return Paper(id="p", references=tuple(references))


def numbered(size: int) -> Paper:
    """Return a paper with entries labelled "1.", "2.", …"""
    return paper([f"{number}." for number in range(1, size + 1)])


def paragraph(marked: str) -> Paragraph:
    """Return the paragraph of a text with mentions as ``<marker|r1 r2>`` and formulas as ``<x=y|=>``."""
    pieces: list[str] = []
    mentions: list[Mention] = []
    formulas: list[tuple[int, int]] = []
    size = done = 0
    for found in _MARK.finditer(marked):
        before = marked[done : found.start()]
        start = size + len(before)
        size = start + len(found[1])
        pieces += [before, found[1]]
        if found[2] == "=":
            formulas.append((start, size))
        else:
            mentions.append(Mention(start, size, tuple(found[2].split())))
        done = found.end()
    pieces.append(marked[done:])
    return Paragraph("".join(pieces), mentions=tuple(mentions), formulas=tuple(formulas))

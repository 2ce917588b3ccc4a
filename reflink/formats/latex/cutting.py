"""Cut rendered text into paragraphs, at the marks of its sections, breaks and captions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reflink.contexts.paragraphs import Mention, Paragraph, Part
from reflink.formats.latex.rendering import Mark


def cut(
    text: str, marks: Sequence[Mark], part: Part, section: tuple[str, ...]
) -> tuple[list[tuple[int, Paragraph]], dict[str, tuple[str, ...]]]:
    """Return the paragraphs of a rendered text with their positions, and the sections of what is deferred, by its mark."""
    levels: list[tuple[int, str]] = [(-1, title) for title in section]
    sections: list[tuple[int, tuple[str, ...]]] = [(0, section)]
    cuts = [0]
    deferred: dict[str, tuple[str, ...]] = {}
    captions = [(mark.start, mark.stop) for mark in marks if mark.name == "caption"]
    back = None
    for mark in marks:
        if mark.name == "break":
            cuts.append(mark.start)
        elif mark.name == "caption":
            cuts += (mark.start, mark.stop)
        elif mark.name == "deferred":
            deferred[mark.value] = sections[-1][1]
        elif mark.name == "appendix":
            back = mark.start if back is None else back
        elif mark.name.startswith("section:"):
            level = int(mark.name[8:])
            while levels and levels[-1][0] >= level:
                levels.pop()
            if mark.value:
                levels.append((level, mark.value))
            sections.append((mark.start, tuple(title for _, title in levels)))
            cuts.append(mark.start)
    cuts = sorted({min(cut, len(text)) for cut in (*cuts, len(text))})
    mentions = sorted(
        (mark for mark in marks if mark.name == "mention" and mark.stop > mark.start), key=lambda mark: mark.start
    )
    formulas = sorted((mark.start, mark.stop) for mark in marks if mark.name == "formula")
    found: list[tuple[int, Paragraph]] = []
    at = formula = named = caption = 0
    for start, stop in pairwise(cuts):
        while named + 1 < len(sections) and sections[named + 1][0] <= start:
            named += 1
        while caption < len(captions) and captions[caption][1] <= start:
            caption += 1
        own: list[Mention] = []
        spans: list[tuple[int, int]] = []
        content = text[start:stop]
        first = start + len(content) - len(content.lstrip())
        content = content.strip()
        while at < len(mentions) and mentions[at].start < stop:
            mark = mentions[at]
            if first <= mark.start and mark.stop <= first + len(content):
                own.append(Mention(mark.start - first, mark.stop - first, (mark.value,)))
            at += 1
        while formula < len(formulas) and formulas[formula][0] < stop:
            low, high = formulas[formula]
            low, high = max(low - first, 0), min(high - first, len(content))
            if low < high and (not spans or low >= spans[-1][1]):
                spans.append((low, high))
            formula += 1
        if content:
            inside = caption < len(captions) and captions[caption][0] <= start < captions[caption][1]
            kind: Part = "caption" if inside else "back" if back is not None and start >= back and part == "body" else part
            found.append((first, Paragraph(content, sections[named][1], kind, tuple(own), tuple(spans))))
    return found, deferred

"""From the paragraphs of a paper to the citation contexts of its references.

1. It is a pure function of the references and the paragraphs, whatever their format.
2. It raises no error for any paragraphs.
3. Every reference has an entry, also without a mention; the mentions of a reference are in the order of the text.
4. Time and memory are bounded: `MAX_MENTIONS` and `MAX_CHARACTERS` of a reference, `MAX_CONTEXTS` of a paper.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from reflink.contexts import grouping
from reflink.contexts.entities import CitationContext
from reflink.contexts.entries import Entries
from reflink.contexts.marking import Marking
from reflink.contexts.paragraphs import Mention, Paragraph
from reflink.contexts.ranges import Slot, cited
from reflink.contexts.sentences import sentences
from reflink.entities import Paper

#: Limits of the contexts of one reference: the first ones, and their characters, so that they fit into a message. The most
#: cited reference of 1,510 real articles has 58 contexts; the longest contexts of one have 75,000 characters.
MAX_MENTIONS: Final = 100
MAX_CHARACTERS: Final = 250_000
#: Maximum number of contexts of one paper, which bounds their memory.
MAX_CONTEXTS: Final = 20_000
#: Maximum length of a sentence, of a marker and of a title, in characters.
MAX_SENTENCE: Final = 1_000
MAX_MARKER: Final = 200
MAX_TITLE: Final = 300
#: Maximum number of titles of a section path, the outermost ones.
MAX_DEPTH: Final = 10
#: Maximum number of references in the group of a context.
MAX_GROUP: Final = 50


def contexts_of(paper: Paper, paragraphs: Sequence[Paragraph]) -> dict[str, tuple[CitationContext, ...]]:
    """Return the contexts of each reference by its id, in the order of the references."""
    found: dict[str, list[CitationContext]] = {reference.id: [] for reference in paper.references}
    room = dict.fromkeys(found, MAX_CHARACTERS)
    entries = Entries(paper.references)
    left = MAX_CONTEXTS
    for number, paragraph in enumerate(paragraphs, start=1):
        if left <= 0:
            break
        if paragraph.mentions:
            for reference, context in islice(_contexts(number, _orderly(paragraph), entries, room, left), left):
                left -= 1
                room[reference] -= _size(context)
                found[reference].append(context)
                if room[reference] < 0 or len(found[reference]) == MAX_MENTIONS:
                    del room[reference]
    return {reference: tuple(contexts) for reference, contexts in found.items()}


def _size(context: CitationContext) -> int:
    """Return the number of characters of a context, roughly."""
    texts = context.text, context.sentence, context.before or "", context.after or "", *context.group, *context.section
    return sum(map(len, texts))


def _orderly(paragraph: Paragraph) -> Paragraph:
    """Return the paragraph with mentions and formulas in order and within its text, as a correct format gives them."""
    size = len(paragraph.text)
    mentions, formulas = paragraph.mentions, paragraph.formulas
    spans = [(each.start, each.stop) for each in mentions]
    if spans == sorted(spans) and all(0 <= start <= stop <= size for start, stop in (*spans, *formulas)):
        return paragraph
    kept = sorted((each for each in mentions if 0 <= each.start <= each.stop <= size), key=lambda each: (each.start, each.stop))
    inside = tuple(sorted((start, stop) for start, stop in formulas if 0 <= start <= stop <= size))
    return Paragraph(paragraph.text, paragraph.section, paragraph.part, tuple(kept), inside)


def _contexts(
    number: int, paragraph: Paragraph, entries: Entries, room: Mapping[str, int], limit: int
) -> Iterator[tuple[str, CitationContext]]:
    """Yield the references that a paragraph cites, with their contexts. References without ``room`` have enough already.

    ``limit``: of the number of references that the paragraph does not name but implies.
    """
    slots, joined = cited(paragraph, entries, limit)
    if not any(slots):
        return
    groups = grouping.groups(paragraph, joined)
    marking = Marking(paragraph, [run for group in groups for run in grouping.runs(paragraph, group)], slots)
    spans = sentences(paragraph.text, marking.spans)
    starts = [start for start, _ in spans]
    section = tuple(title[:MAX_TITLE] for title in paragraph.section[:MAX_DEPTH])
    for group in groups:
        inside = [slot for at in group for slot in slots[at]]
        together = list(dict.fromkeys(each for slot in inside for each in entries.all[slot.place].references))
        places = {each: place for place, each in enumerate(together)}
        for slot in inside:
            wanted = [each for each in entries.all[slot.place].references if each in room]
            if not wanted:
                continue
            mention = paragraph.mentions[slot.mention]
            at = max(0, bisect_right(starts, mention.start) - 1)
            about = _about(paragraph, mention, spans, at, marking, slot)
            about |= {"part": paragraph.part, "section": section, "paragraph": number, "implied": slot.implied}
            for each in wanted:
                yield each, CitationContext.made({**about, "group": _others(together, places[each])})


def _others(together: list[str], at: int) -> tuple[str, ...]:
    """Return the others of a group than the one at ``at``, the nearest if there are too many."""
    first = max(0, min(at - MAX_GROUP // 2, len(together) - MAX_GROUP - 1))
    return (*together[first:at], *together[at + 1 : first + MAX_GROUP + 1])


def _about(
    paragraph: Paragraph, mention: Mention, spans: list[tuple[int, int]], at: int, marking: Marking, slot: Slot
) -> dict[str, object]:
    """Return the fields of a context that depend on the place of the mention only. ``at``: the number of its sentence."""
    text = paragraph.text
    start, stop = spans[at] if spans else (0, 0)
    if stop - start > MAX_SENTENCE:
        start = max(start, min(mention.start - MAX_SENTENCE // 2, stop - MAX_SENTENCE))
        stop = min(stop, start + MAX_SENTENCE)
    about: dict[str, object] = {
        "start": mention.start,
        "stop": mention.stop,
        "marker": text[mention.start : mention.stop][:MAX_MARKER],
        "sentence": text[start:stop],
        "sentence_start": start,
    }
    marked = [marking.text(start, stop, slot)]
    if at:
        first, last = spans[at - 1]
        first = max(first, last - MAX_SENTENCE)
        about["before"] = text[first:last]
        marked.insert(0, marking.text(first, last, None))
    if at + 1 < len(spans):
        first, last = spans[at + 1]
        last = min(last, first + MAX_SENTENCE)
        about["after"] = text[first:last]
        marked.append(marking.text(first, last, None))
    about["text"] = " ".join(filter(None, marked))
    return about

"""Which entries each mention of a paragraph cites, with those that a range names: "[3]–[5]", "3-5", "[3] to [5]"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from reflink.contexts.entries import Entries, Number
from reflink.contexts.paragraphs import Paragraph

#: Dashes, as part of a class of characters.
_DASHES: Final = r"\-\u00ad‐‑‒–—―−﹣－~∼"
_FIRST: Final = re.compile(r"(?<![\w.])([A-Za-z]{0,2})(\d{1,5})(?=[^\w]*$)")
_LAST: Final = re.compile(r"[^\w]{0,4}([A-Za-z]{0,2})(\d{1,5})(?![\w])")
#: The text between the numbers of the ends of a range.
_BETWEEN: Final = re.compile(rf"[\])}}\s]{{0,4}}(?:[{_DASHES}]{{1,2}}|\s(?:to|through|until|bis|à|a)\s)[\[({{\s]{{0,4}}")
_WITHIN: Final = re.compile(
    rf"(?<![\w.{_DASHES}])([A-Za-z]{{0,2}})(\d{{1,5}})\s?(?:[{_DASHES}]{{1,2}}|\sto\s)\s?([A-Za-z]{{0,2}})(\d{{1,5}})(?![\w.]?[\w{_DASHES}])"
)
_ONLY_DASHES: Final = re.compile(rf"[\s{_DASHES}]*")
_ANY: Final = re.compile(r"([A-Za-z]{0,2})(\d{1,5})")
#: What precedes pages: "p. 3-5", "2010: 3-5".
_PAGES: Final = re.compile(r"(?:\b[Pp]{1,2}\.?|:)\s?$")
#: A character or word that a list of numbers has not.
_UNLISTED: Final = re.compile(rf"\b(?!(?:and|to)\b|[A-Za-z]{{0,2}}\d)\w|[^\w\s,;&()\[\]{{}}{_DASHES}]")
#: Number of entries of a mention that may be the end of a range.
_ENDS: Final = 3
#: Maximum length, in characters, of a marker that holds ranges.
_MAX_MARKER: Final = 500


class Slot(NamedTuple):
    """An entry that a mention cites: the number of the mention in its paragraph, and the place of the entry."""

    mention: int
    place: int
    implied: bool


def cited(paragraph: Paragraph, entries: Entries, limit: int) -> tuple[list[list[Slot]], frozenset[int]]:
    """Return the entries of each mention, in order, and the mentions that a range joins to the next one with text.

    The entries between the ends of a range are those of its first end. An entry that the mentions name themselves, or that is
    in one range already, is not repeated. ``limit``: of the number of implied entries.
    """
    text, mentions = paragraph.text, paragraph.mentions
    named = [entries.places(mention.entries) for mention in mentions]
    slots: list[list[Slot]] = []
    for at, (mention, places) in enumerate(zip(mentions, named, strict=True)):
        own = [Slot(at, place, mention.start == mention.stop) for place in places]
        marker = text[mention.start : mention.stop]
        if places and len(marker) <= _MAX_MARKER:
            inside = [place for place in _inside(marker, places, entries) if place not in places]
            if inside and limit > 0:
                own += [Slot(at, place, True) for place in dict.fromkeys(inside)]
                own.sort(key=lambda slot: slot.place)
                limit -= len(inside)
        slots.append(own)
    joined: set[int] = set()
    for first, last, whole in _pairs(paragraph, named, entries):
        joined.update(range(first, last))
        known = {slot.place for at in range(first, last + 1) for slot in slots[at]}
        if limit > 0:
            implied = [Slot(first, place, True) for place in whole if place not in known]
            slots[first] += implied
            limit -= len(implied)
    return slots, frozenset(joined)


def _inside(marker: str, places: Sequence[int], entries: Entries) -> Iterator[int]:
    """Yield the places that one marker names by ranges, such as "3–5", and by a list of numbers, such as "3, 8"."""
    numbers = [_number(*found.groups()) for found in _ANY.finditer(marker)]
    listed = len(numbers) > 1 and _UNLISTED.search(marker) is None
    known: list[int] = list(places)
    for number in numbers if listed else ():
        # Some publishers link a list to its first entry only.
        if (place := entries.numbered(number, places[0], numbers[0])) is not None:
            known.append(place)
            yield place
    for found in _WITHIN.finditer(marker):
        if _PAGES.search(marker[max(0, found.start() - 5) : found.start()]):
            continue
        start = _number(found[1], found[2])
        stop = _number(found[3] or found[1], found[4])
        for place in known:
            if (whole := entries.from_to(place, start, stop)) is not None:
                yield from whole
                break


def _pairs(paragraph: Paragraph, named: Sequence[Sequence[int]], entries: Entries) -> Iterator[tuple[int, int, range]]:
    """Yield the ranges between two mentions: the numbers of the mentions, and the places of the range."""
    text, mentions = paragraph.text, paragraph.mentions
    before: tuple[int, int, Number] | None = None  # the mention that may begin a range, where its number ends, and its number
    for at, mention in enumerate(mentions):
        marker = text[mention.start : mention.stop]
        if _ONLY_DASHES.fullmatch(marker):
            continue  # an empty link, or the dash of a range
        if before is not None and named[before[0]] and named[at]:
            first, end, start = before
            found = _LAST.match(marker)
            if found is not None and _BETWEEN.fullmatch(text[end : mention.start + found.start(1)]):
                whole = _whole(named[first][-_ENDS:], named[at][:_ENDS], start, _number(found[1], found[2]), entries)
                if whole is not None:
                    yield first, at, whole
        last = _FIRST.search(marker[-20:])
        before = None
        if last is not None:
            before = at, mention.stop - len(marker[-20:]) + last.end(2), _number(last[1], last[2])


def _whole(firsts: Iterable[int], lasts: Sequence[int], start: Number, stop: Number, entries: Entries) -> range | None:
    for first in firsts:
        for last in lasts:
            if (whole := entries.from_to(first, start, stop, last)) is not None:
                return whole
    return None


def _number(letters: str, digits: str) -> Number:
    return letters.lower(), int(digits)

"""Which entries each mention of a paragraph cites, with those that a range names: "[3]–[5]", "3-5", "[3] to [5]"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from reflink.contexts.entries import YEARS, Entries, Number
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
#: A number that is no link, with the dash between it and one that is: the last of a range, and the first.
_PLAIN_LAST: Final = re.compile(
    rf"[\])}}\s]{{0,4}}[{_DASHES}]{{1,2}}[\[({{\s]{{0,4}}([A-Za-z]{{0,2}})(\d{{1,5}})(?=\s?[\])}},;])"
)
_PLAIN_FIRST: Final = re.compile(
    rf"(?:[\[({{,;]\s?)([A-Za-z]{{0,2}})(\d{{1,5}})[\])}}\s]{{0,4}}[{_DASHES}]{{1,2}}[\[({{\s]{{0,4}}$"
)
#: Maximum number of characters from the opening bracket to a range.
_MAX_BRACKET: Final = 300
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
    for first, last, whole in _half_linked(paragraph, named, entries):
        known = {slot.place for at in range(first, last + 1) for slot in slots[at]}
        if limit > 0:
            slots[first] += [Slot(first, place, True) for place in whole if place not in known]
            slots[first].sort(key=lambda slot: slot.place)
            limit -= len(whole)
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
    ranges = _WITHIN.finditer(marker)
    within = [(found, _number(found[1], found[2]), _number(found[3] or found[1], found[4])) for found in ranges]
    # The "2" of "10–2" is entry 12.
    short = {found.start(3) for found, start, stop in within if stop[1] < start[1]}
    numbers = [_number(*found.groups()) for found in _ANY.finditer(marker) if found.start() not in short]
    listed = len(numbers) > 1 and _UNLISTED.search(marker) is None
    known: list[int] = list(places)
    for number in numbers if listed else ():
        # Some publishers link a list to its first entry only.
        if (place := entries.numbered(number, places[0], numbers[0])) is not None:
            known.append(place)
            yield place
    for found, start, stop in within:
        if _PAGES.search(marker[max(0, found.start() - 5) : found.start()]):
            continue
        if stop[1] < start[1]:
            yield from _whole(places[-_ENDS:], places[-_ENDS:], start, stop, entries) or ()
            continue
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
    """Return the range from one of ``firsts`` to one of ``lasts``. "10–2" is 10–12 if the last one is entry 12."""
    full = _in_full(start, stop)
    for first in firsts:
        for last in lasts:
            if full != stop and entries.number(last) != full:
                continue
            if (whole := entries.from_to(first, start, full, last)) is not None:
                return whole
    return None


def _in_full(start: Number, stop: Number) -> Number:
    """Return the last number of a range with the digits that it shares with the first one."""
    first, last = str(start[1]), str(stop[1])
    return (stop[0] or start[0], int(first[: -len(last)] + last)) if stop[1] < start[1] else stop


def _half_linked(paragraph: Paragraph, named: Sequence[Sequence[int]], entries: Entries) -> Iterator[tuple[int, int, range]]:
    """Yield the ranges in brackets of which one end is a link and the other end is a plain number, as `_pairs` does."""
    text, mentions = paragraph.text, paragraph.mentions
    shown = [at for at, each in enumerate(mentions) if not _ONLY_DASHES.fullmatch(text, each.start, each.stop)]
    for at, before, after in zip(shown, [-1, *shown], [*shown[1:], len(mentions)], strict=False):
        if not named[at]:
            continue
        start, stop = mentions[at].start, mentions[at].stop
        tail = text[max(start, stop - 20) : stop]
        if (own := _FIRST.search(tail)) is not None and not _UNLISTED.search(tail):
            begin, end = stop - len(tail) + own.start(1), stop - len(tail) + own.end(2)
            plain = _PLAIN_LAST.match(text, end)
            free = plain is not None and (after == len(mentions) or plain.end() <= mentions[after].start)
            if plain is not None and free and not text[begin - 1 : begin].isalnum() and _bracketed(text, begin):
                first, last = _number(own[1], own[2]), _number(plain[1] or own[1], plain[2])
                whole = None if first[1] in YEARS else entries.from_to(named[at][-1], first, last)
                if whole is not None:
                    yield at, after - 1, whole
        if (own := _LAST.match(text, start, stop)) is not None and not _UNLISTED.search(text, start, min(stop, start + 20)):
            far = max(mentions[before].stop if before >= 0 else 0, own.start(1) - 20)
            plain = _PLAIN_FIRST.search(text, far, own.start(1))
            if plain is not None and _bracketed(text, plain.start(1)):
                first, last = _number(plain[1], plain[2]), _number(own[1] or plain[1], own[2])
                place = named[at][0] - last[1] + first[1]
                if place >= 0 and first[1] not in YEARS:
                    whole = entries.from_to(place, first, last)
                    if whole is not None and whole[-1] == named[at][0]:
                        yield at, at, whole


def _bracketed(text: str, at: int) -> bool:
    """Return whether a place of a text is within brackets."""
    far = max(0, at - _MAX_BRACKET)
    return any(text.rfind(opening, far, at) > text.rfind(closing, far, at) for opening, closing in ("()", "[]", "{}"))


def _number(letters: str, digits: str) -> Number:
    return letters.lower(), int(digits)

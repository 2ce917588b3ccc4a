"""Divide a citation of several works into parts: "X. Wang, J. Am. Chem. Soc. 2004, 126, 1; Z. Chen, ibid. 2005, 127, 3".

A text is divided only between two works that are each complete, because a wrong division loses both links:

- A part ends in a volume, a page and a year in one of the usual orders, or in the year of a book.
- The next part follows a semicolon and begins with persons, "ibid.", a journal or a volume; or it follows a full stop and
  begins with persons, a number, or "Retraction in:". "a) …; b) …" is divided at the letters if each part may be a work.
- Nothing is divided within brackets: "[Erratum: Phys. Rev. D 75, 119908 (2007)]" belongs to the work before it.

A part that omits its persons or its journal has those of the part before it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from reflink.identifiers import occurrences, promising
from reflink.recognition.persons import persons

#: Maximum number of parts; a text with more is a table or a broken record.
MAX_PARTS: Final = 60
#: Maximum words and characters of a journal's name, and minimum characters of a book's title.
_MAX_WORDS: Final = 9
_MAX_JOURNAL: Final = 120
_MIN_TITLE: Final = 4
#: Maximum characters before the first letter: "For reviews, see: (a) …".
_MAX_HEAD: Final = 120

_YEAR: Final = r"(?:1[6-9]|20)\d\d"
_ISSUE: Final = r"(?:\s?\([^()]{1,24}\)|,?\s(?:no|iss|n)\.?\s?\d{1,4}(?:[-–/]\d{1,4})?)?"
_VOLUME: Final = rf"(?:[Vv]ol(?:ume)?\.?\s?)?[A-Z]{{0,2}}\s?\d{{1,4}}[A-Z]?{_ISSUE}"
_PAGE: Final = r"(?:pp?\.?\s?)?[A-Za-z]{0,4}\.?\d{1,8}[A-Za-z]?(?:\s?[-‐–—]{1,2}\s?[A-Za-z]{0,4}\d{1,8}[A-Za-z]?)?"
_ALONE: Final = r"(?<![\w.,–-])"
#: The end of a work: volume, page and year, or, before a semicolon, the year of a book or the pages of an article.
_END: Final = re.compile(
    rf"{_ALONE}(?:{_YEAR}[a-z]?(?:\s[A-Z][a-z]{{2,8}}\.?(?:\s\d\d?)?)?\s?[;,:]\s?{_VOLUME}\s?[:,;]\s?{_PAGE}"  # 2004, 43, 1
    rf"|{_VOLUME}\s?[:,]\s?{_PAGE}\s?,?\s?\(\s?{_YEAR}\s?\)"  # 43, 1 (2004)
    rf"|{_VOLUME}\s?\(\s?{_YEAR}\s?\)\s?[:,]?\s?{_PAGE}"  # 43 (2004) 1
    rf"|v(?:ol)?\.\s?\d{{1,4}}\s?,(?:\s?n[o.º]{{0,2}}\s?[\w/–-]{{1,10}},)?"  # v. 43, n. 2, p. 1, 2004
    rf"\s?pp?\.\s?{_PAGE},\s?[^,;\d]{{0,20}}{_YEAR}"
    rf"|\d{{1,4}}\s(?:[A-Z][\w.]{{0,5}}\s?){{1,3}}\s\d{{1,5}}(?:,\s\d{{1,5}})?\s\([^()]{{0,24}}{_YEAR}\))"  # 1 U.S. 2 (1973)
    rf"|(?P<weak>(?:\((?:[^()]{{0,60}}[\s,:;])?{_YEAR}[a-z]?\)|(?<=[\s,]){_YEAR}[a-z]?)"
    r"(?:,?\s(?:pp?\.?\s?)?\d{1,4}(?:[-–]\d{1,4})?)?"
    rf"|(?<=,\s){_VOLUME}\s?[:,]\s?{_PAGE})(?=\s?\.?\s?(?:;|$))"
)
_YEAR_ALONE: Final = re.compile(rf"(?<!\d){_YEAR}(?!\d)")
#: Text after the end of a work that still belongs to it.
_REST: Final = re.compile(
    r"(?:[\s,.]*(?:\[[^\[\]]{0,80}\]|\x02+"
    r"|\b(?i:doi|pmid|pmcid|arxiv|pubmed|and references (?:cited )?therein|in press)\b[\s:.\x02]*))*+,?"
)
_SEPARATOR: Final = re.compile(
    r"(?:\s?\.?\s?(?P<semicolon>;)\s*|\s?\.?\s+)(?P<announced>\d{1,3}\.\s|(?:Retraction|Erratum|Correction|Corrigendum) in:\s)?"
    r"(?:and\s|[Ss]ee\s(?:also\s)?|[Cc]f\.\s)?"
)
_SAME: Final = re.compile(r"(?i)(?P<journal>ibid(?:em)?\b\.?)|(?P<persons>idem\b\.?)")
#: A remark on the work before it, as the beginning of a part.
_REMARK: Final = re.compile(
    r"(?i)(?:erratum|errata|corrigend|correct|retract|discussion|author|reply|comment|translat|engl|reprint|republish|publish|epub|"
    r"cited|available|accessed|suppl|see|in|also|abstract|review|ed|eds|vol|pp?)\b"
)
#: A place that looks like a person: "San Antonio, TX".
_PLACE: Final = re.compile(r"[^,;.]+,\s[A-Z]{2}\.?")
_NOT_A_JOURNAL: Final = re.compile(r"[?“”\d]")
#: Two parties: "Roe v. Wade".
_CASE: Final = re.compile(r"\w\sv\.?\s[A-Z]")
_SMALL: Final = frozenset("of the and for in on de des der die für fur et la le du del y e und & a".split())
_LETTER: Final = re.compile(r"(?:(?<=[\s;,.:])|^)\(?([a-z])\)\.?\s?(?=\S)")
#: Replaces every character of an identifier.
_MASK: Final = "\x02"
#: Shows that a lettered part is a work.
_CLAIM: Final = re.compile(rf"(?i)(?<!\d){_YEAR}(?!\d)|\bibid|\b(?:unpublished|in press|submitted|personal comm)|{_MASK}")


class Part(NamedTuple):
    """One work of a text: ``text[start:stop]``; ``query`` is the same text with the persons and the journal that it omits.

    ``notice``: it is a notice about the work before it, such as its retraction.
    """

    start: int
    stop: int
    query: str
    notice: bool = False


def divide(text: str) -> list[Part]:
    """Return the parts of a citation of at least two works, in order; an empty list otherwise. Time is linear."""
    if len(_YEAR_ALONE.findall(text)) < 2:
        return []
    masked = _masked(text)
    spans = [part for start, stop in _lettered(masked) for part in _joined(masked, start, stop)]
    return _completed(text, masked, spans) if 2 <= len(spans) <= MAX_PARTS else []


def has_locator(text: str) -> bool:
    """Return whether the text has volume, page and year of a journal in one of the usual orders."""
    return any(not end["weak"] for end in _END.finditer(text))


def _masked(text: str) -> str:
    """Return the text with _MASK in place of every character of an identifier."""
    if not promising(text):
        return text
    pieces: list[str] = []
    at = 0
    for _, start, stop, _ in sorted(occurrences(text), key=lambda found: found[1:3]):
        if stop > at:
            pieces += (text[at : max(start, at)], _MASK * (stop - max(start, at)))
            at = stop
    return "".join((*pieces, text[at:]))


def _lettered(text: str) -> list[tuple[int, int]]:
    """Return the parts between "a)", "b)" and so on, without these; the whole text if it is not divided so."""
    found: list[re.Match[str]] = []
    for match in _LETTER.finditer(text):
        before = text[max(0, match.start() - 8) : match.start()].rstrip()[-1:] or ";"
        enclosed = match[0].startswith("(")
        if match[1] == chr(ord("a") + len(found)) and (before in ";.,:" or before == _MASK or (enclosed and before.isalnum())):
            found.append(match)
    head = text[: found[0].start()].strip() if found else ""
    if len(found) < 2 or len(head) > _MAX_HEAD or (head and not head.endswith((":", ",")) and persons(head) < len(head)):
        return [(0, len(text))]
    ends = [match.start() for match in found[1:]] + [len(text)]
    spans = [(match.end(), stop) for match, stop in zip(found, ends, strict=True)]
    return spans if all(_CLAIM.search(text, *span) for span in spans) else [(0, len(text))]


def _joined(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the works in ``text[start:stop]`` that are joined by semicolons or follow each other."""
    spans: list[tuple[int, int]] = []
    named = persons(text, start, in_full=True)
    opened, counted = 0, start  # brackets before the position ``counted``
    for end, following in pairwise(_END.finditer(text, start, stop)):
        opened += _depth(text, counted, end.end())
        counted = end.end()
        rest = _REST.match(text, counted, stop)
        separator = _SEPARATOR.match(text, rest.end() if rest else counted, following.start())
        if separator and opened <= 0 and _begins(text, start, named, end, separator, following):
            spans.append((start, separator.start()))
            start = counted = separator.end()
            named, opened = persons(text, start, in_full=True), 0
    return [*spans, (start, stop)]


def _depth(text: str, start: int, stop: int) -> int:
    return sum(text.count(mark, start, stop) for mark in "([") - sum(text.count(mark, start, stop) for mark in ")]")


def _begins(text: str, start: int, named: int, end: re.Match[str], separator: re.Match[str], following: re.Match[str]) -> bool:
    """Return whether a work begins after ``separator`` and ends with ``following``.

    The work before it begins at ``start``, its persons end at ``named``, and it ends with ``end``.
    """
    at, stop = separator.end(), following.start()
    weak = end["weak"] or following["weak"]
    after = persons(text, at, in_full="(" in following[0])
    between = text[after:stop].strip(" .,;:")
    if after > at:
        if weak:
            here = _PLACE.fullmatch(text, at, after)
            return bool(separator["semicolon"]) and named > start and here is None and len(between) > _MIN_TITLE
        if separator["semicolon"]:
            return bool(between)
        enough = 1 if separator["announced"] or end[0].endswith(")") else 2  # words
        return len(between.split()) >= enough and (text[after - 1] == "." or text[after] in ",.:;(")
    if not separator["semicolon"] or weak or end[0] == following[0]:
        return False
    if same := _SAME.match(text, at, stop):
        return stop - same.end() <= _MAX_JOURNAL
    untitled = end.start() - named <= _MAX_JOURNAL and is_journal(text[named : end.start()])
    return _CASE.search(between) is not None or (untitled and (not between or is_journal(between)))


def is_journal(text: str) -> bool:
    """Return whether the text may be a journal's name: few words, all long ones with a capital, none that begins a remark."""
    text = text.strip(" .,;:")
    words = text.split()
    if not 0 < len(words) <= _MAX_WORDS or not words[0][:1].isupper() or _REMARK.match(text) or _NOT_A_JOURNAL.search(text):
        return False
    return all(not word[:1].islower() or word.lower().strip(".,") in _SMALL for word in words)


def _completed(text: str, masked: str, spans: list[tuple[int, int]]) -> list[Part]:
    """Return the parts of ``text``; a part that omits its persons or its journal gets those of the part before it."""
    parts: list[Part] = []
    people = journal = ""
    for start, stop in spans:
        start = _skipped(masked, start, stop)
        stop = start + len(text[start:stop].rstrip(" ;,"))
        end = _END.search(masked, start, stop)
        located = end is not None and not end["weak"]
        place = end.start() if end else stop
        named = persons(masked, start)
        own = text[start:named].strip(" ,;")
        same = _SAME.match(masked, _skipped(masked, named, place), place)
        rest = text[same.end() : stop].lstrip(" .,:") if same else text[start:stop]
        untitled = located and not same and is_journal(masked[named : min(place, named + _MAX_JOURNAL)])
        taken = [] if own else [people]
        if same and same["journal"]:
            taken = [own or people, journal]
        elif located and start == place:
            taken = [people, journal]
        elif not same and not untitled:
            taken = []
        query = (
            ", ".join(filter(None, taken)) + (" " if len(taken) > 1 and journal else ", ") + rest
            if any(taken)
            else text[start:stop]
        )
        people = own or (people if any(taken) else "")
        if untitled:
            journal = text[named:place].lstrip(" .,;:").rstrip(" ,;:")
        elif not same and start < place:
            journal = ""
        notice = bool(parts) and text[parts[-1].stop : start].rstrip().endswith(" in:")
        parts.append(Part(start, stop, query, notice))
    return parts


def _skipped(text: str, start: int, stop: int) -> int:
    """Return the position after the marks at ``start``."""
    while start < stop and text[start] in " ,;.":
        start += 1
    return start

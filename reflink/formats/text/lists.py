"""Divide plain text into the citations of a list: numbered, labelled, separated by blank lines, indented or one a line."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

from reflink.identifiers import extract
from reflink.recognition.persons import persons
from reflink.recognition.several import has_locator


class Item(NamedTuple):
    """One citation as one line of text, and its label, such as "[3]"."""

    label: str | None
    text: str


_HEADING: Final = re.compile(
    r"(?i)[\s#*=]{0,20}(?:(?:\d{1,2}|[ivx]{1,5})[.)]?\s{1,5})?(?:references?(?: (?:list|cited|and notes))?|bibliography"
    r"|bibliographie|works cited|literature(?: cited)?|literatur(?:verzeichnis)?|r[ée]f[ée]rences(?: bibliographiques)?"
    r"|referencias(?: bibliogr[áa]ficas)?|bibliograf[íi]a|literature references|cited literature)[\s:.#*=-]{0,20}"
)
_AFTER: Final = re.compile(
    r"(?i)\s*(?:appendix(?: [a-z0-9]{1,3})?|acknowledge?ments?|supplementary (?:materials?|information)"
    r"|figure (?:captions|legends)|tables?|about the authors?|author contributions|conflicts? of interest)[\s:.]{0,5}"
)
_NUMBER: Final = re.compile(r"\s*(\[(\d{1,4})\]\.?|\((\d{1,4})\)|(\d{1,4})[.)](?!\d)|(\d{1,3})(?=\t|\s{2,}\S))\s*")
_LABEL: Final = re.compile(r"\s*(\[[^\[\]]{2,40}\])\s+(?=\S)")
_BULLET: Final = re.compile(r"\s*([•·*‣▪–—-])\s+(?=\S)")
_YEAR: Final = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d[a-z]?(?!\d)|\b(?:in press|forthcoming|n\.d\.)")
_PAGES: Final = re.compile(
    r"\d{1,6}\s?[-–—]{1,2}\s?\d{1,6}|\d{1,4}\s?\(\d{1,4}\)|\bpp?\.\s?\d|\b[Vv]ol(?:ume|\.)\s?\d|\d{1,4}\s?[:,]\s?[A-Za-z]?\d{1,6}"
)
_ENDED: Final = re.compile(r"[.\d)\]>/]\s*$")
_BROKEN: Final = re.compile(r"(?:10\.\d{4,9}/(?:\S{0,200}[/._-])?|https?://\S{0,500}[/._-])$")
#: The names of a table's columns, and a line that begins with the tag of a field: other formats.
_COLUMN: Final = re.compile(r"\s{0,10}\"?[A-Za-z_ /]{1,40}\"?\s{0,10}")
_SEPARATORS: Final = re.compile(r"[,;\t|]")
_MIN_COLUMNS: Final = 4
#: Number of items whose numbers alone show that they are items.
_MIN_COUNT: Final = 3
_TAGGED: Final = re.compile(
    r"(?:[A-Z][A-Z0-9]{1,3}\s{0,2}- |[A-Z][A-Z0-9] (?=\S)|%[0-9A-Z] |@[A-Za-z]{2,20}\{|\\(?:bibitem|entry)\b)"
)
#: Names in full at the beginning: "Kyle Lo, Lucy Lu Wang and Mark Neumann."
_NAMES: Final = re.compile(
    r"(?:[^\W\d_a-z][\w.'’-]{0,30}\s){1,4}[^\W\d_a-z][\w'’-]{1,30}(?:,|\s(?:and|&)|\.\s(?:\(?(?:19|20)\d\d|[A-Z“])|\s\((?:19|20)\d\d)"
)
#: Maximum number of characters of a citation that looks like one, and minimum.
_LONGEST: Final = 2_000
_SHORTEST: Final = 15
#: Maximum difference of numbers of two items that follow each other.
_MAX_STEP: Final = 3
#: Share of lines that are blank, or indented, where that divides the items.
_MANY: Final = 0.15
#: Share of lines that end a citation where each line is one, in texts of more lines than a few.
_MOST: Final = 0.6
_FEW: Final = 6
#: Share of items that look like citations with which a division is as good as a better one.
_ENOUGH: Final = 0.85


def items(text: str) -> list[Item]:
    """Return the citations of a text: those behind its last heading "References", if it has one. Time is linear.

    Numbers that count from 1 divide it. Otherwise it is divided in the first way that gives citations, else in the way that
    gives the largest share of them.
    """
    lines = [line.replace("\u00ad", "").rstrip() for line in re.split(r"\r\n|[\n\r\f\v\u0085\u2028\u2029]", text)]
    lines = _listed(lines)
    if not lines or _is_table(lines[0]) or 3 * sum(_TAGGED.match(line) is not None for line in lines) > len(lines):
        return []
    if _counts(numbered := _numbered(lines)):
        return [item for item in numbered if any(map(str.isalnum, item.text))]
    best: list[Item] = []
    best_share = -1.0
    for way in _ways(lines):
        found = [item for item in way(lines) if any(map(str.isalnum, item.text))]
        if found:
            found_share = share(found)
            if found_share >= _ENOUGH:
                return found
            if found_share > best_share:
                best, best_share = found, found_share
    return best


def _counts(found: list[Item]) -> bool:
    """Return whether the labels of several items are 1, 2, 3, …"""
    numbers = [re.sub(r"\D", "", item.label or "") for item in found]
    return len(numbers) >= _MIN_COUNT and numbers == [str(number) for number in range(1, len(numbers) + 1)]


def _is_table(line: str) -> bool:
    """Return whether a line names the columns of a table."""
    columns = _SEPARATORS.split(line)
    return len(columns) >= _MIN_COLUMNS and all(map(_COLUMN.fullmatch, columns))


def share(found: list[Item]) -> float:
    """Return the share of items that look like citations."""
    return sum(_looks_cited(item.text) for item in found) / len(found) if found else 0.0


def _looks_cited(text: str) -> bool:
    """Return whether a text has an identifier, or a year with volume and pages or with persons at its beginning."""
    text = text[: _LONGEST + 1]
    if len(text) > _LONGEST:
        return False
    if extract(text).keys():
        return True
    if len(text) < _SHORTEST or not _YEAR.search(text):
        return False
    return (
        has_locator(text)
        or ((persons(text) > 0 or _NAMES.match(text) is not None) and len(text.split()) > 4)
        or _PAGES.search(text) is not None
    )


def _listed(lines: list[str]) -> list[str]:
    """Return the lines behind the last heading, up to one of another section, without numbers of pages."""
    start = max((at + 1 for at, line in enumerate(lines) if _HEADING.fullmatch(line)), default=0)
    found = lines[start:]
    stop = next((at for at, line in enumerate(found) if start and _AFTER.fullmatch(line)), len(found))
    return [line for line in found[:stop] if not (line.strip().isdigit() and len(line.strip()) < 5)]


def _joined(lines: list[str]) -> str:
    """Return the text of wrapped lines; a word that a hyphen divides, or an address, is put together."""
    text = ""
    for line in lines:
        line = " ".join(line.split())
        if not text or not line:
            text = text or line
        elif text.endswith("-") and text[-2:-1].isalpha() and line[0].islower() and not _BROKEN.search(text[-600:]):
            text = text[:-1] + line
        elif text.endswith(("-", "–")) or (
            text.endswith(("/", ".", "_")) and _BROKEN.search(text[-600:]) and not line[0].isupper()
        ):
            text += line
        else:
            text += " " + line
    return text


def _divided(lines: list[str], starts: list[int], labels: list[str | None], skip: list[int]) -> list[Item]:
    """Return the items that begin at these lines, without the first ``skip`` characters of each, which are its label."""
    found: list[Item] = []
    for number, start in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else len(lines)
        found.append(Item(labels[number], _joined([lines[start][skip[number] :], *lines[start + 1 : stop]])))
    return found


def _numbered(lines: list[str]) -> list[Item]:
    starts: list[int] = []
    labels: list[str | None] = []
    skip: list[int] = []
    last: int | None = None
    kind = 0
    for at, line in enumerate(lines):
        found = _NUMBER.match(line)
        if found is None:
            continue
        own = next(group for group in range(2, 6) if found[group])
        number = int(found[own])
        if last is None or (own == kind and 0 < number - last <= _MAX_STEP):
            starts.append(at)
            labels.append(found[1].strip())
            skip.append(found.end())
            last, kind = number, own
    return _divided(lines, starts, labels, skip) if len(starts) > 1 or (starts and sum(map(bool, lines)) < 6) else []


def _marked(pattern: re.Pattern[str], *, labelled: bool) -> Callable[[list[str]], list[Item]]:
    def way(lines: list[str]) -> list[Item]:
        matches = [(at, found) for at, line in enumerate(lines) if (found := pattern.match(line))]
        labels = [found[1] if labelled else None for _, found in matches]
        return (
            _divided(lines, [at for at, _ in matches], labels, [found.end() for _, found in matches])
            if len(matches) > 1
            else []
        )

    return way


def _single(lines: list[str]) -> list[Item]:
    return [Item(None, " ".join(line.split())) for line in lines if line.strip()]


def _blocks(lines: list[str]) -> list[Item]:
    starts = [at for at, line in enumerate(lines) if line.strip() and (at == 0 or not lines[at - 1].strip())]
    return _divided(lines, starts, [None] * len(starts), [0] * len(starts)) if len(starts) > 1 else []


def _hanging(lines: list[str]) -> list[Item]:
    starts = [at for at, line in enumerate(lines) if line.strip() and not line[0].isspace()]
    return _divided(lines, starts, [None] * len(starts), [0] * len(starts)) if len(starts) < sum(map(bool, lines)) else []


def _indented(lines: list[str]) -> list[Item]:
    starts = [at for at, line in enumerate(lines) if line.strip() and line[0].isspace()]
    return _divided(lines, starts, [None] * len(starts), [0] * len(starts)) if len(starts) < sum(map(bool, lines)) else []


def _wrapped(lines: list[str]) -> list[Item]:
    """Items without any mark: one begins where the text before is ended and has a year, and the line begins with persons."""
    starts: list[int] = []
    year = False
    ended = True
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        if not starts or (year and ended and (persons(line.strip()[:300]) > 0 or line[0].isupper())):
            starts.append(at)
            year = False
        year = year or _YEAR.search(line) is not None or extract(line).keys() != ()
        ended = _ENDED.search(line[-5:]) is not None
    return _divided(lines, starts, [None] * len(starts), [0] * len(starts))


_MARKED: Final = (_numbered, _marked(_LABEL, labelled=True), _marked(_BULLET, labelled=False))


def _ways(lines: list[str]) -> tuple[Callable[[list[str]], list[Item]], ...]:
    """Return the ways in which the lines may be divided, the clearest first."""
    written = [line for line in lines if line.strip()]
    blank = sum(not line.strip() and bool(before.strip()) for before, line in pairwise(lines))
    inset = sum(line[0].isspace() for line in written)
    found: list[Callable[[list[str]], list[Item]]] = []
    if _MANY * len(written) <= blank:
        found.append(_blocks)
    if _MANY * len(written) <= inset < len(written):
        found.append(_indented if written[0][0].isspace() else _hanging)
    if len(written) > _FEW and sum(_ENDED.search(line[-5:]) is not None for line in written) < _MOST * len(written):
        found.append(_wrapped)
    return (*_MARKED, *found, _single, _blocks, _hanging, _indented, _wrapped)

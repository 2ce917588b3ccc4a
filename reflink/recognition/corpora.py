"""Labelled citations of two public corpora: AnyStyle's XML and the TEI of GROBID's citation model.

Both tag whole strings: the list of authors, "79(2):", "pp. 12–19". The labels of this package are finer, so the strings are
divided here. One convention holds for all corpora: the title of the cited work is T, and the journal, proceedings or book that
contains it is V. Text and labels are those of ``raw_query`` in `reflink.jats`: identifiers are removed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lxml import etree

from reflink.recognition import labels as tag
from reflink.recognition.authors import divide
from reflink.recognition.labelled import Labelled, fields_of, realigned, tidy
from reflink.recognition.labels import label_runs
from reflink.recognition.numbers import divide_pages, divide_volume
from reflink.recognition.tokens import Tokens, tokenise
from reflink.stripping import strip
from reflink.text import normalise

FOLDS: Final = 5
#: Two texts with this share of the shorter one's word triples in common are in one fold.
NEAR: Final = 0.5

#: Fields of a corpus that are divided or decided by their surroundings; each has a number above those of the labels.
_AUTHORS, _EDITORS, _VOLUME, _PAGES, _BOOK, _GROUP, _ISSUE = range(100, 107)
_ANYSTYLE: Final = {
    "author": _AUTHORS, "editor": _EDITORS, "translator": _EDITORS, "director": _EDITORS, "producer": _EDITORS,
    "title": tag.T, "journal": tag.V, "container-title": tag.V, "publisher": tag.P, "location": tag.P, "date": tag.Y,
    "volume": _VOLUME, "pages": _PAGES,
}  # fmt: skip
_TEI: Final = {
    "author": _AUTHORS, "authors": _AUTHORS, "editor": _EDITORS, "orgName": _GROUP, "publisher": tag.P, "publishe": tag.P,
    "pubPlace": tag.P, "pubplace": tag.P, "date": tag.Y, "year": tag.Y, "title:a": tag.T, "title:j": tag.V, "title:m": _BOOK,
    "volume": _VOLUME, "vol": _VOLUME, "volumes": _VOLUME, "issue": _ISSUE, "page": _PAGES, "pages": _PAGES, "pp": _PAGES,
}  # fmt: skip
_ROLES: Final = frozenset(
    """in: in dans edited by ed eds editor editors hrsg hg dir director directors prod producer producers translated
    translator trans tr with the and""".split()
)
_IN: Final = frozenset(("in", "dans", "em", "en"))
_LATIN: Final = frozenset(("vitro", "vivo", "situ", "silico"))
_MEETING: Final = re.compile(r"(?i)proc|(?:international |annual )?(?:conference|symposium|workshop|congress)")
#: Maximum tokens of a remark in brackets at the end of a title, brackets included.
_REMARK: Final = 7

Run = tuple[str, int]


def anystyle(path: Path) -> Iterator[Labelled]:
    """Yield the citations of AnyStyle's gzip-compressed XML: one ``sequence`` of fields each."""
    for sequence in etree.fromstring(gzip.decompress(path.read_bytes())):
        runs: list[Run] = []
        for element in sequence:
            runs += [("".join(map(str, element.itertext())), _ANYSTYLE.get(str(element.tag), tag.O)), (" ", tag.O)]
        if (citation := _labelled(runs)) is not None:
            yield citation


def grobid(path: Path) -> Iterator[Labelled]:
    """Yield the citations of a tar of TEI files: one ``bibl`` each. ``kind`` is the language that the file's name states."""
    with tarfile.open(path) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            if not member.isfile() or (file := tar.extractfile(member)) is None:
                continue
            language = re.match(r"kisti_\w+?_(\w\w|other)\.", Path(member.name).name)
            root = etree.parse(io.BytesIO(file.read()), etree.XMLParser(recover=True, resolve_entities=False)).getroot()
            for element in root.iter("{*}bibl"):
                runs: list[Run] = []
                _walk(element, tag.O, runs)
                if (citation := _labelled(runs)) is not None:
                    citation.kind = language[1] if language else ""
                    yield citation


def folds(texts: Sequence[str]) -> list[int]:
    """Return a fold, 0 to 4, of each text. Equal and near-equal texts (NEAR) are in one fold: the hash of the first of them."""
    plain = [normalise(text, lexical=False) for text in texts]
    shingles = [_shingles(text) for text in plain]
    root = list(range(len(texts)))

    def find(at: int) -> int:
        while root[at] != at:
            root[at] = at = root[root[at]]
        return at

    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, found in enumerate(shingles):
        shared: dict[int, int] = defaultdict(int)
        for shingle in found:
            for other in holders[shingle][-50:]:
                shared[other] += 1
            holders[shingle].append(at)
        for other, count in shared.items():
            if count >= NEAR * min(len(found), len(shingles[other])):
                root[find(at)] = find(other)
    first: dict[int, str] = {}
    for at, text in enumerate(plain):
        first[find(at)] = min(text, first.get(find(at), text))
    names = [first[find(at)].encode() for at in range(len(plain))]
    return [int(hashlib.sha1(name, usedforsecurity=False).hexdigest(), 16) % FOLDS for name in names]


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))}


def _walk(element: etree._Element, outer: int, runs: list[Run]) -> None:
    if element.text:
        runs.append((element.text, outer))
    for child in element:
        if isinstance(child.tag, str):
            name = etree.QName(child).localname
            kind = child.get("level") or child.get("leve") or child.get("unit") or child.get("type") or ""
            if name == "title":
                name = f"title:{kind if kind in 'ajms' and kind else 'a'}"
            elif name in ("biblScope", "biblStruct"):
                name = kind
            mark = _TEI["author"] if name == "orgName" and kind == "collaboration" else _TEI.get(name, tag.O)
            _walk(child, outer if name == "lb" or not child.tag else mark, runs)
        if child.tail:
            runs.append((child.tail, outer))


def _labelled(runs: Sequence[Run]) -> Labelled | None:
    """Return the citation with one label per token, or None if it is too short or too long."""
    chars: list[str] = []
    marks: list[int] = []  # number of the run, for each character
    for number, (run, _) in enumerate(runs):
        for char in run:
            if char.isspace():
                char = " "
                if not chars or chars[-1] == " ":
                    continue
            chars.append(char)
            marks.append(number)
    text = "".join(chars).rstrip()
    tokens = tokenise(text)
    text, tokens, numbers = realigned(text, tokens, [marks[start] for start in tokens.starts], strip(text), -1)
    if not 3 <= len(tokens.words) <= 600:
        return None
    found = _divided(text, tokens, [tag.O if number < 0 else runs[number][1] for number in numbers], numbers)
    tidy(tokens.words, found)
    fields = fields_of(text, tokens, found)
    return Labelled(text, found, True, "", [], fields)


def _divided(text: str, tokens: Tokens, kinds: list[int], numbers: list[int]) -> list[int]:
    """Return the labels. ``kinds``: the field of each token; ``numbers``: equal for the tokens of one element."""
    words = tokens.words
    found = list(kinds)
    article = tag.T in kinds
    for _, start, stop in list(label_runs(numbers)):
        match kinds[start]:
            case kind if kind == _AUTHORS:
                found[start:stop] = divide(text, tokens, start, stop)
            case kind if kind == _EDITORS:
                found[start:stop] = _editors(words[start:stop])
            case kind if kind == _VOLUME:
                found[start:stop] = divide_volume(tokens, start, stop)
            case kind if kind == _PAGES:
                found[start:stop] = divide_pages(tokens, start, stop)
            case kind if kind == _ISSUE:
                found[start:stop] = [tag.I] * (stop - start)
            case kind if kind == _GROUP:
                author = tag.T not in kinds[:start] and _AUTHORS not in kinds and _BOOK not in kinds[:start]
                found[start:stop] = [tag.C if author else tag.P] * (stop - start)
            case kind if kind == _BOOK:
                before = [words[at].lower() for at in range(start) if kinds[at] in (tag.O, _EDITORS)]
                inside = article or not _IN.isdisjoint(before) or _introduced(words, start)
                meeting = _PAGES in kinds and _MEETING.match(text, tokens.starts[start])
                found[start:stop] = [tag.V if inside or meeting else tag.T] * (stop - start)
            case _:
                while stop > start and words[stop - 1] in ".,:;":
                    stop -= 1
                    found[stop] = tag.O  # so that two elements with the same label are two runs
    for label, start, stop in list(label_runs(found)):
        if label == tag.V and stop - start > 1 and _introduced(words, start):
            found[start] = tag.O
        if label == tag.T:
            _without_remark(words, found, start, stop)
    return found


def _introduced(words: Sequence[str], start: int) -> bool:
    """Return whether a container begins with "in", which is not the first word of "In vitro"."""
    return words[start].lower() in _IN and start + 1 < len(words) and words[start + 1].lower() not in _LATIN


def _without_remark(words: Sequence[str], found: list[int], start: int, stop: int) -> None:
    """Remove a remark in square brackets at the end of a title from the title: "[J]"."""
    last = stop
    while last > start and words[last - 1] in '.,:;"”':
        last -= 1
    if words[last - 1] == "]" and "[" in words[start + 1 : last]:
        opening = max(at for at in range(start + 1, last) if words[at] == "[")
        if last - opening <= _REMARK:
            found[opening:stop] = [tag.O] * (stop - opening)


def _editors(words: Sequence[str]) -> list[int]:
    first, last = 0, len(words)
    while first < last and (words[first].lower() in _ROLES or not words[first][0].isalnum()):
        first += 1
    while last > first and (words[last - 1].lower() in _ROLES or not words[last - 1][0].isalnum()):
        last -= 1
    return [tag.D if first <= at < last else tag.O for at in range(len(words))]

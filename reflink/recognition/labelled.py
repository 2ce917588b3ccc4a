"""Training and test data of the recogniser: citations with a label for every token, from the tags of JATS articles.

The text is that of ``raw_query`` in `reflink.jats`: a space separates elements, and identifiers are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Final

from lxml import etree

from reflink.recognition import labels as tag
from reflink.recognition.labels import label_runs
from reflink.recognition.tokens import Tokens, tokenise
from reflink.stripping import REMOVED, strip

_CITATIONS: Final = ("mixed-citation", "element-citation", "citation", "nlm-citation")
_SILENT: Final = frozenset(("label", "tex-math", "inline-graphic", "graphic", "annotation-xml", "fn"))
_INLINE: Final = frozenset(
    ("italic", "bold", "sup", "sub", "sc", "underline", "overline", "strike", "monospace", "roman", "sans-serif", "xref",
     "styled-content", "named-content", "abbrev", "inline-formula", "alternatives", "fixed-case", "ruby", "rb", "bdi", "hi")
)  # fmt: skip
_IDENTIFIERS: Final = frozenset(("pub-id", "object-id", "ext-link", "uri", "self-uri"))
_LABELS: Final = {
    "surname": tag.L, "given-names": tag.A, "suffix": tag.A, "etal": tag.A, "collab": tag.C, "article-title": tag.T,
    "chapter-title": tag.T, "part-title": tag.T, "data-title": tag.T, "source": tag.V, "publisher-name": tag.P,
    "publisher-loc": tag.P, "conf-loc": tag.P, "year": tag.Y, "volume": tag.N, "issue": tag.I, "fpage": tag.F,
    "elocation-id": tag.F, "lpage": tag.E,
}  # fmt: skip
_EDITORS: Final = frozenset(("editor", "editors", "translator", "compiler", "guest-editor", "series-editor"))
_YEAR: Final = re.compile(r"(?:1[5-9]|20)\d\d")
_ANNOUNCES: Final = frozenset("vol volume v no nr issue iss pp p pages page pag bd heft art article id".split())
_JOINS: Final = frozenset("and und y et e och & i".split())
_PEOPLE: Final = frozenset((tag.L, tag.A, tag.C))
_ACCESSED: Final = "date-in-citation"
_LOOSE: Final = re.compile(r"(?<=[(\[]) | (?=[,.;:)\]])")


@dataclass
class Labelled:
    """One citation: its text, the label of every token (`reflink.recognition.tokens`), and the tagged fields.

    ``printed``: the text has its own punctuation, as an untagged citation has; otherwise only the fields are usable.
    ``names``: (last name, given names) of the authors, in order; ``fields``: the text of every other field, by label; ``kind``:
    the publisher's type, e.g. ``journal``.
    """

    text: str
    labels: list[int]
    printed: bool
    kind: str = ""
    names: list[tuple[str, str]] = field(default_factory=list)
    fields: dict[int, str] = field(default_factory=dict)


def read(path: Path) -> Iterator[Labelled]:
    """Yield the labelled citations of one article; none for a file that is not XML."""
    root = _root(path)
    for element in root.iter(*_CITATIONS) if root is not None else ():
        if (citation := label(element)) is not None:
            yield citation


def prose(path: Path) -> Iterator[str]:
    """Yield the paragraphs of one article's body, each as one line."""
    root = _root(path)
    for paragraph in root.iterfind(".//body//p") if root is not None else ():
        yield " ".join("".join(map(str, paragraph.itertext())).split())


def _root(path: Path) -> etree._Element | None:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.parse(str(path), parser).getroot()
    except etree.XMLSyntaxError:
        return None


def label(element: etree._Element) -> Labelled | None:
    """Return one citation element with its labels, or None if its tags are not sufficient to learn from."""
    runs: list[tuple[str, int]] = []
    _walk(element, tag.O, "", runs)
    text, marks = _line(runs)
    words = tokenise(text)
    text, words, found = realigned(text, words, [marks[start] for start in words.starts], strip(text), tag.O)
    names = [
        (_text(name.find("surname")), _text(name.find("given-names")))
        for name in element.iter("name", "string-name")
        if name.find("surname") is not None and not _is_editor(name)
    ]
    if not 4 <= len(words.words) <= 600 or any(len(name) and name.find("surname") is None for name in element.iter("name")):
        return None
    if any(name.find("surname") is None for name in element.iter("string-name")) and not _all_editors(element):
        return None
    tidy(words.words, found)
    kind = element.get("publication-type") or element.get("citation-type") or ""
    if is_book(words.words, found, kind):
        found = [tag.T if mark == tag.V else mark for mark in found]
    fields = fields_of(text, words, found)
    text, found = _set_apart(text, words, found)
    return Labelled(text, found, _printed(tokenise(text).words, found), kind, names, fields)


def is_book(words: list[str], found: list[int], kind: str) -> bool:
    """Return whether the source of a citation without title is the cited work itself: a book, not a journal or a container."""
    if tag.T in found or tag.V not in found or tag.N in found or kind == "journal":
        return False
    before = words[max(0, found.index(tag.V) - 2) : found.index(tag.V)]
    return not any(word.lower() == "in" for word in before) and (kind not in ("", "other") or tag.P in found)


def realigned(text: str, words: Tokens, marks: list[int], stripped: str, other: int) -> tuple[str, Tokens, list[int]]:
    """Return ``stripped``, its tokens, and their marks: those of the equal tokens of ``text``, else ``other``."""
    if stripped == text:
        return text, words, marks
    kept = tokenise(stripped)
    matcher = SequenceMatcher(None, words.words, kept.words, autojunk=False)
    aligned = [other] * len(kept.words)
    for a, b, size in matcher.get_matching_blocks():
        aligned[b : b + size] = marks[a : a + size]
    return stripped, kept, aligned


def _set_apart(text: str, words: Tokens, found: list[int]) -> tuple[str, list[int]]:
    """Return text and labels with commas between authors and a full stop after them where only the markup separated them."""
    after: dict[int, str] = {}
    people = [i for i, mark in enumerate(found) if mark == tag.L]
    for before, at in pairwise(people):
        between = words.words[before + 1 : at]
        if not between or words.ends[at - 1] == words.starts[at] or any(mark != tag.A for mark in found[before + 1 : at]):
            continue
        if all(word.isalpha() or word in ".-‐" for word in between) and not any(word.lower() in _JOINS for word in between):
            after[at - 1] = ","
    for at in range(1, len(found)):
        if found[at] == tag.T and found[at - 1] in _PEOPLE and words.words[at - 1] not in ".:;,":
            after[at - 1] = "."
    parts: list[str] = []
    marks: list[int] = []
    last = 0
    for at in sorted(after):
        parts += [text[last : words.ends[at]], after[at]]
        last = words.ends[at]
    for at, mark in enumerate(found):
        marks += [mark, tag.A if after[at] == "," else tag.O] if at in after else [mark]
    return "".join(parts) + text[last:], marks


def fields_of(text: str, tokens: Tokens, found: list[int]) -> dict[int, str]:
    """Return the text of the first run of each label except O, L, A and D."""
    _, starts, ends = tokens
    fields: dict[int, str] = {}
    for mark, start, stop in label_runs(found):
        if mark not in (tag.O, tag.L, tag.A, tag.D):
            fields.setdefault(mark, text[starts[start] : ends[stop - 1]])
    return fields


def _text(element: etree._Element | None) -> str:
    return "" if element is None else " ".join("".join(map(str, element.itertext())).split())


def _is_editor(name: etree._Element) -> bool:
    group = next(name.iterancestors("person-group", *_CITATIONS), None)
    return group is not None and (group.get("person-group-type") or "") in _EDITORS


def _all_editors(element: etree._Element) -> bool:
    return all(_is_editor(name) for name in element.iter("string-name") if name.find("surname") is None)


def _walk(element: etree._Element, outer: int, group: str, runs: list[tuple[str, int]]) -> None:
    if element.text:
        runs.append((element.text, outer))
    ended = False
    for child in element:
        name = child.tag
        if not isinstance(name, str) or name in _SILENT:
            pass
        elif name in _INLINE:
            if ended:
                runs.append(("\x00", outer))
            ended = False
            _walk(child, outer, group, runs)
        elif name in _IDENTIFIERS:
            runs.append((f" {REMOVED} ", tag.O))
            whole = "".join(map(str, child.itertext()))
            if strip(whole) and name in ("ext-link", "uri") and not child.get("pub-id-type"):
                _walk(child, tag.O, group, runs)
            ended = True
        else:
            inside = child.get("person-group-type") or "" if name == "person-group" else group
            mark = _LABELS.get(name, outer)
            if inside in _EDITORS and (name in ("name", "string-name", "surname", "given-names", "suffix", "collab")):
                mark = tag.D
            if name in ("comment", _ACCESSED, "role", "edition", "month", "day"):
                mark = tag.O
            if element.tag == _ACCESSED:
                mark = tag.O
            runs.append(("\x00", outer))
            _walk(child, mark, inside, runs)
            ended = True
        if child.tail:
            if ended:
                runs.append(("\x00", outer))
            runs.append((child.tail, outer))
            ended = False


def _line(runs: list[tuple[str, int]]) -> tuple[str, list[int]]:
    """Return one line and the label of each character. ``\\x00`` becomes a space unless white space or punctuation is there."""
    text: list[str] = []
    marks: list[int] = []
    apart = False  # whether a separating element stands before the next character
    for run, mark in runs:
        for char in run:
            if char == "\x00":
                apart = True
                continue
            if char.isspace():
                apart = False
                if text and text[-1] != " ":
                    text.append(" ")
                    marks.append(mark)
                continue
            if apart and text and text[-1] not in " ([{-‐‑–—" and char not in ",.;:)]}-‐‑–—/(":
                text.append(" ")
                marks.append(tag.O)
            apart = False
            text.append(char)
            marks.append(mark)
    line = "".join(text)
    loose = {match.start() for match in _LOOSE.finditer(line)}
    kept = [at for at in range(len(line)) if at not in loose]
    while kept and line[kept[-1]] == " ":
        kept.pop()
    return "".join(line[at] for at in kept), [marks[at] for at in kept]


def tidy(words: list[str], found: list[int]) -> None:
    """Adapt the labels, in place, to print: no punctuation at the ends of a field, no gaps in the list of authors."""
    for mark, start, stop in list(label_runs(found)):
        first, last = start, stop
        if mark not in (tag.O, tag.A, tag.L):
            while first < last and not words[first][0].isalnum() and words[first] not in "([¿¡":
                first += 1
            while first < last and not words[last - 1][0].isalnum() and words[last - 1] not in ")]?!":
                last -= 1
        if mark in (tag.N, tag.I, tag.F, tag.E):
            while first < last and (words[first].lower() in _ANNOUNCES or not words[first][0].isalnum()):
                first += 1
        if mark == tag.Y:
            first = next((i for i in range(first, last) if _YEAR.fullmatch(words[i])), last)
            last = min(first + 1, last)
        for i in range(start, stop):
            if not first <= i < last:
                found[i] = tag.O
    _move_sections(words, found)
    if tag.I in found and tag.F not in found and (first := found.index(tag.I)) and words[first - 1] == ":":
        found[:] = [tag.F if mark == tag.I else mark for mark in found]  # "213:184" is a volume and an article's number
    people = [i for i, mark in enumerate(found) if mark in _PEOPLE]
    for before, after in pairwise(people):
        if after - before <= 4 and all(mark == tag.O for mark in found[before + 1 : after]):
            found[before + 1 : after] = [tag.A] * (after - before - 1)
    if people and found[people[-1]] in (tag.L, tag.A):
        end = people[-1] + 1
        rest = [word.lower() for word in words[end : end + 4]]
        for lead in (0, 1):
            if rest[lead : lead + 2] == ["et", "al"]:
                found[end : end + lead + 2] = [tag.A] * (lead + 2)


def _move_sections(words: list[str], found: list[int]) -> None:
    """Give the letter of "Phys. Rev. D68" to the journal, where other publishers print it, instead of the volume."""
    for at in range(1, len(found) - 1):
        last = at - 2 if words[at - 1] == "." and found[at - 1] == tag.O else at - 1
        letter = len(words[at]) == 1 and words[at].isupper() and words[at + 1].isdigit()
        if letter and last >= 0 and found[last] == tag.V and found[at : at + 2] == [tag.N, tag.N]:
            found[last + 1 : at + 1] = [tag.V] * (at - last)


def _printed(words: list[str], found: list[int]) -> bool:
    """Return whether the text's own punctuation separates the fields; none is required between a journal and the next field."""
    together = apart = 0
    for at in range(1, len(words)):
        pair = {found[at], found[at - 1]}
        if len(pair) == 2 and tag.O not in pair and not pair <= _PEOPLE:
            together += tag.V not in pair or tag.T in pair
        apart += not words[at][0].isalnum() and found[at] in (tag.O, tag.A)
    return together == 0 and apart >= 2 and (tag.L in found or tag.T in found)

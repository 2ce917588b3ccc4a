"""What one citation says, read plainly from the element tree; `tests.reflink.jats.plain` has the entries."""

from __future__ import annotations

import re
from typing import Any, Final

from lxml import etree

from reflink.identifiers import normalise_doi
from reflink.jats.citation import MAX_TEXT
from reflink.jats.links import identify
from reflink.jats.people import named
from reflink.jats.scanner.vocabulary import (
    AUTHORS,
    EDITORS,
    EXT_LINK,
    FIRST_FIELDS,
    ID_CODES,
    INLINE_NAMES,
    MEDLINE,
    NUMBER,
    OBJECT_ID,
    OTHERS,
    PUB_ID,
    SELF_URI,
    SILENT_NAMES,
    URI,
)  # fmt: skip
from reflink.stripping import REMOVED, separate

IDS: Final = {
    "pub-id": PUB_ID, "object-id": OBJECT_ID, "ext-link": EXT_LINK, "uri": URI, "self-uri": SELF_URI, "elocation-id": NUMBER,
}  # fmt: skip
GROUPS: Final = {
    **dict.fromkeys(("author", "authors", "allauthors", "all-authors", "inventor"), AUTHORS),
    **dict.fromkeys(("editor", "editors", "guest-editor", "series-editor", "ed", "eds"), EDITORS),
}

_OPENS: Final = frozenset("([{“/-–—")
_CLOSES: Final = frozenset(",.;:)]}”/(-–—")
_LOOSE: Final = frozenset(",.;:)]")
_YEAR: Final = re.compile(r"(?<![0-9])(1[5-9][0-9][0-9]|20[0-9][0-9])(?![0-9])")
_PAGE_BREAK: Final = re.compile(r"[-‐‑–—,;]+")


def local(element: etree._Element) -> str:
    """An element's name without prefix; those of MathML, ``math`` apart, are markup within a formula."""
    name = str(element.tag).rpartition("}")[2]
    if element.prefix in ("m", "mml") and name != "math" and name not in SILENT_NAMES:
        return "mi"
    return name


def attribute(element: etree._Element, *names: str) -> str:
    """The first attribute of these names that is not empty; ``href`` may have any prefix."""
    for key, value in element.attrib.items():
        _, prefixed, name = str(key).rpartition("}")
        if value and name in names and (not prefixed or name == "href"):
            return str(value)
    return ""


def line(text: str) -> str:
    """``text`` with white space collapsed."""
    return " ".join(text.split())


def plain_text(element: etree._Element) -> str:
    """All text in it as it stands."""
    return "".join(map(str, element.itertext()))


def tight(characters: list[str]) -> list[int]:
    """Which characters stay when spaces before punctuation go."""
    following = [*characters[1:], ""]
    return [at for at, character in enumerate(characters) if character != " " or following[at] not in _LOOSE]


class Citation:
    """Reads one citation element."""

    def __init__(self, element: etree._Element) -> None:
        self.element = element
        self.strict = local(element) == "element-citation"
        self.text: list[str] = []
        self.gap = self.apart = False
        self.first: dict[str, str] = {}
        self.year = 0
        self.group = AUTHORS
        self.people: list[list[Any]] = []  # group, whether in one piece, last name, given name
        self.person: list[Any] | None = None  # the last one, while given names may follow
        self.given = ""  # given names before their last name
        self.collectives: list[str] = []
        self.titles: list[tuple[bool, int, int]] = []  # seamless with the one before, span
        self.ids: list[list[Any]] = []  # element, type, span, address
        self.labels: list[str] = []
        self.above: list[str] = []
        self.inside(element)

    def inside(self, element: etree._Element) -> None:
        self.write(element.text)
        for child in element:
            name = local(child)
            if name == "label" and local(self.element) != "ref":
                self.labels += filter(None, [line(plain_text(child))])
            elif name in INLINE_NAMES:
                self.inside(child)
            elif name not in SILENT_NAMES:
                self.apart = True
                self.child(child, name if name not in self.above else "p")  # what is nested in itself counts once
                self.apart = True
            self.write(child.tail)

    def write(self, text: str | None) -> None:
        for character in text or "":
            if character.isspace():
                self.gap = True
                continue
            close = self.text and (self.text[-1] in _OPENS or character in _CLOSES)
            if self.text and (self.gap or (self.apart and (self.strict or not close))):
                self.text.append(" ")
            self.gap = self.apart = False
            self.text.append(character)

    def child(self, element: etree._Element, name: str) -> None:
        """An element that may be a field."""
        group, people = self.group, len(self.people)
        seamless = bool(self.titles) and not self.gap and self.titles[-1][2] == len(self.text)
        if name == "person-group":
            declared = attribute(element, "person-group-type")
            self.group = GROUPS.get(declared.lower(), OTHERS) if declared else AUTHORS
        if name in ("person-group", "name", "string-name"):
            self.person, self.given = None, ""
        item: list[Any] = []
        if name in IDS:
            item = [
                IDS[name],
                self.declared(element, name),
                (0, 0),
                "" if name == "elocation-id" else attribute(element, "href"),
            ]
            self.ids.append(item)
        start = len(self.text)
        self.above.append(name)
        self.inside(element)
        self.above.pop()
        start += self.text[start : start + 1] == [" "]
        text = "".join(self.text[start:])
        if item:
            item[2] = (start, len(self.text))
        if name == "person-group":
            self.group = group
        if name in ("person-group", "name"):
            self.person, self.given = None, ""
        if text:
            self.ended(name, text, start, seamless=seamless, people=people)

    def ended(self, name: str, text: str, start: int, *, seamless: bool, people: int) -> None:
        """An element with text has ended."""
        if name in FIRST_FIELDS:
            self.first.setdefault(FIRST_FIELDS[name], text)
        elif name == "surname":
            self.people.append([self.group, 0, text, self.given])
            self.person = None if self.given else self.people[-1]
            self.given = ""
        elif name == "given-names":
            if self.person is None:
                self.given = text
            else:
                self.person[3], self.person = text, None
        elif name == "year" and "date-in-citation" not in self.above:
            self.year = self.year or next((int(found[0]) for found in _YEAR.finditer(text)), 0)
        elif name in ("string-name", "collab", "article-title"):
            self.person = None
            if name == "collab":
                self.collectives.append(text)
            elif name == "article-title":
                self.titles.append((seamless, start, len(self.text)))
            elif name == "string-name" and len(self.people) == people:
                self.people.append([self.group, 1, text, ""])

    def declared(self, element: etree._Element, name: str) -> int:
        if name == "elocation-id":
            return 0
        declared = attribute(element, "pub-id-type", "ext-link-type").lower()
        return {**ID_CODES, "medline": MEDLINE}.get(declared, 0)

    def title(self) -> str | None:
        """The first title; it may come in parts with nothing but punctuation between them."""
        title = pending = ""
        last = 0
        for seamless, start, stop in self.titles:
            part = "".join(self.text[start:stop])
            if last and not (seamless and not self.strict):
                pending += "".join(self.text[last:start])
            last = stop
            if not lettered(part):
                pending += part
            elif not title:
                title, pending = part, ""
            elif lettered(pending):
                break
            else:
                title, pending = title + pending + part, ""
        return title or None

    def identified(self, stays: list[int]) -> tuple[dict[str, str], list[str], str]:
        """Identifiers from tags, what else stands as the article's number, and the text with marks for what is taken out."""
        ids: dict[str, str] = {}
        numbers: list[str] = []
        kept: set[str] = set()
        for code, declared, (start, stop), href in self.ids:
            text = "".join(self.text[start:stop])
            if code != NUMBER:
                taken = identify(code, text, declared, href, ids)
            elif taken := text.startswith("10.") and (doi := normalise_doi(text)) is not None:
                ids.setdefault("doi", str(doi))
            elif text:
                numbers.append(text)
            if not taken:
                kept.add(self.between(stays, start, stop))
        pieces, last = [], 0
        for code, _, (start, stop), _ in self.ids:
            if stop > start >= last:
                text = self.between(stays, start, stop)
                stands = code in (EXT_LINK, URI, NUMBER) and text in kept
                pieces += [self.between(stays, last, start), text if stands else REMOVED]
                last = stop
        return ids, numbers, "".join([*pieces, self.between(stays, last, len(self.text))])

    def between(self, stays: list[int], start: int, stop: int) -> str:
        return "".join(self.text[at] for at in stays if start <= at < stop)

    def said(self) -> dict[str, Any]:
        """Fields of a reference by name."""
        stays = tight(self.text)
        printed = self.between(stays, 0, len(self.text))
        said: dict[str, Any] = {**self.first, "raw_text": printed[:MAX_TEXT].rstrip()}
        ids, numbers, bare = self.identified(stays)
        weak, noid = separate(bare[:MAX_TEXT].rstrip() if len(printed) > MAX_TEXT else bare)
        people = named([(group, whole, last, given) for group, whole, last, given in self.people])
        said |= {name: tuple(names) for name, names in people.items()}
        found = {
            "year": self.year, "title": self.title(), "collectives": tuple(self.collectives),
            "collab": self.collectives[0] if self.collectives else "", "label": self.labels[0] if self.labels else "",
            "kind": line(attribute(self.element, "publication-type", "citation-type")),
            "ids": ids, "ids_weak": {kind: value for kind, value in weak.items() if kind not in ids},
        }  # fmt: skip
        said |= {name: value for name, value in found.items() if value}
        if noid != said["raw_text"]:
            said["raw_noid"] = noid
        for stand_in, fields in (("_data_title", ["title"]), ("_part_title", ["chapter_title"])):
            if stand_in in said:
                _stand_in(said, fields, [said.pop(stand_in)])
        _stand_in(said, ["first_page"], numbers[:1])
        _stand_in(said, ["first_page", "last_page"], _PAGE_BREAK.split(said.pop("_pages", "")))
        return said


def _stand_in(said: dict[str, Any], fields: list[str], parts: list[str]) -> None:
    for name, part in zip(fields, parts, strict=False):
        if part.strip():
            said.setdefault(name, part.strip())


def lettered(text: str) -> bool:
    return any(map(str.isalnum, text))

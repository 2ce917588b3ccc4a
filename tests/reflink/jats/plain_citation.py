"""A plain reading of one citation from the element tree; `tests.reflink.jats.plain` reads the entries."""

from __future__ import annotations

import re
from typing import Any, Final

from lxml import etree

from reflink.bibliography.citation import MAX_TEXT
from reflink.identifiers import normalise_doi
from reflink.jats.links import identify
from reflink.jats.people import named
from reflink.jats.scanner import vocabulary as v
from reflink.stripping import REMOVED, separate

IDS: Final = {
    "pub-id": v.PUB_ID, "object-id": v.OBJECT_ID, "ext-link": v.EXT_LINK, "uri": v.URI, "self-uri": v.SELF_URI,
    "elocation-id": v.NUMBER,
}  # fmt: skip
GROUPS: Final = {
    **dict.fromkeys(("author", "authors", "allauthors", "all-authors", "inventor"), v.AUTHORS),
    **dict.fromkeys(("editor", "editors", "guest-editor", "series-editor", "ed", "eds"), v.EDITORS),
}

_OPENS: Final = frozenset("([{“/-–—")
_CLOSES: Final = frozenset(",.;:)]}”/(-–—")
_LOOSE: Final = frozenset(",.;:)]")
_YEAR: Final = re.compile(r"(?<![0-9])(1[5-9][0-9][0-9]|20[0-9][0-9])(?![0-9])")
_PAGE_BREAK: Final = re.compile(r"[-‐‑–—,;]+")


def local(element: etree._Element) -> str:
    """Return an element's name without prefix; elements of MathML, except ``math``, are markup within a formula."""
    name = str(element.tag).rpartition("}")[2]
    if element.prefix in ("m", "mml") and name != "math" and name not in v.SILENT_NAMES:
        return "mi"
    return name


def attribute(element: etree._Element, *names: str) -> str:
    """Return the first attribute of these names that is not empty; ``href`` may have any prefix."""
    for key, value in element.attrib.items():
        _, prefixed, name = str(key).rpartition("}")
        if value and name in names and (not prefixed or name == "href"):
            return str(value)
    return ""


def line(text: str) -> str:
    """Return ``text`` with collapsed white space."""
    return " ".join(text.split())


def plain_text(element: etree._Element) -> str:
    """Return all text of an element unchanged."""
    return "".join(map(str, element.itertext()))


def tight(characters: list[str]) -> list[int]:
    """Return the positions of the characters that remain without spaces before punctuation."""
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
        self.group = v.AUTHORS
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
            elif name in v.INLINE_NAMES:
                self.inside(child)
            elif name not in v.SILENT_NAMES:
                self.apart = True
                self.child(
                    child, name if name not in self.above else "p"
                )  # an element within an element of the same name counts once
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
        """Read an element that may be a field."""
        group, people = self.group, len(self.people)
        seamless = bool(self.titles) and not self.gap and self.titles[-1][2] == len(self.text)
        if name == "person-group":
            declared = attribute(element, "person-group-type")
            self.group = GROUPS.get(declared.lower(), v.OTHERS) if declared else v.AUTHORS
        if name in ("person-group", "name", "string-name"):
            self.person, self.given = None, ""
        item: list[Any] = []
        if name in IDS:
            number = name == "elocation-id"
            declared = "" if number else attribute(element, "pub-id-type", "ext-link-type").lower()
            kind = {**v.ID_CODES, "medline": v.MEDLINE}.get(declared, 0)
            item = [IDS[name], kind, (0, 0), "" if number else attribute(element, "href")]
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
        """Read the end of an element with text."""
        if name in v.FIRST_FIELDS:
            self.first.setdefault(v.FIRST_FIELDS[name], text)
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

    def title(self) -> str | None:
        """Return the first title; it may have several parts with only punctuation between them."""
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
        """Return tagged identifiers, the other article numbers, and the text with marks for removed elements."""
        ids: dict[str, str] = {}
        numbers: list[str] = []
        kept: set[str] = set()
        for code, declared, (start, stop), href in self.ids:
            text = "".join(self.text[start:stop])
            if code != v.NUMBER:
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
                keeps = code in (v.EXT_LINK, v.URI, v.NUMBER) and text in kept
                pieces += [self.between(stays, last, start), text if keeps else REMOVED]
                last = stop
        return ids, numbers, "".join([*pieces, self.between(stays, last, len(self.text))])

    def between(self, stays: list[int], start: int, stop: int) -> str:
        return "".join(self.text[at] for at in stays if start <= at < stop)

    def fields(self) -> dict[str, Any]:
        """Return the fields of a reference by name."""
        stays = tight(self.text)
        printed = self.between(stays, 0, len(self.text))
        fields: dict[str, Any] = {**self.first, "raw_text": printed[:MAX_TEXT].rstrip()}
        ids, numbers, bare = self.identified(stays)
        weak, noid = separate(bare[:MAX_TEXT].rstrip() if len(printed) > MAX_TEXT else bare)
        people = named([(group, whole, last, given) for group, whole, last, given in self.people])
        fields |= {name: tuple(names) for name, names in people.items()}
        found = {
            "year": self.year, "title": self.title(), "collectives": tuple(self.collectives),
            "collab": self.collectives[0] if self.collectives else "", "label": self.labels[0] if self.labels else "",
            "kind": line(attribute(self.element, "publication-type", "citation-type")),
            "ids": ids, "ids_weak": {kind: value for kind, value in weak.items() if kind not in ids},
        }  # fmt: skip
        fields |= {name: value for name, value in found.items() if value}
        if noid != fields["raw_text"]:
            fields["raw_noid"] = noid
        pages = zip(("first_page", "last_page"), _PAGE_BREAK.split(fields.pop("_pages", "")), strict=False)
        titles = [("title", fields.pop("_data_title", "")), ("chapter_title", fields.pop("_part_title", ""))]
        for name, substitute in (*titles, ("first_page", (*numbers, "")[0]), *pages):
            if substitute.strip():
                fields.setdefault(name, substitute.strip())
        return fields


def lettered(text: str) -> bool:
    return any(map(str.isalnum, text))

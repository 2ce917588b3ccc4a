"""A second, independent reading of well-formed articles: the minimum that the parser must find, as simple as possible.

It knows only which elements are citations and which elements' text does not belong to a citation. It yields only letters and
digits, because the parser decides about spaces and punctuation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.identifiers import MAX_DOI

CITATIONS: Final = frozenset(("mixed-citation", "element-citation", "citation", "nlm-citation"))
#: Elements that are not part of the citation, or not text.
_SILENT: Final = frozenset(("label", "tex-math", "inline-graphic", "graphic", "annotation-xml", "fn"))
_SELF: Final = frozenset(("front", "front-stub"))
_JATS: Final = CITATIONS | _SELF | {"article", "ref", "back"}
_ID_BEARERS: Final = ("pub-id", "object-id", "ext-link", "uri", "self-uri", "elocation-id")
_NO_LETTERS: Final = re.compile(r"[\W_]+")
_SIMPLE_DOI: Final = re.compile(r"10\.[0-9]{4,5}/[a-z]{0,8}\.?(?:[0-9]+[.-])*[0-9]+")
_MARKUP_OF_ITS_OWN: Final = re.compile(rb"<!DOCTYPE[^>]*\[|&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9A-Fa-f]+);)")
_DECLARATION: Final = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)")


@dataclass(frozen=True)
class Entry:
    """One ``<ref>``, or a citation outside any: its id, the letters and digits of each citation, and a DOI if unambiguous."""

    xml_id: str | None
    texts: tuple[str, ...]
    doi: str | None


@dataclass(frozen=True)
class Plain:
    """The certain content of an article. ``paper`` is whether it is a paper at all."""

    paper: bool
    entries: tuple[Entry, ...]


def letters(text: str) -> str:
    """Return the letters and digits of ``text``."""
    return _NO_LETTERS.sub("", text)


def read(data: bytes) -> Plain | None:
    """Return the plain reading; None for ambiguous input.

    It is not well-formed, or has entities, namespaces, refs within refs, or parts with identifiers, which may be papers.
    """
    declared = _DECLARATION.match(data)
    if (declared and declared[1].lower() != b"utf-8") or _MARKUP_OF_ITS_OWN.search(data):
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root.tag != "article" or any(part.find(".//article-id") is not None for part in root.iter("sub-article", "response")):
        return None
    entries: list[Entry] = []
    for element in root.iter():
        tag = str(element.tag)
        if tag[0] == "{":
            if tag.rpartition("}")[2] in _JATS:
                return None
        elif tag == "ref" or tag in CITATIONS:
            above = {str(item.tag) for item in element.iterancestors()}
            if tag in CITATIONS and ("ref" in above or above & _SELF) and not above & CITATIONS:
                continue
            if "ref" in above or above & CITATIONS:
                return None
            entries.append(_entry(element))
    return Plain(any(child.tag in ("front", "back") for child in root), tuple(entries))


def _entry(element: etree._Element) -> Entry:
    silent = [item for item in element.iter(*_SILENT) if item is not element]
    hidden = {citation for item in silent for citation in item.iter(*CITATIONS)}
    citations = [item for item in element.iter(*CITATIONS) if item not in hidden]
    texts = [letters("".join(_text(item, []))) for item in citations or [element]]
    xml_id = (element.get("id") or "").strip() or None
    return Entry(xml_id, tuple(texts), _doi(citations[0]) if len(citations) == 1 else None)


def _text(element: etree._Element, into: list[str]) -> list[str]:
    into.append(element.text or "")
    for child in element:
        space, _, tag = str(child.tag).rpartition("}")
        if "MathML" in space:
            into.extend(map(str, child.itertext()))
        elif tag not in _SILENT:
            _text(child, into)
        into.append(child.tail or "")
    return into


def _doi(citation: etree._Element) -> str | None:
    bearers = list(citation.iter(*_ID_BEARERS))
    if len(bearers) != 1 or bearers[0].tag != "pub-id" or bearers[0].get("pub-id-type") != "doi" or len(bearers[0]):
        return None
    if any(item.tag in _SILENT for item in bearers[0].iterancestors()):
        return None
    text = (bearers[0].text or "").strip()
    return text if len(text) <= MAX_DOI and _SIMPLE_DOI.fullmatch(text) else None

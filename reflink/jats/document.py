"""Bytes → the article's element tree, safely: no network, no DTD, no entity expansion; what is broken is recovered."""

from __future__ import annotations

import codecs
import html.entities
import re
from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.errors import NotAPaper, TooLarge


@dataclass(frozen=True)
class Limits:
    """What one paper may cost. Beyond it `TooLarge` is raised.

    ``size`` in bytes of XML, ``depth`` in nested elements (256 is the most there can be), ``references`` in works cited.
    """

    size: int = 64 * 2**20
    depth: int = 256
    references: int = 20_000


@dataclass(frozen=True)
class Document:
    """The ``<article>`` element, its tags without namespace, and what was lost or guessed on the way."""

    article: etree._Element
    warnings: tuple[str, ...]


#: Names of the ISO sets in the JATS DTDs that HTML does not know, or knows as something else.
ISO_ENTITIES: Final[dict[str, str]] = {"Thetas": "Θ", "thetas": "θ", "b.alpha": "α", "b.beta": "β", "rang": "⟩", "lang": "⟨"}
_PREDEFINED: Final = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
#: An entity that the paper declares itself is replaced when it is no longer than this; longer or nested ones are dropped.
_SHORT: Final = 64

_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_ENCODING: Final = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"'][^>]{0,100}?\?>")
_DECLARATION: Final = re.compile(r"^\s*<\?xml[^>]*\?>")
_ASCII_LIKE: Final = frozenset(("utf-8", "ascii", "iso8859-1", "cp1252", "iso8859-15", "iso8859-2", "cp1250"))
_ENTITY: Final = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|&([A-Za-z_][A-Za-z0-9_.:-]{0,63});", re.DOTALL)
_DOCTYPE: Final = re.compile(
    rb"<!DOCTYPE(?:[^\"'\[>]|\"[^\"]*\"|'[^']*')*"
    rb"(\[(?:[^\"'\]<]|\"[^\"]*\"|'[^']*'|<!--.*?-->|<\?.*?\?>|<)*\]\s*)?>",
    re.DOTALL,
)  # fmt: skip
_DECLARED: Final = re.compile(
    rb"<!ENTITY\s+([A-Za-z_][\w.:-]*)\s+(?:\"((?:[^\"%&<]|&#x?[0-9A-Fa-f]{1,6};)*)\"|'((?:[^'%&<]|&#x?[0-9A-Fa-f]{1,6};)*)')\s*>"
)
_PARTS: Final = frozenset(("front", "back"))
#: Roots of documents whose ``<article>`` is something else.
_OTHERS: Final = frozenset(("html", "TEI"))
_RECOVERABLE_LIMITS: Final = ("Excessive depth", "too long", "huge", "Huge")


def read(data: bytes, source: str | None, limits: Limits) -> Document:
    """Parses one article. Raises TooLarge (``size``, ``depth``) and NotAPaper; both name ``source``."""
    name = source or "paper"
    if len(data) > limits.size:
        raise TooLarge(f"{name}: {len(data)} bytes of XML, the limit is {limits.size}")
    warnings: list[str] = []
    data = _without_doctype(_as_ascii_like(data, name, warnings), warnings)
    start = data.lstrip()[:1]
    if start != b"<":
        raise NotAPaper(f"{name}: not XML: " + ("empty" if not start else "it does not begin with '<'"))
    root = _parse(data, name, limits, warnings)
    article = _article(root, name)
    _check_depth(article, name, limits)
    return Document(article, tuple(warnings))


def _as_ascii_like(data: bytes, name: str, warnings: list[str]) -> bytes:
    """The bytes without a BOM, in an encoding in which markup is ASCII."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            if encoding == "utf-8":
                return _declared_utf8(data[len(bom) :])
            return _transcoded(data, encoding, name, warnings)
    if data[:4] in (b"<\0?\0", b"<\0a\0", b"<\0!\0"):
        return _transcoded(data, "utf-16-le", name, warnings)
    if data[:4] in (b"\0<\0?", b"\0<\0a", b"\0<\0!"):
        return _transcoded(data, "utf-16-be", name, warnings)
    declared = _ENCODING.match(data.lstrip()[:300])
    if declared is None:
        return data.lstrip()
    try:
        encoding = codecs.lookup(declared[1].decode()).name
    except LookupError:
        warnings.append(f"unknown encoding {declared[1].decode()!r}: read as UTF-8")
        return _declared_utf8(data.lstrip())
    if encoding == "ascii":  # so says many a UTF-8 file
        return _declared_utf8(data.lstrip())
    return data.lstrip() if encoding in _ASCII_LIKE else _transcoded(data.lstrip(), encoding, name, warnings)


def _declared_utf8(data: bytes) -> bytes:
    return _ENCODING.sub(b"", data[:300], count=1) + data[300:]


def _transcoded(data: bytes, encoding: str, name: str, warnings: list[str]) -> bytes:
    try:
        text = data.decode(encoding, errors="replace")
    except LookupError:  # a codec that does not make text
        raise NotAPaper(f"{name}: encoding {encoding!r} is not one of text") from None
    if "\ufffd" in text:
        warnings.append(f"bytes that are not {encoding} were replaced")
    return _DECLARATION.sub("", text.removeprefix("\ufeff"), count=1).encode("utf-8", errors="replace")


def _without_doctype(data: bytes, warnings: list[str]) -> bytes:
    """Drops the DOCTYPE, whose entities nothing here may expand, after giving names their characters."""
    declared: dict[bytes, bytes] = {}
    at = data.find(b"<!DOCTYPE")
    doctype = _DOCTYPE.match(data, at) if at >= 0 else None
    if doctype:
        if doctype[1]:
            declared = {m[1]: m[2] or m[3] or b"" for m in _DECLARED.finditer(doctype[1])}
        data = data[: doctype.start()] + data[doctype.end() :]
    if b"&" not in data:
        return data
    unknown: set[str] = set()

    def replaced(match: re.Match[bytes]) -> bytes:
        name: bytes | None = match[1]
        if name is None or name in _PREDEFINED:
            return match[0]
        own = declared.get(name)
        if own is not None and len(own) <= _SHORT:
            return own
        key = name.decode()
        characters = ISO_ENTITIES.get(key) or html.entities.html5.get(key + ";")
        if characters is None:
            unknown.add(key)
            return b""
        return "".join(f"&#{ord(character)};" for character in characters).encode()

    data = _ENTITY.sub(replaced, data)
    if unknown:
        some = ", ".join(sorted(unknown)[:5])
        warnings.append(f"undefined entities dropped: {some}")
    return data


def _parse(data: bytes, name: str, limits: Limits, warnings: list[str]) -> etree._Element:
    root, errors = _attempt(data, recover=False)
    if root is None:
        first = errors or "no element"
        root, _ = _attempt(data, recover=True)
        if any(word in first for word in _RECOVERABLE_LIMITS):
            raise TooLarge(f"{name}: {first}")
        if root is None:
            raise NotAPaper(f"{name}: not XML: {first}")
        warnings.append(f"not well-formed, read as far as possible: {first}")
    if root.getroottree().docinfo.internalDTD is not None:
        raise NotAPaper(f"{name}: a DOCTYPE that cannot be delimited")
    return root


def _attempt(data: bytes, *, recover: bool) -> tuple[etree._Element | None, str]:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, attribute_defaults=False,
        huge_tree=False, recover=recover, remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        return etree.fromstring(data, parser), ""
    except etree.XMLSyntaxError as error:
        return None, " ".join(str(error.msg).split())


def _article(root: etree._Element, name: str) -> etree._Element:
    """The one article in the document, which may be wrapped in something else."""
    kind = etree.QName(root).localname
    articles = [root] if kind == "article" else [] if kind in _OTHERS else list(root.iter("{*}article"))
    papers = [item for item in articles if any(etree.QName(child).localname in _PARTS for child in item)]
    if len(papers) == 1:
        return _plainly_named(papers[0])
    if len(papers) > 1:
        raise NotAPaper(f"{name}: holds {len(papers)} articles: split it into one each")
    if articles:
        raise NotAPaper(f"{name}: <article> has neither <front> nor <back>")
    raise NotAPaper(f"{name}: root element is <{kind}>, not <article>")


def _plainly_named(article: etree._Element) -> etree._Element:
    """The article with its elements out of their namespace; MathML and the like keep theirs."""
    spaces = {etree.QName(item).namespace for item in (article, *article)}
    for space in spaces - {None}:
        for element in article.iter(f"{{{space}}}*"):
            element.tag = etree.QName(element).localname
    return article


def _check_depth(article: etree._Element, name: str, limits: Limits) -> None:
    """libxml2 has refused what is deeper than 256."""
    if limits.depth < 256 and article.xpath("boolean(.//*[count(ancestor::*) >= $depth])", depth=limits.depth):
        raise TooLarge(f"{name}: elements nested deeper than {limits.depth}")

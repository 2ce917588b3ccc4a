"""Parse untrusted bytes to the article's element tree: no network, no DTD, no entity expansion; recover broken XML."""

from __future__ import annotations

import codecs
import html.entities
import re
from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.errors import NotAPaper, TooLarge
from reflink.jats.trimming import trimmed


@dataclass(frozen=True)
class Limits:
    """Limits of one paper; `TooLarge` is raised beyond them.

    ``size``: bytes of XML. ``depth``: nested elements, at most 256. ``references``: cited works.
    """

    size: int = 64 * 2**20
    depth: int = 256
    references: int = 20_000


@dataclass(frozen=True)
class Document:
    """The ``<article>`` element, its tags without namespace, and warnings about lost or guessed content.

    ``source`` is its XML in well-formed UTF-8, which may contain comments, processing instructions and CDATA.
    ``prefixed``: element names in ``source`` may have prefixes.
    """

    article: etree._Element
    warnings: tuple[str, ...]
    source: bytes
    prefixed: bool


#: Entities of the ISO sets in the JATS DTDs that HTML does not define, or defines as another character.
ISO_ENTITIES: Final[dict[str, str]] = {"Thetas": "Θ", "thetas": "θ", "b.alpha": "α", "b.beta": "β", "rang": "⟩", "lang": "⟨"}
_PREDEFINED: Final = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
#: Maximum nesting depth of libxml2.
_DEEPEST: Final = 256
#: Maximum length, in bytes, of an entity that the paper declares. Longer or nested entities are dropped.
_SHORT: Final = 64

_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_ENCODING: Final = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"'][^>]{0,100}?\?>")
_DECLARATION: Final = re.compile(r"^\s*<\?xml[^>]*\?>")
_ASCII_LIKE: Final = frozenset(("utf-8", "ascii", "iso8859-1", "cp1252", "iso8859-15", "iso8859-2", "cp1250"))
#: An entity, or the beginning of a comment or CDATA section, which contain no entities.
_ENTITY: Final = re.compile(rb"&([A-Za-z_][A-Za-z0-9_.:-]{0,63});|<!--|<!\[CDATA\[")
_ENDS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}
_NAMED: Final = re.compile(rb"&(?!#|amp;|lt;|gt;|quot;|apos;)")
#: The next token of a DOCTYPE that may end it, open or close its internal subset, or contain such characters.
_DOCTYPE_STEP: Final = re.compile(rb"[\[\]>]|\"[^\"]*\"|'[^']*'|<!--|<\?|<!")
_DECLARED: Final = re.compile(
    rb"<!ENTITY\s+([A-Za-z_][\w.:-]*)\s+(?:\"((?:[^\"%&<]|&#x?[0-9A-Fa-f]{1,6};)*)\"|'((?:[^'%&<]|&#x?[0-9A-Fa-f]{1,6};)*)')\s*>"
)
#: Encodings whose bytes are UTF-8.
_UTF8: Final = frozenset(("utf-8", "utf8", "ascii", "us-ascii"))
_FORBIDDEN: Final = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_CHARACTER: Final = re.compile(r"&#(?:0*(\d{1,9})|x0*([0-9A-Fa-f]{1,8}));")
_PARTS: Final = frozenset(("front", "back"))
#: Roots of documents in which ``<article>`` is not a JATS article.
_OTHERS: Final = frozenset(("html", "TEI"))
_RECOVERABLE_LIMITS: Final = ("Excessive depth", "too long", "huge", "Huge")


def read(data: bytes, source: str | None, limits: Limits) -> Document:
    """Parse one article. Raises TooLarge (``size``, ``depth``) and NotAPaper; both name ``source``."""
    name = source or "paper"
    if len(data) > limits.size:
        raise TooLarge(f"{name}: {len(data)} bytes of XML, the limit is {limits.size}")
    warnings: list[str] = []
    data = _without_doctype(_as_ascii_like(data, name, warnings), warnings)
    start = data.lstrip()[:1]
    if start != b"<":
        raise NotAPaper(f"{name}: not XML: " + ("empty" if not start else "it does not begin with '<'"))
    root, broken = _parse(data, name, limits, warnings)
    article = _article(root, name)
    prefixed = any(_space(item) for item in (article, *article))
    article = _plainly_named(article)
    _check_depth(article, name, limits)
    return Document(article, tuple(warnings), _source(data, root, article, broken=broken), prefixed)


def _as_ascii_like(data: bytes, name: str, warnings: list[str]) -> bytes:
    """Return the bytes without a BOM, in an encoding whose markup is ASCII."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            if encoding == "utf-8":
                return _declared_utf8(data[len(bom) :])
            return _transcoded(data, encoding, name, warnings)
    if data[:4] in (b"<\0\0\0", b"\0\0\0<"):
        return _transcoded(data, "utf-32-le" if data[0] else "utf-32-be", name, warnings)
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
    if encoding == "ascii":  # many UTF-8 files declare ASCII
        return _declared_utf8(data.lstrip())
    return data.lstrip() if encoding in _ASCII_LIKE else _transcoded(data.lstrip(), encoding, name, warnings)


def _declared_utf8(data: bytes) -> bytes:
    return _ENCODING.sub(b"", data[:300], count=1) + data[300:]


def _transcoded(data: bytes, encoding: str, name: str, warnings: list[str]) -> bytes:
    try:
        text = data.decode(encoding, errors="replace")
    except (LookupError, UnicodeError):  # a codec that does not decode text
        raise NotAPaper(f"{name}: encoding {encoding!r} is not one of text") from None
    if "\ufffd" in text:
        warnings.append(f"bytes that are not {encoding} were replaced")
    return _DECLARATION.sub("", text.removeprefix("\ufeff"), count=1).encode("utf-8", errors="replace")


def _without_doctype(data: bytes, warnings: list[str]) -> bytes:
    """Remove the DOCTYPE, since the parser must not expand its entities, and replace named entities by their characters."""
    declared: dict[bytes, bytes] = {}
    start = data.find(b"<!DOCTYPE")
    end = _doctype_end(data, start) if start >= 0 else -1
    if end >= 0:
        declared = {m[1]: m[2] or m[3] or b"" for m in _DECLARED.finditer(data[start:end])}
        data = data[:start] + data[end:]
    return _with_characters(data, declared, warnings) if _NAMED.search(data) else data


def _doctype_end(data: bytes, start: int) -> int:
    """Return the end of the DOCTYPE that begins at ``start``; -1 if it cannot be determined."""
    at, depth = start + len(b"<!DOCTYPE"), 0  # depth: 1 in the internal subset, 2 in a declaration there
    while found := _DOCTYPE_STEP.search(data, at):
        at, step = found.end(), found[0]
        if step in (b"<!--", b"<?"):
            closing = b"-->" if step == b"<!--" else b"?>"
            closed = data.find(closing, at)
            if not depth or closed < 0:
                return -1
            at = closed + len(closing)
        elif step == b"<!" and depth == 1:
            depth = 2
        elif step == b">":
            if not depth:
                return at
            depth = 1
        elif step == b"[":
            if depth:
                return -1
            depth = 1
        elif step == b"]":
            if depth != 1:
                return -1
            depth = 0
    return -1


def _with_characters(data: bytes, declared: dict[bytes, bytes], warnings: list[str]) -> bytes:
    """Replace the paper's own short entities and the entities of the ISO sets and HTML; drop all other named entities."""
    unknown: set[str] = set()
    parts: list[bytes] = []
    at = 0
    while found := _ENTITY.search(data, at):
        name: bytes | None = found[1]
        if name is None:
            closed = data.find(_ENDS[found[0]], found.end())
            stop = closed if closed >= 0 else len(data)
            parts.append(data[at:stop])
            at = stop
            continue
        parts.append(data[at : found.start()])
        parts.append(found[0] if name in _PREDEFINED else _characters(name, declared, unknown))
        at = found.end()
    parts.append(data[at:])
    if unknown:
        some = ", ".join(sorted(unknown)[:5])
        warnings.append(f"undefined entities dropped: {some}")
    return b"".join(parts)


def _characters(name: bytes, declared: dict[bytes, bytes], unknown: set[str]) -> bytes:
    own = declared.get(name)
    if own is not None and len(own) <= _SHORT:
        return own
    characters = ISO_ENTITIES.get(name.decode()) or html.entities.html5.get(name.decode() + ";")
    if characters is None:
        unknown.add(name.decode())
        return b""
    return "".join(f"&#{ord(character)};" for character in characters).encode()


def _source(data: bytes, root: etree._Element, article: etree._Element, *, broken: bool) -> bytes:
    """Return the article as UTF-8: ``data`` if it is well-formed UTF-8 with the article as root, else the serialised tree."""
    encoding = root.getroottree().docinfo.encoding or "utf-8"
    if not broken and root is article and (encoding.lower() in _UTF8 or data.isascii()):
        return data
    return etree.tostring(article, encoding="utf-8", with_tail=False)


def _parse(data: bytes, name: str, limits: Limits, warnings: list[str]) -> tuple[etree._Element, bool]:
    """Return the root, without bodies and reference lists where possible, and whether the XML had to be recovered."""
    shorter = trimmed(data) if limits.depth >= _DEEPEST else None
    if shorter is not None and (root := _attempt(shorter, recover=False)[0]) is not None and _local(root) == "article":
        return root, False
    root, errors = _attempt(data, recover=False)
    broken = root is None
    if root is None:
        first = errors or "no element"
        root, _ = _attempt(_without_forbidden(data), recover=True)
        if any(word in first for word in _RECOVERABLE_LIMITS):
            raise TooLarge(f"{name}: {first}")
        if root is None:
            raise NotAPaper(f"{name}: not XML: {first}")
        warnings.append(f"not well-formed, read as far as possible: {first}")
    if root.getroottree().docinfo.internalDTD is not None:
        raise NotAPaper(f"{name}: a DOCTYPE that cannot be delimited")
    return root, broken


def _without_forbidden(data: bytes) -> bytes:
    """Return broken XML as UTF-8, with U+FFFD for characters and character references that XML forbids."""
    declared = _ENCODING.match(data[:300])
    encoding = declared[1].decode() if declared else "utf-8"
    text = _DECLARATION.sub("", data.decode(encoding, errors="replace"), count=1)
    return _CHARACTER.sub(_allowed, _FORBIDDEN.sub("\ufffd", text)).encode()


def _allowed(reference: re.Match[str]) -> str:
    decimal, hexadecimal = reference.groups()
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return "\ufffd" if code > 0x10FFFF or _FORBIDDEN.match(chr(code)) else reference[0]


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
    """Return the only article of the document; other elements may enclose it. Raises NotAPaper."""
    kind = _local(root)
    articles = [root] if kind == "article" else [] if kind in _OTHERS else list(root.iter("{*}article"))
    papers = [item for item in articles if any(_local(child) in _PARTS for child in item)]
    if len(papers) == 1:
        return papers[0]
    if len(papers) > 1:
        raise NotAPaper(f"{name}: holds {len(papers)} articles: split it into one each")
    if articles:
        raise NotAPaper(f"{name}: <article> has neither <front> nor <back>")
    raise NotAPaper(f"{name}: root element is <{kind[:80]}>, not <article>")


def _plainly_named(article: etree._Element) -> etree._Element:
    """Remove the namespace of the article and its children from all element names; other namespaces (MathML) stay."""
    spaces = {_space(item) for item in (article, *article)}
    for space in spaces - {""}:
        for element in article.iter(f"{{{space}}}*"):
            element.tag = _local(element)
    return article


def _local(element: etree._Element) -> str:
    """Return an element's name without its namespace; recovered names may be malformed, and nodes of other kinds have none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _space(element: etree._Element) -> str:
    """Return the namespace of an element's name; empty if it has none."""
    return element.tag.rpartition("}")[0][1:] if isinstance(element.tag, str) else ""


def _check_depth(article: etree._Element, name: str, limits: Limits) -> None:
    """Raise TooLarge beyond ``limits.depth``. libxml2 itself refuses elements nested deeper than 256."""
    if limits.depth < _DEEPEST and article.xpath("boolean(.//*[count(ancestor::*) >= $depth])", depth=limits.depth):
        raise TooLarge(f"{name}: elements nested deeper than {limits.depth}")

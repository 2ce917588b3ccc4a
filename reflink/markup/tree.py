"""Parse untrusted XML to an element tree: no network, no DTD, no entity expansion; recover broken XML."""

from __future__ import annotations

import re
from typing import Final

from lxml import etree

from reflink.errors import NotAPaper, TooLarge
from reflink.limits import Limits
from reflink.markup.encoding import DECLARATION, ENCODING, as_ascii_like
from reflink.markup.entities import without_doctype

#: Maximum nesting depth of libxml2.
DEEPEST: Final = 256
_FORBIDDEN: Final = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_CHARACTER: Final = re.compile(r"&#(?:0*(\d{1,9})|x0*([0-9A-Fa-f]{1,8}));")
_RECOVERABLE_LIMITS: Final = ("Excessive depth", "too long", "huge", "Huge")


def plain_markup(data: bytes, name: str, limits: Limits) -> tuple[bytes, list[str]]:
    """Return XML whose markup is ASCII, without DOCTYPE and named entities, and warnings.

    Raises TooLarge (``limits.size``), and NotAPaper if the bytes do not begin with "<"; both name ``name``.
    """
    if len(data) > limits.size:
        raise TooLarge(f"{name}: {len(data)} bytes of XML, the limit is {limits.size}")
    warnings: list[str] = []
    data = without_doctype(as_ascii_like(data, name, warnings), warnings)
    start = data.lstrip()[:1]
    if start != b"<":
        raise NotAPaper(f"{name}: not XML: " + ("empty" if not start else "it does not begin with '<'"))
    return data, warnings


def read_tree(data: bytes, name: str, limits: Limits) -> tuple[etree._Element, list[str]]:
    """Return the root of untrusted XML, without comments and processing instructions, and warnings about lost content.

    Raises TooLarge (``limits.size``, ``limits.depth``) and NotAPaper; both name ``name``.
    """
    data, warnings = plain_markup(data, name, limits)
    root, _ = parsed(data, name, warnings)
    check_depth(root, name, limits)
    return root, warnings


def parsed(data: bytes, name: str, warnings: list[str]) -> tuple[etree._Element, bool]:
    """Return the root of `plain_markup`, and whether the XML had to be recovered."""
    root, errors = attempt(data, recover=False)
    broken = root is None
    if root is None:
        first = errors or "no element"
        root, _ = attempt(_without_forbidden(data), recover=True)
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
    declared = ENCODING.match(data[:300])
    encoding = declared[1].decode() if declared else "utf-8"
    text = DECLARATION.sub("", data.decode(encoding, errors="replace"), count=1)
    return _CHARACTER.sub(_allowed, _FORBIDDEN.sub("\ufffd", text)).encode()


def _allowed(reference: re.Match[str]) -> str:
    decimal, hexadecimal = reference.groups()
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return "\ufffd" if code > 0x10FFFF or _FORBIDDEN.match(chr(code)) else reference[0]


def attempt(data: bytes, *, recover: bool) -> tuple[etree._Element | None, str]:
    """Return the root and "", or None and the parser's message."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, attribute_defaults=False,
        huge_tree=False, recover=recover, remove_comments=True, remove_pis=True, collect_ids=False,
    )  # fmt: skip
    try:
        return etree.fromstring(data, parser), ""
    except etree.XMLSyntaxError as error:
        return None, " ".join(str(error.msg).split())


def local(element: etree._Element) -> str:
    """Return an element's name without its namespace; recovered names may be malformed, and nodes of other kinds have none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def namespace(element: etree._Element) -> str:
    """Return the namespace of an element's name; empty if it has none."""
    return element.tag.rpartition("}")[0][1:] if isinstance(element.tag, str) else ""


def check_depth(root: etree._Element, name: str, limits: Limits) -> None:
    """Raise TooLarge beyond ``limits.depth``. libxml2 itself refuses elements nested deeper than 256."""
    if limits.depth < DEEPEST and root.xpath("boolean(.//*[count(ancestor::*) >= $depth])", depth=limits.depth):
        raise TooLarge(f"{name}: elements nested deeper than {limits.depth}")

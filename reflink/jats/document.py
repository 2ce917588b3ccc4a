"""Read untrusted bytes as an article: its element tree, and its XML for the scanner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.errors import NotAPaper
from reflink.jats.trimming import trimmed
from reflink.limits import Limits
from reflink.markup.tree import DEEPEST, attempt, check_depth, local, namespace, parsed, plain_markup


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


#: Encodings whose bytes are UTF-8.
_UTF8: Final = frozenset(("utf-8", "utf8", "ascii", "us-ascii"))
_PARTS: Final = frozenset(("front", "back"))
#: Roots of documents in which ``<article>`` is not a JATS article.
_OTHERS: Final = frozenset(("html", "TEI"))


def read(data: bytes, source: str | None, limits: Limits) -> Document:
    """Parse one article. Raises TooLarge (``size``, ``depth``) and NotAPaper; both name ``source``."""
    name = source or "paper"
    data, warnings = plain_markup(data, name, limits)
    root, broken = _parse(data, name, limits, warnings)
    article = _article(root, name)
    prefixed = any(namespace(item) for item in (article, *article))
    article = _plainly_named(article)
    check_depth(article, name, limits)
    return Document(article, tuple(warnings), _source(data, root, article, broken=broken), prefixed)


def _source(data: bytes, root: etree._Element, article: etree._Element, *, broken: bool) -> bytes:
    """Return the article as UTF-8: ``data`` if it is well-formed UTF-8 with the article as root, else the serialised tree."""
    encoding = root.getroottree().docinfo.encoding or "utf-8"
    if not broken and root is article and (encoding.lower() in _UTF8 or data.isascii()):
        return data
    return etree.tostring(article, encoding="utf-8", with_tail=False)


def _parse(data: bytes, name: str, limits: Limits, warnings: list[str]) -> tuple[etree._Element, bool]:
    """Return the root, without bodies and reference lists where possible, and whether the XML had to be recovered."""
    shorter = trimmed(data) if limits.depth >= DEEPEST else None
    if shorter is not None and (root := attempt(shorter, recover=False)[0]) is not None and local(root) == "article":
        return root, False
    return parsed(data, name, warnings)


def _article(root: etree._Element, name: str) -> etree._Element:
    """Return the only article of the document; other elements may enclose it. Raises NotAPaper."""
    kind = local(root)
    articles = [root] if kind == "article" else [] if kind in _OTHERS else list(root.iter("{*}article"))
    papers = [item for item in articles if any(local(child) in _PARTS for child in item)]
    if len(papers) == 1:
        return papers[0]
    if len(papers) > 1:
        raise NotAPaper(f"{name}: holds {len(papers)} articles: split it into one each")
    if articles:
        raise NotAPaper(f"{name}: <article> has neither <front> nor <back>")
    raise NotAPaper(f"{name}: root element is <{kind[:80]}>, not <article>")


def _plainly_named(article: etree._Element) -> etree._Element:
    """Remove the namespace of the article and its children from all element names; other namespaces (MathML) stay."""
    spaces = {namespace(item) for item in (article, *article)}
    for space in spaces - {""}:
        for element in article.iter(f"{{{space}}}*"):
            element.tag = local(element)
    return article

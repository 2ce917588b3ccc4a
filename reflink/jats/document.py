"""Read untrusted bytes as articles and books: the metadata of each paper as an element tree, and its XML for the scanner."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.errors import NotAPaper, TooLarge
from reflink.jats import books
from reflink.jats.parts import own_parts, take_out
from reflink.jats.trimming import trimmed
from reflink.jats.vocabulary import CITING
from reflink.limits import Limits
from reflink.markup.tree import DEEPEST, attempt, check_depth, local, namespace, parsed, plain_markup


@dataclass(frozen=True)
class Document:
    """One paper: its ``<article>`` element, its tags without namespace, and warnings about lost or guessed content.

    The ``article`` of a book, and of a part of a paper, has only metadata, in the elements of an article. ``outer`` is the
    metadata of the article or book around it: a paper that states no venue or date has those of ``outer``.
    ``source`` is its XML in well-formed UTF-8, which may contain comments, processing instructions and CDATA.
    ``prefixed``: element names in ``source`` may have prefixes. ``citing``: if requested, the numbers of the elements of
    ``source`` that may hold citations, among the ``all_citing`` of the whole document (`reflink.jats.vocabulary.CITING`).
    """

    article: etree._Element
    warnings: tuple[str, ...]
    source: bytes
    prefixed: bool
    outer: etree._Element | None = None
    citing: tuple[int, ...] = ()
    all_citing: int = 0


#: Encodings whose bytes are UTF-8.
_UTF8: Final = frozenset(("utf-8", "utf8", "ascii", "us-ascii"))
_PARTS: Final = frozenset(("front", "back"))
#: Roots of documents in which ``<article>`` is not a JATS article.
_OTHERS: Final = frozenset(("html", "TEI"))
_PART: Final = re.compile(rb"<(?:[\w.-]+:)?(?:sub-article|response)[\s>]")
_CITES: Final = re.compile(rb"<(?:[\w.-]+:)?(?:ref|(?:mixed-|element-|nlm-)?citation)[\s>]")
#: The namespace prefixes that the DTDs before JATS declare, so that the articles need not.
_PREFIXES: Final = {
    b"xlink": b"http://www.w3.org/1999/xlink",
    b"mml": b"http://www.w3.org/1998/Math/MathML",
    b"xsi": b"http://www.w3.org/2001/XMLSchema-instance",
}
_UNDECLARED: Final = re.compile("Namespace prefix (?:xlink|mml|xsi) ")
_ROOT: Final = re.compile(
    rb"(?:\s+|<!--(?:[^-]|-(?!->))*+-->|<\?(?:[^?]|\?(?!>))*+\?>)*+<[A-Za-z_][\w.:-]*(?=[\s/>])(?:[^\"'<>/]|\"[^\"]*\"|'[^']*')*"
)
_NOTHING: Final = b"<article/>"


@dataclass(frozen=True)
class _Tree:
    """``data``: XML whose markup is ASCII. ``whole``: the tree has bodies and reference lists. ``broken``: it was recovered."""

    data: bytes
    root: etree._Element
    warnings: tuple[str, ...]
    whole: bool
    broken: bool


def read(data: bytes, source: str | None, limits: Limits) -> Document:
    """Parse one article or book, without those parts that are papers themselves.

    Raises TooLarge (``size``, ``depth``) and NotAPaper, also for several articles; both name ``source``.
    """
    found = documents(data, source, limits)
    if len(found) > 1:
        raise NotAPaper(f"{source or 'paper'}: holds {len(found)} articles: split it into one each")
    return found[0][0]


def documents(data: bytes, source: str | None, limits: Limits, *, numbered: bool = False) -> list[list[Document]]:
    """Parse the articles and books of a document: each, followed by those parts of it that are papers themselves.

    ``numbered``: set `Document.citing`, which takes the time of a whole tree. Raises as `read` does, but accepts several
    articles, up to ``limits.references``.
    """
    name = source or "paper"
    tree = _tree(data, name, limits, whole=numbered)
    tops = _tops(tree.root, name, limits)
    if not tree.whole and (local(tops[0]) != "article" or _cited_in_parts(tops[0], tree.data)):
        root, _ = parsed(tree.data, name, [])
        tree = _Tree(tree.data, root, tree.warnings, True, tree.broken)
        tops = _tops(root, name, limits)
    numbers = {item: at for at, item in enumerate(tree.root.iter(*CITING))} if numbered else {}
    return [_papers(top, tree, numbers, name, limits) for top in tops]


def _tree(data: bytes, name: str, limits: Limits, *, whole: bool) -> _Tree:
    """Return the tree, unless ``whole`` without bodies and reference lists where possible."""
    data, warnings = plain_markup(data, name, limits)
    shorter = trimmed(data) if limits.depth >= DEEPEST and not whole else None
    if shorter is not None and (root := attempt(shorter, recover=False)[0]) is not None and local(root) == "article":
        return _Tree(data, root, tuple(warnings), False, False)
    root, broken = parsed(data, name, warnings)
    if broken and _UNDECLARED.search(warnings[-1]):
        declaring = _declaring(data)
        if (declared := attempt(declaring, recover=False)[0]) is not None:
            return _Tree(declaring, declared, tuple(warnings[:-1]), True, False)
    return _Tree(data, root, tuple(warnings), True, broken)


def _declaring(data: bytes) -> bytes:
    """Return the document with the namespace prefixes that its DTD declares."""
    root = _ROOT.match(data)
    if root is None:
        return data
    missing = (b' xmlns:%s="%s"' % each for each in _PREFIXES.items() if b"xmlns:%s" % each[0] not in root[0])
    return b"".join((data[: root.end()], *missing, data[root.end() :]))


def _tops(root: etree._Element, name: str, limits: Limits) -> list[etree._Element]:
    """Return the articles and books of the document; other elements may enclose them. Raises NotAPaper and TooLarge."""
    kind = local(root)
    if kind == "article" or books.is_book(root):
        found = [root]
    elif kind in _OTHERS:
        found = []
    else:
        found = list(root.iter("{*}article", *(f"{{*}}{each}" for each in books.ROOTS)))
    papers: list[etree._Element] = []
    for item in found:
        if books.is_book(item) or (local(item) == "article" and any(local(child) in _PARTS for child in item)):
            if papers and any(outer is papers[-1] for outer in item.iterancestors()):
                continue
            papers.append(item)
    if len(papers) > max(limits.references, 1):
        raise TooLarge(f"{name}: more than {limits.references} articles")
    if papers:
        return papers
    if any(local(item) == "article" for item in found):
        raise NotAPaper(f"{name}: <article> has neither <front> nor <back>")
    raise NotAPaper(f"{name}: root element is <{kind[:80]}>, not <article>")


def _cited_in_parts(article: etree._Element, data: bytes) -> bool:
    """Whether a part of the article is a paper, and citations follow the beginning of its first part."""
    if not own_parts(_plainly_named(article)):
        return False
    first = _PART.search(data)
    return first is not None and _CITES.search(data, first.end()) is not None


def _papers(top: etree._Element, tree: _Tree, numbers: dict[etree._Element, int], name: str, limits: Limits) -> list[Document]:
    prefixed = any(namespace(item) for item in (top, *top))
    top = _plainly_named(top)
    check_depth(top, name, limits)
    main, outer = (top, None) if top.tag == "article" else books.paper(top)
    parts = own_parts(top, main)
    changed = False
    rest: list[Document] = []
    for part in reversed(parts):  # a part within another one is taken out first
        source: bytes = _NOTHING
        citing: tuple[int, ...] = ()
        if tree.whole and next(part.element.iter(*CITING), None) is not None:
            citing = _numbers(part.element, numbers)
            source, changed = take_out(part), True
        elif part.translation:
            continue
        rest.append(Document(part.article, (), source, prefixed, part.outer, citing, len(numbers)))
    if top.tag != "article":
        changed = books.hide_citations_of_itself(top) or changed
    source = etree.tostring(top, encoding="utf-8", with_tail=False) if changed else _source(tree, top)
    return [Document(main, tree.warnings, source, prefixed, outer, _numbers(top, numbers), len(numbers)), *reversed(rest)]


def _numbers(element: etree._Element, numbers: dict[etree._Element, int]) -> tuple[int, ...]:
    return tuple(numbers[item] for item in element.iter(*CITING) if item in numbers) if numbers else ()


def _source(tree: _Tree, top: etree._Element) -> bytes:
    """Return the paper as UTF-8: ``data`` if it is well-formed UTF-8 with the paper as root, else the serialised tree."""
    encoding = tree.root.getroottree().docinfo.encoding or "utf-8"
    if not tree.broken and tree.root is top and (encoding.lower() in _UTF8 or tree.data.isascii()):
        return tree.data
    return etree.tostring(top, encoding="utf-8", with_tail=False)


def _plainly_named(top: etree._Element) -> etree._Element:
    """Remove the namespace of the paper and its children from all element names; other namespaces (MathML) stay."""
    spaces = {namespace(item) for item in (top, *top)}
    for space in spaces - {""}:
        for element in top.iter(f"{{{space}}}*"):
            element.tag = local(element)
    return top

"""The bases of mutations: real articles, whole or cut down to a front and a few references."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, Self

from lxml import etree

_ROOT: Final = re.compile(rb"<article\b[^>]*>")
_FRONT: Final = re.compile(rb"<front\b.*?</front>", re.DOTALL)
_REF: Final = re.compile(rb"<ref\b[^>]*[^/]>.*?</ref>", re.DOTALL)
_DOCTYPE: Final = re.compile(rb"<!DOCTYPE[^\[>]*>")
#: The largest elements of a front, of which the parser reads the least.
_BULK: Final = re.compile(
    rb"<(abstract|trans-abstract|aff|author-notes|permissions|kwd-group|article-categories|history|funding-group"
    rb"|custom-meta-group|bio|counts)\b[^>]*[^/]>.*?</\1>",
    re.DOTALL,
)
_PLAIN_ROOT: Final = (
    b'<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" '
    b'xmlns:ali="http://www.niso.org/schemas/ali/1.0/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    b'article-type="research-article">'
)
_DECLARATION: Final = b'<?xml version="1.0" encoding="UTF-8"?>\n'
_MOST_REFS: Final = 80
_CLOSING: Final = b"</ref-list></back></article>"

#: Used if there is no folder of real articles.
_MADE_UP: Final = (
    b"""<article><front><journal-meta><journal-title>Annals of Examples</journal-title></journal-meta><article-meta>
<article-id pub-id-type="doi">10.1234/example.1</article-id><title-group>
<article-title>On Examples</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Doe</surname><given-names>J</given-names></name></contrib>
</contrib-group><pub-date><year>2011</year></pub-date><volume>7</volume><fpage>12</fpage></article-meta></front>
<body><p>Text.</p></body><back><ref-list>
<ref id="r1"><label>1.</label><element-citation publication-type="journal"><person-group person-group-type="author"><name>
<surname>Wang</surname><given-names>X</given-names></name></person-group><article-title>A <italic>title</italic></article-title>
<source>Nature</source><year>2004</year><volume>430</volume><fpage>1</fpage><lpage>9</lpage>
<pub-id pub-id-type="doi">10.1038/nature02000</pub-id><pub-id pub-id-type="pmid">15229000</pub-id></element-citation></ref>
<ref id="r2"><mixed-citation>Smith, J. (1999). Another title. <source>Science</source>, 5(2), 7-8. PMID: 12345
<ext-link ext-link-type="uri" xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="http://dx.doi.org/10.1126/science.5">link</ext-link>
</mixed-citation></ref><ref id="r3"><citation citation-type="book"><name><surname>Roe</surname></name>
<source>A Book</source><year>1987</year></citation><nlm-citation>arXiv:1706.03762</nlm-citation></ref>
</ref-list></back></article>""",
)


@dataclass(frozen=True)
class Article:
    """One article in pieces. ``opening`` ends with the root's start tag; ``bare`` is the front without its largest elements."""

    name: str
    data: bytes | Path
    opening: bytes
    front: bytes
    bare: bytes
    refs: tuple[bytes, ...]

    @classmethod
    def of(cls, name: str, data: bytes, where: Path | None = None) -> Self | None:
        """Return the pieces of an article; None if no front can be cut out of it."""
        root, front = _ROOT.search(data), _FRONT.search(data)
        if root is None or front is None:
            return None
        doctype = _DOCTYPE.search(data, 0, root.start())
        opening = _DECLARATION + (doctype[0] if doctype else b"") + root[0]
        if not _well_formed(opening + front[0] + b"</article>"):
            opening = _DECLARATION + _PLAIN_ROOT
        refs = tuple(match[0] for match, _ in zip(_REF.finditer(data), range(_MOST_REFS), strict=False))
        return cls(name, where or data, opening, front[0], _BULK.sub(b"", front[0]), refs)


class Corpus:
    """The articles to mutate, in the order of their names, so that the same folder gives the same inputs."""

    def __init__(self, articles: Iterable[Article]):
        self.articles = tuple(articles)
        self.cited = tuple(item for item in self.articles if item.refs)
        if not self.cited:
            raise ValueError("no article with references to begin with")

    @classmethod
    def read(cls, folder: Path | None, every: int = 1) -> Self:
        """Read every ``every``-th ``*.xml`` file of a folder; without a folder, use the made-up articles."""
        if folder is None:
            return cls(item for item in (Article.of(f"made-up-{n}", data) for n, data in enumerate(_MADE_UP)) if item)
        paths = sorted(folder.glob("*.xml"))[::every]
        return cls(item for item in (Article.of(path.stem, path.read_bytes(), path) for path in paths) if item)

    def cut(self, rng: Random) -> bytes:
        """Return an article with a front and one to eight references, from one article or from several."""
        article = rng.choice(self.cited)
        number = min(1 + int(rng.expovariate(0.8)), 8)
        if rng.random() < 0.3:
            refs = [rng.choice(rng.choice(self.cited).refs) for _ in range(number)]
        else:
            at = rng.randrange(len(article.refs))
            refs = list(article.refs[at : at + number])
        front = article.front if rng.random() < 0.05 else article.bare if rng.random() < 0.8 else b"<front/>"
        return b"".join((article.opening, front, b"<back><ref-list>", *refs, _CLOSING))

    def scattered(self, rng: Random) -> bytes:
        """Return an article with references in unusual places: sub-article, body, several lists, outside ``ref``."""
        article, other = rng.choice(self.cited), rng.choice(self.cited)
        inner = re.sub(rb"</?ref\b[^>]*>|<label>.*?</label>", b"", rng.choice(other.refs))
        return b"".join(
            (article.opening, article.bare, b"<body><p>", inner, b"</p></body><back><ref-list>", rng.choice(article.refs),
             b"<ref-list>", rng.choice(other.refs), b"</ref-list></ref-list></back><sub-article><front-stub/><back><ref-list>",
             rng.choice(article.refs), b"</ref-list></back></sub-article></article>")
        )  # fmt: skip

    def whole(self, rng: Random) -> bytes:
        """Return a whole article as published."""
        data = rng.choice(self.articles).data
        return data if isinstance(data, bytes) else data.read_bytes()


def _well_formed(data: bytes) -> bool:
    try:
        etree.fromstring(data, etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False))
    except etree.XMLSyntaxError as error:
        return "Entity" in str(error.msg)
    return True

"""Small articles made of the parts a test is about."""

from __future__ import annotations

from reflink.entities import Paper, Reference
from reflink.jats import parse

META = '<article-id pub-id-type="doi">10.1000/Own</article-id>'


def article(refs: str = "", *, meta: str = META, body: str = "", before: str = "", root: str = "<article>") -> bytes:
    """An article with this inside its ``<ref-list>``, ``<article-meta>`` and ``<body>``; ``before`` stands before the root."""
    return (
        f"{before}{root}<front><journal-meta/><article-meta>{meta}</article-meta></front><body>{body}</body>"
        f"<back><ref-list>{refs}</ref-list></back></article>"
    ).encode()


def references(refs: str) -> tuple[Reference, ...]:
    """The references of an article with this bibliography."""
    return paper(refs).references


def paper(refs: str = "", **parts: str) -> Paper:
    """Such an article, parsed."""
    return parse(article(refs, **parts), source="test.xml")


def cited(inside: str, tag: str = "element-citation") -> Reference:
    """The one reference made of a citation with this inside."""
    (only,) = references(f'<ref id="r1"><{tag}>{inside}</{tag}></ref>')
    return only

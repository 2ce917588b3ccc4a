"""Small articles for tests, built from the parts that a test is about."""

from __future__ import annotations

from reflink.entities import Inferred, Paper, Reference
from reflink.errors import NotAPaper, TooLarge
from reflink.jats import parse
from tests.data import jats_folder

META = '<article-id pub-id-type="doi">10.1000/Own</article-id>'


def article(
    refs: str = "", *, meta: str = META, journal: str = "", body: str = "", back: str = "", end: str = "", before: str = "",
    root: str = "<article>",
) -> bytes:  # fmt: skip
    """Return an article with these contents of its ``<ref-list>``, ``<article-meta>``, ``<journal-meta>`` and ``<body>``.

    ``back`` follows the ``<ref-list>``, ``end`` the ``<back>``; ``before`` precedes the root element.
    """
    return (
        f"{before}{root}<front><journal-meta>{journal}</journal-meta><article-meta>{meta}</article-meta></front>"
        f"<body>{body}</body><back><ref-list>{refs}</ref-list>{back}</back>{end}</article>"
    ).encode()


def references(refs: str) -> tuple[Reference, ...]:
    """Return the references of an article with this bibliography."""
    return paper(refs).references


def paper(refs: str = "", **parts: str) -> Paper:
    """Return such an article, parsed."""
    return parse(article(refs, **parts), source="test.xml")


def cited(inside: str, tag: str = "element-citation") -> Reference:
    """Return the reference of a citation with this content."""
    (only,) = references(f'<ref id="r1"><{tag}>{inside}</{tag}></ref>')
    return only


def real(name: str) -> Paper:
    """Return one of the 1,510 real articles, parsed."""
    return parse((jats_folder() / f"{name}.xml").read_bytes(), source=name)


def outcome(data: bytes) -> Paper | str:
    """Return the paper, or the message of NotAPaper or TooLarge; any other error is a defect."""
    try:
        return parse(data, source="x")
    except (NotAPaper, TooLarge) as error:
        return str(error)


def assert_fields(found: Paper | Reference | Inferred | None, **expected: object) -> None:
    """Assert that these fields have these values."""
    assert {name: getattr(found, name) for name in expected} == expected

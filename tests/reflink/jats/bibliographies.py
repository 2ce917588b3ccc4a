"""Strategies for bibliographies: well-formed XML with the elements of citations, and with elements that do not belong there."""

from __future__ import annotations

from xml.sax.saxutils import escape

from hypothesis import strategies as st

from reflink.jats.scanner.vocabulary import FIRST_FIELDS, INLINE_NAMES, SILENT_NAMES
from tests.reflink.jats.plain import CITATIONS
from tests.reflink.jats.plain_citation import GROUPS, IDS

_SPACES = "\t\n\r \x85\xa0\u1680\u2003\u200a\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
_PUNCTUATION = ",.;:)]}”/([{“-–—"
_FRAGMENTS = (
    "Wang", "X.", "XY", " et al. ", "2004", "1499", "2100a", "20045", "1988–93", "10.1000/abc", "doi:", "PMID: 12",
    "pmc1234567", "https://x.org", "arXiv:1706.03762", "10 .1000/x", "10", ".", "htt", "p://", "PubMed", "é",
    "∑", "\U0001d54f", "\u0661", "²", "中", "\ufffd",
)  # fmt: skip
_XML_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=6
)


def _reference(character: str) -> str:
    return f"&#{ord(character)};" if ord(character) % 2 else f"&#x{ord(character):x};"


_CHARACTERS = st.one_of(_XML_TEXT, st.sampled_from(_FRAGMENTS), st.text(st.sampled_from(_SPACES + _PUNCTUATION), max_size=4))
TEXT = st.one_of(
    _CHARACTERS.map(escape),
    _CHARACTERS.map(escape),
    _CHARACTERS.map(lambda text: "".join(map(_reference, text))),
    _CHARACTERS.map(lambda text: f"<![CDATA[{text.replace(']]>', '')}<i>&lt]]]>"),
    st.sampled_from(("&amp;", "&lt;b&gt;", "&quot;", "&apos;", "&#10;", "&#x00041;")),
    st.sampled_from(("<!-- <ref><label>x</label> -->", "<!-->-->", "<?a <ref> b?>", "<?p?>")),
)
_VALUES = (
    *GROUPS, "Author", "compiler", "translator", "doi", "DOI", "pmid", "pmc", "medline", "other", "journal", "10.1000/b", "r1",
    " ", "", "a>b", "<ref>", "x\ny", "it's", 'say "so"', "a&b", "é",
)  # fmt: skip
_ATTRIBUTES = (
    "pub-id-type", "ext-link-type", "person-group-type", "publication-type", "citation-type", "xlink:href", "href", "id",
    "x:id", "specific-use",
)  # fmt: skip


def _attribute(name: str, value: str, style: int) -> str:
    quote = "'" if style % 2 or '"' in value else '"'
    value = value.replace("&", "&amp;").replace("<", "&lt;").replace(quote, "&quot;" if quote == '"' else "&apos;")
    return f"{(' ', '  ', chr(10), ' ')[style]}{name}{'=' if style < 2 else ' = '}{quote}{value}{quote}"


ATTRIBUTES = st.lists(
    st.builds(_attribute, st.sampled_from(_ATTRIBUTES), st.sampled_from(_VALUES), st.integers(0, 3)),
    max_size=3,
    unique_by=lambda attribute: attribute.split("=")[0].strip(),
).map("".join)


def _element(name: str, attributes: str, inside: list[str], style: int) -> str:
    content = "".join(inside)
    if not content and style:
        return f"<{name}{attributes}{' ' * (style - 1)}/>"
    return f"<{name}{attributes}{' ' * style}>{content}</{name}{' ' * style}>"


_PEOPLE = ("name", "string-name", "surname", "given-names", "person-group", "collab")
_PLACES = ("ref", "ref", "citation-alternatives", "front-stub", "label")
_WITHIN = st.one_of(
    st.sampled_from((*FIRST_FIELDS, "year", "date-in-citation", "article-title", "article-title")),
    st.sampled_from((*_PEOPLE, "surname", "given-names")),
    st.sampled_from(tuple(IDS)),
    st.sampled_from((*sorted(INLINE_NAMES), *sorted(SILENT_NAMES))),
    st.sampled_from("comment p x-y sourc math mml:math mml:mi mml:mtable m:mi mml:annotation-xml x:source x:p".split()),
    st.sampled_from((*CITATIONS, *_PLACES)),
)


def _content(names: st.SearchStrategy[str], children: st.SearchStrategy[str], max_size: int) -> st.SearchStrategy[str]:
    return st.builds(_element, names, ATTRIBUTES, st.lists(children, max_size=max_size), st.integers(0, 2))


FIELDS = st.recursive(TEXT, lambda children: st.one_of(TEXT, _content(_WITHIN, children, 4)), max_leaves=12)
_CITATION = _content(st.sampled_from((*CITATIONS, "mixed-citation", "element-citation")), FIELDS, 6)
_AROUND = ("ref", "ref", "ref", "ref-list", "sub-article", "p", "citation-alternatives", "front-stub", "fn")
_ENTRIES = st.one_of(_content(st.sampled_from(_AROUND), st.one_of(_CITATION, _CITATION, FIELDS), 4), _CITATION, FIELDS)
_SPACED = 'xmlns:xlink="u:link" xmlns:mml="u:math" xmlns:m="u:math" xmlns:x="u:else"'


def _article(front: list[str], body: list[str], back: list[str]) -> str:
    parts = (f"<{name}>{''.join(inside)}</{name}>" for name, inside in (("front", front), ("body", body), ("back", back)))
    return f"<article {_SPACED}>{''.join(parts)}</article>"


#: Articles as text; elements of the bibliography have no prefix.
ARTICLES = st.builds(_article, st.lists(_ENTRIES, max_size=1), st.lists(_ENTRIES, max_size=1), st.lists(_ENTRIES, max_size=4))

"""Plain lists of citations in every layout, and what is no list."""

import textwrap
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, format_named, format_of, parse
from reflink.limits import Limits
from tests.data import ROOT
from tests.profiles import examples
from tests.reflink.formats.reading import parsed

CITATIONS = [
    "Doe J, Roe R. A study of the effects of testing on the quality of programs. J Tests. 2001;12(3):45-67.",
    "A. L. Yarin, Drop impact dynamics: splashing, spreading, receding, bouncing, Annu. Rev. Fluid Mech. 38, 159 (2006).",
    "Müller K, van der Berg P. Über die Prüfung von Programmen und ihre Folgen für die Praxis. Z Prüf. 1999;4:1-20.",
    "Smith AB, Jones C. Linking of references in large collections of articles. J Doc. 2010;66:100-119. doi:10.5555/12345678",
    "C. Josserand and S. T. Thoroddsen, Drop impact on a solid surface, Annu. Rev. Fluid Mech. 48, 365 (2016).",
]


def wrapped(text: str, indent: str = "", first: str = "") -> str:
    return textwrap.fill(
        text, 60, subsequent_indent=indent, initial_indent=first, break_on_hyphens=False, break_long_words=False
    )


LAYOUTS = {
    "one a line": "\n".join(CITATIONS),
    "windows": "\r\n".join(CITATIONS),
    "[n]": "\n".join(f"[{n}] {each}" for n, each in enumerate(CITATIONS, 1)),
    "n. wrapped": "\n".join(wrapped(f"{n}. {each}") for n, each in enumerate(CITATIONS, 1)),
    "(n) wrapped": "\n\n".join(wrapped(f"({n}) {each}", "    ") for n, each in enumerate(CITATIONS, 1)),
    "from 12": "\n".join(f"{n}. {each}" for n, each in enumerate(CITATIONS, 12)),
    "labels": "\n".join(f"[Doe{n}a] {each}" for n, each in enumerate(CITATIONS, 1)),
    "bullets": "\n".join(wrapped(f"• {each}") for each in CITATIONS),
    "blank lines": "\n\n".join(map(wrapped, CITATIONS)),
    "hanging": "\n".join(wrapped(each, "   ") for each in CITATIONS),
    "indented": "\n".join(wrapped(each, first="   ") for each in CITATIONS),
    "no mark": "\n".join(map(wrapped, CITATIONS)),
    "heading": "Some words before.\n\n5. References\n\n"
    + "\n".join(map(wrapped, CITATIONS))
    + "\n\nAcknowledgements\n\nWe thank all.",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_gives_the_citations(layout: str):
    data = LAYOUTS[layout].encode()
    assert format_of(Content(data)).name == "text"
    assert [each.raw_text for each in parsed(data)[0].paper.references] == CITATIONS


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_encodings(encoding: str):
    data = LAYOUTS["one a line"].encode(encoding)
    assert format_named("text").recognises(Content(data))
    assert [each.raw_text for each in parsed(data, name="text")[0].paper.references] == CITATIONS


def test_labels_and_ids():
    (one,) = parsed(LAYOUTS["[n]"], source="list")
    assert [(each.id, each.label) for each in one.paper.references][:2] == [("list#1.1", "[1]"), ("list#2.1", "[2]")]
    assert one.paper.references[3].ids_weak.doi == "10.5555/12345678"


def test_broken_words_and_addresses_are_put_together():
    text = (
        "1. Doe J. A study of multi-\nplication. J Tests. 2001;12:45-\n67. "
        "doi:10.5555/abc.\ndef\n2. Roe R. Another. J Tests. 2002;1:2-3."
    )
    first = parsed(text, name="text")[0].paper.references[0]
    assert first.raw_text == "Doe J. A study of multiplication. J Tests. 2001;12:45-67. doi:10.5555/abc.def"


def test_identifiers_alone_are_a_list():
    data = b"10.5555/12345678\n10.1000/xyz123\nhttps://doi.org/10.1000/182\narXiv:1706.03762\n"
    assert format_of(Content(data)).name == "text"
    assert len(parse(Content(data))[0].paper.references) == 4


@pytest.mark.parametrize(
    "path", ["README.md", "CHANGELOG.md", "docs/parsing.md", "reflink/entities.py", "Makefile", "pyproject.toml"]
)
def test_other_text_is_no_list(path: str):
    assert not format_named("text").recognises(Content((ROOT / path).read_bytes()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello world",
        "id,title,year,doi\n1,A title,2001,10.5555/a\n2,B,2002,10.5555/b\n",
        "Smith went to Paris in 1990. He liked it.\nIn 1991 he came back, and in 1992 he left again for good.\n",
        "2024-01-01 12:00:00 INFO started\n2024-01-01 12:00:01 INFO stopped\n",
        "PT J\nAU Doe, J\nTI A title\nPY 2001\nVL 5\nBP 1\nEP 9\nER\n",
    ],
)
def test_short_texts_tables_and_other_formats_are_no_list(text: str):
    assert not format_named("text").recognises(Content(text.encode()))


def test_limits():
    with pytest.raises(TooLarge):
        parse(Content("\n".join(CITATIONS * 3).encode()), format_name="text", options=Options(Limits(references=10)))
    with pytest.raises(TooLarge):
        parse(Content("\n".join(CITATIONS).encode()), format_name="text", options=Options(Limits(size=100)))
    with pytest.raises(NotAPaper):
        parse(Content(b"\0\1\2"), format_name="text")


@settings(max_examples=examples(300))
@given(st.one_of(st.binary(max_size=300), st.text(alphabet="[](1).9a\n\t -–é•", max_size=300).map(str.encode)))
def test_any_bytes_raise_only_named_errors(data: bytes):
    format_named("text").recognises(Content(data))
    with suppress(NotAPaper, TooLarge):
        parse(Content(data), format_name="text", options=Options(infer=False))

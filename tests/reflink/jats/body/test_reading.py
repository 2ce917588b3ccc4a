"""The text of made-up articles: paragraphs, sections, parts, mentions and formulas."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.contexts import contexts_of
from reflink.contexts.paragraphs import Paragraph
from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, parse
from tests.data import jats_folder
from tests.profiles import examples
from tests.reflink.jats.articles import META, article

REFS = "".join(
    f'<ref id="r{n}"><label>{n}</label><mixed-citation id="c{n}">Work {n}.</mixed-citation></ref>' for n in (1, 2, 3)
)


def paragraphs(body: str, **parts: str) -> tuple[Paragraph, ...]:
    """Return the paragraphs of an article with this body."""
    (found,) = parse(Content(article(REFS, body=body, **parts), "x"), options=Options(text=True))
    return found.paragraphs


def xref(rid: str, inside: str, kind: str = ' ref-type="bibr"') -> str:
    return f'<xref rid="{rid}"{kind}>{inside}</xref>'


def mentions(body: str, **parts: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the text and the entries of each mention."""
    return [(each.text[one.start : one.stop], one.entries) for each in paragraphs(body, **parts) for one in each.mentions]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (xref("r1", "1"), ("1", ("r1",))),
        (f"<sup>{xref('r1', '1')}</sup>", ("1", ("r1",))),
        (xref("r1", " <sup>1</sup>\n<italic>a</italic> "), ("1 a", ("r1",))),
        (xref("r1 r2", "1,2"), ("1,2", ("r1", "r2"))),
        (xref("r1,r2;r2", "1,2"), ("1,2", ("r1", "r2"))),
        (xref("c2", "2"), ("2", ("r2",))),
        (xref("r1", "1", ""), ("1", ("r1",))),
        (xref("r1", "1", ' ref-type="ref"'), ("1", ("r1",))),
        (xref("r1", ""), ("", ("r1",))),
        (xref("r9", "9"), ("9", ("r9",))),
        (xref("r9 r1", "9"), ("9", ("r1",))),
        (xref("", "[2]."), ("[2].", ("r2",))),
        ('<xref ref-type="bibr">2</xref>', ("2", ("r2",))),
        (xref("R1", "1"), ("1", ("r1",))),
        (xref("R1 C2", "1,2"), ("1,2", ("r1", "r2"))),
        (f"<italic><bold>{xref('r1', 'A<xref/>b')}</bold></italic>", ("Ab", ("r1",))),
    ],
)
def test_a_mention_has_the_exact_text_of_its_link(link: str, expected: tuple[str, tuple[str, ...]]) -> None:
    assert mentions(f"<p>So\n it is [{link}] .</p>") == [expected]


@pytest.mark.parametrize(
    "link", ['<xref ref-type="bibr">9</xref>', xref("", "9"), xref("", ""), xref(" ; ", "9"), "<xref>2</xref>"]
)
def test_a_link_to_nothing_is_text(link: str) -> None:
    assert mentions(f"<p>So [{link}].</p>") == []


def _twice(first: str, second: str, link: str) -> list[str]:
    """Return the works with a context, of an article with two entries and a link."""
    data = article(f"{first}{second}", body=f"<p>So [{link}].</p>")
    (found,) = parse(Content(data, "x"), options=Options(text=True))
    return [name.partition("#")[2] for name, each in contexts_of(found.paper, found.paragraphs).items() if each]


def test_a_name_of_several_entries_is_not_assigned() -> None:
    entry = '<ref id="{}"><label>{}</label><mixed-citation id="{}">Work of {}.</mixed-citation></ref>'
    one, other, same = entry.format("a", 1, "x", 1), entry.format("b", 2, "x", 2), entry.format("a", 2, "y", 2)
    assert _twice(one, other, xref("a", "1")) == ["a.1"]
    assert _twice(one, other, xref("x", "1")) == []
    assert _twice(one, same, xref("a", "1")) == []
    assert _twice(one, entry.format("b", 1, "y", 2), xref("", "1")) == []
    assert _twice(one, entry.format("A", 2, "y", 2), xref("a", "1")) == ["a.1"]
    assert _twice(entry.format("aB", 1, "x", 1), entry.format("Ab", 2, "y", 2), xref("ab", "1")) == []


def test_an_entry_of_several_works_is_assigned() -> None:
    several = '<ref id="a"><mixed-citation id="x">Work 1.</mixed-citation><mixed-citation id="y">Work 2.</mixed-citation></ref>'
    assert _twice(several, "", xref("a", "1")) == _twice(several, "", xref("y", "1")) == ["a.1", "a.2"]


@pytest.mark.parametrize("kind", ["fig", "table", "sec", "aff", "fn"])
def test_other_links_are_text(kind: str) -> None:
    (found,) = paragraphs(f'<p>See <xref ref-type="{kind}" rid="x1">Fig. 1</xref>.</p>')
    assert (found.text, found.mentions) == ("See Fig. 1.", ())


def test_text_is_one_line_as_printed() -> None:
    (found,) = paragraphs(
        "<p>\n  H<sub>2</sub>O   at&#160;<ext-link>http://x.org</ext-link>, <italic>E. coli</italic>s;<break/>new "
        "<styled-content>so</styled-content><?pi?><!-- no -->me <named-content>thing</named-content>.</p>"
    )
    assert found.text == "H2O at http://x.org, E. colis; new some thing."


def test_sections_have_their_titles_outermost_first() -> None:
    found = paragraphs(
        "<p>0</p><sec><label>1</label><title>First <italic>part</italic></title><p>1</p><sec><title>Inner</title><p>1.1</p>"
        "</sec><p>1 again</p></sec><sec><p>untitled</p></sec><sec><title>Last</title><p>2</p></sec>"
    )
    assert [(each.text, each.section) for each in found] == [
        ("0", ()), ("1", ("First part",)), ("1.1", ("First part", "Inner")), ("1 again", ("First part",)), ("untitled", ()),
        ("2", ("Last",)),
    ]  # fmt: skip


def test_a_title_is_a_paragraph_only_with_a_mention() -> None:
    (title, text) = paragraphs(f"<sec><title>By {xref('r1', '1')}</title><p>Text</p></sec>")
    assert (title.text, title.section, len(title.mentions)) == ("By 1", ("By 1",), 1)
    assert (text.text, text.section) == ("Text", ("By 1",))


def test_parts_of_the_paper() -> None:
    table = f"<table><tr><th>A</th><th>B</th></tr><tr><td>1 <p>x</p></td><td>{xref('r1', '1')}</td></tr></table>"
    found = paragraphs(
        "<p>Body.</p>"
        "<fig><label>Figure 1</label><caption><title>Caption title.</title><p>Caption.</p></caption></fig>"
        f"<table-wrap><caption><p>Table caption.</p></caption>{table}"
        "<table-wrap-foot><fn><p>Table note.</p></fn></table-wrap-foot></table-wrap>",
        meta=f"{META}<title-group><article-title>Title</article-title></title-group>"
        "<abstract><title>Summary</title><p>Abstract.</p></abstract><trans-abstract><p>Resumo.</p></trans-abstract>"
        "<author-notes><fn><p>Equal.</p></fn></author-notes><kwd-group><kwd>word</kwd></kwd-group>",
        back="<ack><title>Thanks</title><p>Thanks to all.</p></ack><fn-group><fn><label>1</label><p>Note.</p></fn></fn-group>"
        "<app-group><app><title>Appendix A</title><p>More.</p></app></app-group>",
        end="<floats-group><fig><caption><p>Float.</p></caption></fig></floats-group>",
    )
    assert [(each.part, each.section, each.text) for each in found] == [
        ("abstract", ("Summary",), "Abstract."), ("abstract", (), "Resumo."), ("footnote", (), "Equal."),
        ("body", (), "Body."), ("caption", (), "Caption."), ("caption", (), "Table caption."),
        ("table", (), "1 x | 1"), ("footnote", (), "Table note."), ("back", ("Thanks",), "Thanks to all."),
        ("footnote", (), "Note."), ("back", ("Appendix A",), "More."), ("caption", (), "Float."),
    ]  # fmt: skip


def test_lists_quotes_and_boxes_are_paragraphs_in_order() -> None:
    found = paragraphs(
        "<p>Before:<list><list-item><label>a</label><p>one</p></list-item><list-item><p>two</p></list-item></list>after</p>"
        "<disp-quote><p>Quote.</p><attrib>By me</attrib></disp-quote>"
        "<boxed-text><caption><title>Box</title></caption><p>In the box.</p></boxed-text>"
        "<def-list><def-item><term>T</term><def><p>Meaning.</p></def></def-item></def-list>"
    )
    assert [each.text for each in found] == [
        "Before:", "one", "two", "after", "Quote.", "By me", "In the box.", "T", "Meaning.",
    ]  # fmt: skip
    assert found[6].section == ("Box",)


def test_a_float_does_not_divide_the_paragraph_around_it() -> None:
    fig = f"<fig><caption><p>Caption {xref('r2', '2')}.</p></caption></fig>"
    note = f"<fn><p>Note {xref('r3', '3')}.</p></fn>"
    found = paragraphs(f"<p>It is {fig}so {note}by {xref('r1', '1')}.</p><p>Next.</p>")
    assert [(each.text, each.part) for each in found] == [
        ("It is so by 1.", "body"), ("Caption 2.", "caption"), ("Note 3.", "footnote"), ("Next.", "body"),
    ]  # fmt: skip
    assert [one.entries for each in found for one in each.mentions] == [("r1",), ("r2",), ("r3",)]


MATH = (
    '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:mi>x</mml:mi><mml:mo>=</mml:mo><mml:mn>1</mml:mn></mml:math>'
)
TEX = r"<tex-math>\documentclass{a}\begin{document}$$x=1$$\end{document}</tex-math>"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (f"<inline-formula>{MATH}</inline-formula>", "x=1"),
        (f"<inline-formula><alternatives>{TEX}{MATH}<inline-graphic/></alternatives></inline-formula>", "x=1"),
        (f"<inline-formula>{TEX}</inline-formula>", "x=1"),
        ("<inline-formula><tex-math>y^2</tex-math></inline-formula>", "y^2"),
        ("<inline-formula><italic>x</italic><sub>1</sub></inline-formula>", "x1"),
        ("<inline-formula><inline-graphic/></inline-formula>", ""),
        (MATH, "x=1"),
        (f"<disp-formula><label>(1)</label>{MATH}</disp-formula>", "x=1"),
    ],
)
def test_formulas_have_exact_spans(formula: str, text: str) -> None:
    (found,) = paragraphs(f"<p>Let {formula} be.</p>")
    ((start, stop),) = found.formulas
    assert found.text[start:stop] == text
    assert "".join((found.text[:start] + "F" + found.text[stop:]).split()) == "LetFbe."


def test_a_mention_in_a_formula_is_kept() -> None:
    (found,) = paragraphs(f"<p>Let <inline-formula>x {xref('r1', '1')}</inline-formula>.</p>")
    assert [each.entries for each in found.mentions] == [("r1",)]


def test_what_is_no_text_is_read_if_it_mentions_a_reference() -> None:
    kwd = f"<kwd-group><kwd>word {xref('r1', '1')}</kwd></kwd-group>"
    title = f"<title-group><article-title>Title {xref('r2', '2')}</article-title></title-group>"
    assert [each[1] for each in mentions("", meta=META + title + kwd)] == [("r2",), ("r1",)]


def test_an_entry_that_mentions_another_one_is_a_paragraph() -> None:
    refs = (
        f'<ref id="r1"><mixed-citation>One.</mixed-citation></ref><ref id="r2"><note><p>See {xref("r1", "1")}.</p></note></ref>'
    )
    (found,) = parse(Content(article(refs, body="<p>Text.</p>"), "x"), options=Options(text=True))
    assert [(each.text, each.part) for each in found.paragraphs] == [("Text.", "body"), ("See 1.", "back")]


def test_articles_within_the_article_have_their_title_as_section() -> None:
    stub = "<front-stub><title-group><article-title>Decision letter</article-title></title-group></front-stub>"
    inner = f"<sub-article>{stub}<body><sec><title>Points</title><p>So {xref('r1', '1')}.</p></sec></body></sub-article>"
    (found,) = paragraphs("", end=inner)
    assert (found.section, found.part) == (("Decision letter", "Points"), "body")


def test_elements_of_unknown_names_are_read() -> None:
    assert mentions(f"<unknown><p>So <other>{xref('r1', '1')}</other></p></unknown>") == [("1", ("r1",))]


def test_deep_nesting_is_read() -> None:
    """Python bounds the number of nested calls; libxml2 allows 256 elements."""
    for name in ("sec", "italic", "list", "inline-formula", "xref", "boxed-text", "table", "td", "label"):
        depth = 240
        body = f"<p>{f'<{name}>' * depth}So {xref('r1', '1')}{f'</{name}>' * depth}</p>"
        assert ("1", ("r1",)) in mentions(body), name


@pytest.mark.parametrize("name", ["sec", "label", "tr", "title", "fig", "inline-formula", "sub-article", "kwd-group", "xref"])
def test_nested_elements_take_linear_time(name: str) -> None:
    """Reading what is within each of them again would be hours."""
    filling = "<xref/>" * 50_000
    body = f"{f'<{name}>' * 200}{filling}{xref('r1', '1')}{filling}{f'</{name}>' * 200}"
    assert ("1", ("r1",)) in mentions(body)


@pytest.mark.parametrize("filling", ["a b " * 2_000_000, '<xref ref-type="bibr"/>' * 50_000])
def test_nested_links_without_a_name_take_linear_time(filling: str) -> None:
    """Reading their texts again for each of them would be a minute."""
    nested = '<xref ref-type="bibr">' * 200 + filling + "</xref>" * 200
    start = time.perf_counter()
    assert mentions(f"<p>{nested}{xref('', '1')}</p>") == [("1", ("r1",))]
    assert time.perf_counter() - start < 10


@settings(max_examples=examples(40))
@given(st.data())
def test_damaged_articles_raise_only_the_errors_of_formats(data: st.DataObject) -> None:
    paths = sorted(jats_folder().glob("*.xml"), key=lambda path: path.stat().st_size)[:100]
    damaged = bytearray(data.draw(st.sampled_from(paths)).read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        if data.draw(st.booleans()):
            damaged[at] ^= 1 << data.draw(st.integers(0, 7))
        else:
            stop = at + data.draw(st.integers(0, 200))
            damaged[at:stop] = data.draw(st.sampled_from([b"", b"<p>", b"</xref>", b"<sec>", b"<xref rid='r1'>"]))
    try:
        (found,) = parse(Content(bytes(damaged), "x"), options=Options(infer=False, text=True))
    except (NotAPaper, TooLarge):
        return
    for each in found.paragraphs:
        assert all(0 <= one.start <= one.stop <= len(each.text) for one in each.mentions)
        assert all(0 <= start <= stop <= len(each.text) for start, stop in each.formulas)

"""The text of TEI documents with its mentions."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.contexts.engine import contexts_of
from reflink.contexts.paragraphs import Paragraph
from tests.profiles import examples
from tests.reflink.formats.reading import parsed
from tests.reflink.formats.samples import sample
from tests.reflink.formats.tei.documents import ARTICLE, tei


def paragraphs(body: str, **options: Any) -> tuple[Paragraph, ...]:
    (found,) = parsed(tei(ARTICLE, body=body, **options), text=True)
    return found.paragraphs


def shown(paragraph: Paragraph) -> str:
    """Return the text with each mention in braces, with its entries, and each formula in bars."""
    text = paragraph.text
    spans = [(each.start, each.stop, "{%s|" + " ".join(each.entries) + "}") for each in paragraph.mentions]
    for start, stop, frame in sorted([*spans, *((start, stop, "|%s|") for start, stop in paragraph.formulas)], reverse=True):
        text = text[:start] + frame % text[start:stop] + text[stop:]
    return text


@pytest.mark.parametrize(("body", "expected"), [
    ('<p>As shown <ref type="bibr" target="#b0">[1]</ref>, it <hi>is</hi>.</p>', ["As shown {[1]|b0}, it is."]),
    ('<p>A<ref type="bibr" target="#b0">(1)</ref><ref type="bibr" target="#b1">(2)</ref></p>', ["A{(1)|b0}{(2)|b1}"]),
    ('<p>in [\n  <ref target="#b0 #b1" type="bibr"> 1,\n2 </ref>\n ].</p>', ["in [ {1, 2|b0 b1} ]."]),
    ('<p>no target <ref type="bibr">[7]</ref>, <ref type="figure" target="#fig_0">1</ref></p>', ["no target [7], 1"]),
    ('<p><s>One.</s><s>Two <ref type="bibr" target="#b0">1</ref>.</s></p>', ["One. Two {1|b0}."]),
    ('<p>Let <formula>x = 1</formula> be</p><formula xml:id="f">y</formula>', ["Let |x = 1| be"]),
    ('<figure><head>Fig</head><figDesc>Of <ref type="bibr" target="#b0">1</ref></figDesc></figure>', ["Of {1|b0}"]),
    ('<figure><figDesc><div><p>Of <ref type="bibr" target="#b0">1</ref></p></div></figDesc></figure>', ["Of {1|b0}"]),
    ("<list><item>One</item><item><p>Two</p></item></list><note>Foot</note>", ["One", "Two", "Foot"]),
    ('<p>A note<note place="foot">see <ref type="bibr" target="#b0">1</ref></note> here</p>', ["A note see {1|b0} here"]),
    ("<p> </p><p/>", []),
])  # fmt: skip
def test_text(body: str, expected: list[str]):
    assert [shown(each) for each in paragraphs(f"<div>{body}</div>")] == expected


def test_sections():
    body = "".join(
        f"<div><head{f' n={number!r}' if number else ''}>{title}</head><p>{title}</p></div>"
        for number, title in (("1", "A"), ("1.1", "B"), ("1.1.1", "C"), ("1.2", "D"), ("2.", "E"), ("", "F"), ("2.1", "G"))
    )
    assert [each.section for each in paragraphs(body)] == [
        ("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",), ("F",), ("G",),
    ]  # fmt: skip
    nested = "<div><head>A</head><p>1</p><div><head>B</head><p>2</p></div></div>"
    assert [each.section for each in paragraphs(nested)] == [("A",), ("A", "B")]


def test_parts():
    header = "</fileDesc><profileDesc><abstract><p>Short</p></abstract></profileDesc><fileDesc>"
    found = paragraphs("<p>Body</p><figure><figDesc>Caption</figDesc></figure><note>Foot</note>", header=header)
    assert [(each.text, each.part) for each in found] == [
        ("Short", "abstract"), ("Body", "body"), ("Caption", "caption"), ("Foot", "footnote"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "mentions"), [
    ("0046d83a-edd6-4631-b57c-755cdcce8b7f.tei.xml", 57), ("10.1371%2Fjournal.pone.0209976.tei.xml", 59),
    ("WagnerLukyanenkoParEtAl2022.tei.xml", 203), ("journal.pone.0209798.tei.xml", 145), ("pmc1943_apha0202-0379.xml", 15),
])  # fmt: skip
def test_every_ref_with_a_target_is_a_mention_of_an_entry(name: str, mentions: int):
    (found,) = parsed(sample(f"tei/{name}"), text=True)
    assert sum(len(each.mentions) for each in found.paragraphs) == mentions  # grep -o '<ref [^>]*type="bibr"' with target
    contexts = contexts_of(found.paper, found.paragraphs)
    assert sum(map(len, contexts.values())) >= mentions


PIECES = st.lists(
    st.sampled_from(
        [" ", "\n\t", "a", "b c ", " d", "<hi>e</hi>", "<hi> f </hi>", "<ref type='bibr' target='#b0'> 1 </ref>",
         "<ref type='bibr' target='#b0'>(2</ref>", "<formula>x </formula>", "<s>g</s>", "<s> </s>"]
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=examples(200))
@given(PIECES)
def test_the_text_is_one_line_and_the_spans_are_exact(pieces: list[str]):
    for each in paragraphs(f"<p>{''.join(pieces)}</p>"):
        assert each.text == " ".join(each.text.split())
        assert [each.text[mention.start : mention.stop] for mention in each.mentions] == [
            "1" if " 1 " in piece else "(2" for piece in pieces if "<ref" in piece
        ]
        assert [each.text[start:stop] for start, stop in each.formulas] == ["x"] * "".join(pieces).count("<formula>")

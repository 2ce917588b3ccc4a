"""Tests of which citations are references, which describe the same work, and of the ids of references."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Ids
from tests.reflink.jats.articles import META, assert_fields, paper, references

WANG = "<name><surname>Wang</surname></name><article-title>Direct survey of the sunflower</article-title><year>2004</year>"
FENG = "<name><surname>Feng</surname></name><article-title>Zinc in rice</article-title><year>2009</year>"


def test_two_descriptions_of_the_same_work_are_merged() -> None:
    written = "<mixed-citation>1. Wang X. Direct survey of the sunflower. J Sun 2004. doi:10.1000/w</mixed-citation>"
    tagged = f'<element-citation publication-type="journal">{WANG}<pub-id pub-id-type="pmid">7</pub-id></element-citation>'
    for inside in (written + tagged, tagged + written, f"<citation-alternatives>{tagged}{written}</citation-alternatives>"):
        (ref,) = references(f'<ref id="a">{inside}</ref>')
        text = "1. Wang X. Direct survey of the sunflower. J Sun 2004."
        assert_fields(ref, raw_text=f"{text} doi:10.1000/w", raw_noid=text, year=2004, kind="journal")
        assert_fields(ref, title="Direct survey of the sunflower", ids=Ids(pmid="7"), ids_weak=Ids(doi="10.1000/w"))


def test_display_unstructured() -> None:
    (ref,) = references(
        f'<ref><citation citation-type="journal">{WANG}</citation>'
        '<citation citation-type="display-unstructured">Wang (2004) J Sun</citation></ref>'
    )
    assert_fields(ref, raw_text="Wang (2004) J Sun", title="Direct survey of the sunflower", kind="journal")


def test_several_works_in_one_ref() -> None:
    refs = references(
        f'<ref id="c6"><label>6</label><element-citation><label>(a)</label>{WANG}</element-citation>'
        f"<element-citation><label>(b)</label>{FENG}</element-citation></ref>"
        '<ref id="c7"><mixed-citation>Z</mixed-citation></ref>'
    )
    assert [(ref.id.partition("#")[2], ref.position, ref.label) for ref in refs] == [
        ("c6.1", 1, "(a)"), ("c6.2", 2, "(b)"), ("c7.1", 3, None),
    ]  # fmt: skip


def test_two_works_in_different_markup_are_not_merged() -> None:
    refs = references(
        f"<ref><element-citation>{WANG}</element-citation><mixed-citation>Feng Z. Zinc in rice</mixed-citation></ref>"
    )
    assert len(refs) == 2


def test_placeholders_are_dropped() -> None:
    refs = references(
        '<ref id="p"><mixed-citation>\u00a0</mixed-citation></ref><ref id="q"/><ref id="r"><label>3</label></ref>'
        f'<ref id="s"><mixed-citation/><element-citation>{WANG}</element-citation></ref>'
    )
    assert [(ref.xml_id, ref.position) for ref in refs] == [("s", 1)]


def test_a_ref_without_a_citation_is_read_as_text() -> None:
    (ref,) = references('<ref id="n"><label>9</label><note><p>See ref. 1 and 10.1000/a</p></note></ref>')
    text = "See ref. 1 and"
    assert_fields(ref, raw_text=f"{text} 10.1000/a", raw_noid=text, label="9", ids_weak=Ids(doi="10.1000/a"))


def test_a_citation_outside_every_ref_is_a_reference_but_not_in_the_front() -> None:
    found = paper(
        body='<p>As in <mixed-citation id="n1">Nature 7</mixed-citation>.</p>',
        meta=f"{META}<notes><p><mixed-citation>Own title</mixed-citation></p></notes>",
    )
    assert [(ref.id, ref.raw_text) for ref in found.references] == [("doi:10.1000/own#n1.1", "Nature 7")]


def test_references_of_sub_articles_without_doi_cite_from_the_main_paper() -> None:
    """They are in document order. A citation in the text is a reference, one in the front matter of a sub-article is not."""
    sub = (
        '<sub-article><front-stub><article-id pub-id-type="publisher-id">S</article-id><p><mixed-citation>Own'
        '</mixed-citation></p></front-stub><body><p><citation id="t">Text {0}</citation></p></body><back><ref-list>'
        '<ref id="b{0}"><label>{0}</label><citation>Sub {0}</citation></ref>'
        "</ref-list></back></sub-article>"
    )
    refs = paper("<ref id='a'><citation>Main</citation></ref>", end=sub.format(1) + sub.format(2)).references
    assert [ref.raw_text for ref in refs] == ["Main", "Text 1", "Sub 1", "Text 2", "Sub 2"]
    assert [ref.id.partition("#")[2] for ref in refs] == ["a.1", "2.1", "b1.1", "4.1", "b2.1"]
    assert [ref.label for ref in refs] == [None, None, "1", None, "2"]
    assert {ref.citing for ref in refs} == {"doi:10.1000/own"}


def test_merging_keeps_each_field_of_the_better_tagged_description() -> None:
    tagged = (
        '<person-group person-group-type="author"><name><surname>Wang</surname><given-names>X</given-names></name>'
        '</person-group><person-group person-group-type="editor"><name><surname>Ed</surname></name></person-group>'
        "<article-title>Direct survey of the sunflower</article-title><year>2004</year><lpage>9</lpage>"
        "<publisher-name>Sons</publisher-name>"
    )
    (ref,) = references(
        f"<ref><element-citation>{tagged}</element-citation><mixed-citation><string-name>Wang X</string-name>. "
        "Direct survey of the sunflower. <trans-title>Sol</trans-title> 2004. PMID: 7.</mixed-citation></ref>"
    )
    assert_fields(
        ref, raw_text="Wang X. Direct survey of the sunflower. Sol 2004. PMID: 7.", last_names=("Wang",), given_names=("X",),
        editors=("Ed",), translated_title="Sol", last_page="9", publisher="Sons", ids_weak=Ids(pmid="7"),
    )  # fmt: skip


def test_given_names_belong_to_the_last_names() -> None:
    people = "".join(f"<name><surname>{last}</surname><given-names>X</given-names></name>" for last in ("Wang", "Li"))
    (ref,) = references(
        f"<ref><element-citation>{WANG}</element-citation>"
        f"<mixed-citation>{people} Direct survey of the sunflower</mixed-citation></ref>"
    )
    assert (ref.last_names, ref.given_names) == (("Wang",), ())


def test_citations_beyond_the_limit_are_counted_and_have_no_fields() -> None:
    wang = "<ref><mixed-citation>Wang X. Growth of alpine plants in the north. J Ecol. 2004;92:1–9.</mixed-citation></ref>"
    filling = f"<ref><mixed-citation>{'a' * 10_000}</mixed-citation></ref>"
    found = paper(wang + filling * 200 + wang)
    assert (found.references[0].inferred is not None, found.references[-1].inferred, found.unread) == (True, None, 2)
    (warning,) = found.warnings
    assert warning.startswith("the fields of 2 citations were not recognised: ")
    assert (paper(wang + filling * 100 + wang).unread, paper(wang + filling * 100 + wang).warnings) == (0, ())


@pytest.mark.parametrize(
    ("ids", "keys"),
    [
        (["a", "b"], ["a.1", "b.1"]),
        ([None, "b", None], ["1.1", "b.1", "3.1"]),
        (["a", "a", "b"], ["1.1", "2.1", "b.1"]),
        (["2", None, "c"], ["1.1", "2.1", "c.1"]),
        (["a b", "c#d", "e\n"], ["1.1", "2.1", "e.1"]),
        (["x" * 500], ["1.1"]),
    ],
)
def test_ids(ids: list[str | None], keys: list[str]) -> None:
    attributes = ("" if name is None else f' id="{name}"' for name in ids)
    refs = references("".join(f"<ref{attribute}><mixed-citation>A</mixed-citation></ref>" for attribute in attributes))
    assert [ref.id.partition("#")[2] for ref in refs] == keys


@given(st.lists(st.tuples(st.sampled_from(["", "1", "2", "3", "4", "a", "b", "1.1", "a.1"]), st.integers(1, 3)), max_size=8))
def test_ids_are_unique_whatever_the_xml_ids(entries: list[tuple[str, int]]) -> None:
    refs = references(
        "".join(
            f'<ref id="{name}">' + "".join(f"<mixed-citation>{name} {i} {n}</mixed-citation>" for n in range(works)) + "</ref>"
            for i, (name, works) in enumerate(entries)
        )
    )
    assert len(refs) == sum(works for _, works in entries)
    assert len({ref.id for ref in refs}) == len(refs)
    assert [ref.position for ref in refs] == list(range(1, len(refs) + 1))

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, parse
from reflink.formats.publishers.fragments import _balanced
from reflink.limits import Limits
from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample, samples

#: Number of references in each paper of a file, counted by hand.
COUNTS = {
    "test.agu.xml": [5], "test.aip.xml": [4], "test.aps.xml": [5], "test.cup.xml": [10], "test.edp.xml": [52],
    "test.egu.xml": [50], "test.iop.xml": [8], "test.mnras.xml": [70], "test.oup.xml": [35], "test.spie.xml": [31],
    "test.ucp.xml": [20],
}  # fmt: skip
FIRST = {
    "test.agu.xml": {
        "xml_id": "bouw93", "kind": "article", "venue": "Global Biogeochem. Cycles", "volume": "7", "first_page": "557",
        "title": "Global analysis of the potential for N2O production in natural soils", "last_names": ["Bouwman"],
        "year": 1993,
    },
    "test.aps.xml": {
        "xml_id": "c1", "kind": "journal", "last_names": ["Jensen", "Brass", "Berlinsky"],
        "given_names": ["H. J.", "A.", "A. J."], "venue": "Phys. Rev. Lett.", "year": 1988, "volume": "60",
        "first_page": "1676",
        "ids": {"doi": "10.1103/physrevlett.60.1676"},
    },
    "test.blackwell.xml": {
        "xml_id": "b29", "kind": "journal", "title": "Characterization of barriers on an earthquake fault",
        "last_names": ["Aki"], "given_names": ["K."], "venue": "J. geophys. Res.", "year": 1979, "volume": "84",
        "first_page": "6140", "last_page": "6148",
    },
    "test.edp.xml": {
        "xml_id": "AlBa02", "label": "1", "venue": "Rev. Mod. Phys.", "year": 2002, "volume": "74", "first_page": "47",
    },
    "test.mnras.xml": {
        "xml_id": "b1", "kind": "journal", "last_names": ["Aarseth"], "given_names": ["S. J."], "venue": "PASP", "year": 1999,
        "volume": "111", "first_page": "1333",
    },
    "test.rsc.xml": {
        "xml_id": "cit1", "kind": "journal", "last_names": ["Li", "Hu", "Yang", "Alivisatos"],
        "given_names": ["L.-S.", "J.", "W.", "A. P."], "venue": "Nano Lett.", "year": 2001, "volume": "1",
        "first_page": "349", "last_page": "351",
    },
    "test.cup.xml": {
        "xml_id": "ref1", "kind": "journal", "last_names": ["Hopkins", "Rao", "Turnshek"], "given_names": ["A", "S.", "D."],
        "venue": "ApJ", "year": 2006, "volume": "630", "first_page": "108",
    },
}  # fmt: skip


@pytest.mark.parametrize("file", COUNTS)
def test_the_number_of_references_of_a_real_list(file: str):
    data = sample(f"publisher_refs/{file}")
    assert recognising(data) == ["references"]
    assert [len(each.paper.references) for each in parsed(data)] == COUNTS[file]


@pytest.mark.parametrize("file", FIRST)
def test_the_first_reference_of_a_real_list(file: str):
    first = parsed(sample(f"publisher_refs/{file}"))[0].paper.references[0].to_dict()
    assert {name: first.get(name) for name in FIRST[file]} == FIRST[file]


def test_the_bibcode_is_the_name_of_the_paper():
    first, second, third = parsed(sample("publisher_refs/test.blackwell.xml"), source="file")
    assert [each.paper.id for each in (first, second, third)] == [f"000{number}GeoJI...0.....Z" for number in range(3)]
    (one,) = parsed(sample("publisher_refs/test.agu.xml"))
    assert one.paper.id == "0000JGR.....0.....Z"
    (one,) = parsed(sample("publisher_refs/test.agu.xml"), source="file")
    assert one.paper.id == "file"


def test_a_real_list_of_springer():
    found = fields(sample("springer_aplusplus/adsrefs_test.springer.xml"))
    assert [each.get("kind") for each in found] == ["journal", None, "chapter", "book", "journal", "chapter", None]
    assert found[0]["ids"] == {"doi": "10.1146/annurev.nucl.012809.104433", "arxiv": "1002.0329"}
    assert found[1]["ids"] == {"doi": "10.1017/cbo9781107706620"}


def test_an_element_with_several_works_is_text():
    (first, *_) = parsed(sample("publisher_refs/test.nature.xml"))[0].paper.references
    assert first.raw_text.startswith("D. Jordan Lloyd, “The Chemistry of the Proteins”. London, 1926.")
    assert (first.title, first.last_names, first.venue) == (None, (), None)


CROSSREF = "<ADSBIBCODE>0000PNAS....0.....Z</ADSBIBCODE>\n"
CROSSREF += '<citation_list><citation key="B1"><doi>10.5555/x</doi></citation></citation_list>'
ELSEVIER = (
    '<ce:bib-reference id="bib7"><sb:reference><sb:host><sb:e-host><ce:inter-ref xlink:href="https://doi.org/10.5555/x">x'
    "</ce:inter-ref></sb:e-host></sb:host></sb:reference></ce:bib-reference>"
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (CROSSREF, {"xml_id": "B1", "ids": {"doi": "10.5555/x"}}),
        (ELSEVIER, {"xml_id": "bib7", "kind": "web", "ids": {"doi": "10.5555/x"}}),
        ('<reference content_type="text" numeration="4">A. Doe &ndash; 1999</reference>', {"label": "4"}),
        ('<?xml version="1.0" encoding="iso-8859-1"?><ref-list><ref id="r1"><mixed-citation>A</mixed-citation></ref>'
         "</ref-list>",
         {"xml_id": "r1"}),
    ],
)  # fmt: skip
def test_small_lists(data: str, expected: dict[str, object]):
    assert recognising(data.encode()) == ["references"]
    assert fields(data) == [expected]


def test_limits_are_of_all_lists():
    data = sample("publisher_refs/test.blackwell.xml")
    with pytest.raises(TooLarge, match="name"):
        parse(Content(data, "name"), options=Options(limits=Limits(references=80)))


def test_a_bibcode_alone_is_refused():
    with pytest.raises(NotAPaper):
        parsed("<ADSBIBCODE>0000PNAS....0.....Z</ADSBIBCODE>\n<x/>", name="references")


def plainly_balanced(text: str) -> str:
    """Remove end tags that end nothing, by a stack."""
    kept: list[str] = []
    stack = 0
    for each in re.split(r"(</?ref\b[^<>]*>)", text):
        if each.startswith("</ref"):
            if not stack:
                continue
            stack -= 1
        elif each.startswith("<ref") and not each.endswith("/>"):
            stack += 1
        kept.append(each)
    return "".join(kept)


@given(st.lists(st.sampled_from(("<ref>", "<ref a='b'>", "</ref>", "</ref >", "<ref/>", "<x>", "</x>", "text", "<reference>"))))
def test_balancing_as_by_a_stack(parts: list[str]):
    text = "".join(parts)
    assert (
        _balanced(text.encode(), "ref")
        == plainly_balanced(text.replace("<reference>", "\0")).replace("\0", "<reference>").encode()
    )


def test_every_real_list_is_recognised():
    for path in samples("publisher_refs/test.*.xml"):
        assert recognising(path.read_bytes()) == ["references"], path.name

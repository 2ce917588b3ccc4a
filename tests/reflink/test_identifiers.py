"""Identifiers as real references spell them, and laws for any text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reflink import identifiers, workids
from reflink.entities import Ids
from reflink.identifiers import extract, normalise_arxiv, normalise_doi, normalise_issn, normalise_pmcid, normalise_pmid
from reflink.stripping import strip
from reflink.workids import work_id

SICI = "10.1002/(sici)1097-0134(19990101)34:1<1::aid-prot1>3.0.co;2-#"

#: Text in which identifiers are likely, glued to each other and to noise.
FRAGMENTS = st.sampled_from(
    ("10.", "1016/", "j.cell", "(SICI)", "<1::AID>3.0.CO;2-#", "%2F", "%25", "%3C", "&lt;", "&amp;", "#", "doi:", "DOI ",
     "PMID:", "pmid", "PMC", "123", "4567890", "arXiv:", "1706.03762", "v2", "hep-th/", "9901001", "https://doi.org/", "www.",
     "http://", " ", ".", ",", ";", "(", ")", "]", "[", "<", ">", "é", "\ud800", "\x00", "\x01", "٣", "PubMed: ",
     "ncbi.nlm.nih.gov/pubmed/", "articles/", "10.48550/arXiv.", "²")
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(FRAGMENTS, max_size=14).map("".join))


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.1016/S0140-6736(00)02738-0", "10.1016/s0140-6736(00)02738-0"),
        ("https://doi.org/10.1038/nature08258.", "10.1038/nature08258"),
        ("doi:10.1007/s11695-014-1214-1.", "10.1007/s11695-014-1214-1"),
        ("DOI: 10.1007/ s00425-011-1375-2", "10.1007/s00425-011-1375-2"),
        ("(see 10.1093/nar/gkp335).", "10.1093/nar/gkp335"),
        ("Eng.10.1007/s41810-024-00281-1 (2025)", "10.1007/s41810-024-00281-1"),
        ("10.1038/nature12345PMid:12345678", "10.1038/nature12345"),
        ("10.1093/pubmed/fdp042", "10.1093/pubmed/fdp042"),
        ("10.4028/www.scientific.net/amr.781-784.615", "10.4028/www.scientific.net/amr.781-784.615"),
        ("10.1002/(SICI)1097-0134(19990101)34:1<1::AID-PROT1>3.0.CO;2-#", SICI),
        ("10.1002/(SICI)1097-0134(19990101)34:1%3C1::AID-PROT1%3E3.0.CO;2-%23", SICI),
        ("10.1002/(SICI)1097-0134(19990101)34:1&lt;1::AID-PROT1&gt;3.0.CO;2-#", SICI),
        ("10.1562/0031-8655(2001)074<0038:OPANEO>2.0.CO;2", "10.1562/0031-8655(2001)074<0038:opaneo>2.0.co;2"),
        ("<b>10.1000/abc</b>", "10.1000/abc"),
        ("https://doi.org/10.1000/abc#section-2", "10.1000/abc"),
        ("10.1000%2Fabc", "10.1000/abc"),
        ("no identifier", None),
        ("10.12/too-short-a-prefix", None),
        ("10.1000/", None),
        ("210.1000/abc", None),
        ("10.1000/" + "x" * identifiers.MAX_DOI, None),
    ],
)
def test_doi(text: str, doi: str | None) -> None:
    assert normalise_doi(text) == doi


@pytest.mark.parametrize(
    ("text", "pmid"),
    [
        ("19693083", "19693083"), (" 00123 ", "123"), ("PMID: 19693083", "19693083"), ("PMid:22691553.", "22691553"),
        ("https://pubmed.ncbi.nlm.nih.gov/19693083/", "19693083"),
        ("www.ncbi.nlm.nih.gov/pubmed/16402109?dopt=Abstract", "16402109"),
        ("123456789", None), ("0", None), ("", None), ("PMC123456", None), ("٣٣٣", None), ("volume 12", None),
        ("PubMed:1\u0661", None), ("pmid3\u0661", None),
    ],
)  # fmt: skip
def test_pmid(text: str, pmid: str | None) -> None:
    assert normalise_pmid(text) == pmid


@pytest.mark.parametrize(
    ("text", "pmcid"),
    [
        ("PMC2707599", "PMC2707599"), ("2707599", "PMC2707599"), ("pmc 2707599", "PMC2707599"),
        ("PMCPMC4667245", "PMC4667245"),
        ("PMC13900.2", "PMC13900"), ("PMCID: PMC3578767", "PMC3578767"), ("abc", None), ("", None), ("0", None),
    ],
)  # fmt: skip
def test_pmcid(text: str, pmcid: str | None) -> None:
    assert normalise_pmcid(text) == pmcid


@pytest.mark.parametrize(
    ("text", "arxiv"),
    [
        ("1706.03762", "1706.03762"), ("arXiv:1706.03762v5", "1706.03762"), ("hep-th/9901001", "hep-th/9901001"),
        ("math.GT/0309136v2", "math/0309136"), ("https://arxiv.org/pdf/2101.00001.pdf", "2101.00001"),
        ("10.48550/arXiv.2101.00001", "2101.00001"), ("arXiv preprint arXiv:1412.6980", "1412.6980"),
        ("12.5", None), ("", None),
    ],
)  # fmt: skip
def test_arxiv(text: str, arxiv: str | None) -> None:
    assert normalise_arxiv(text) == arxiv


def test_extract_and_strip_a_citation() -> None:
    text = (
        "Tian H. An ABA down-regulated gene. Sci Rep. 2015; 5: 17587. doi: 10.1038/srep17587; "
        "PubMed Central PMCID: PMCPMC4667245. PMID: 26625868 https://example.org/x"
    )
    assert extract(text) == Ids(doi="10.1038/srep17587", pmid="26625868", pmcid="PMC4667245")
    assert strip(text) == "Tian H. An ABA down-regulated gene. Sci Rep. 2015; 5: 17587."


def test_the_first_identifier_of_a_kind_counts() -> None:
    assert extract("10.1000/b then 10.1000/a").doi == "10.1000/b"


def test_an_arxiv_doi_is_an_arxiv_id_too() -> None:
    assert extract("doi:10.48550/arXiv.2101.00001v3") == Ids(doi="10.48550/arxiv.2101.00001v3", arxiv="2101.00001")


def test_plain_numbers_are_not_identifiers() -> None:
    assert extract("Lancet 2000; 356: 1083. 11009150") is identifiers.NO_IDS


def test_work_id_prefers_doi_then_pmid_then_pmcid_then_arxiv() -> None:
    every = {"doi": "10.1000/a", "pmid": "1", "pmcid": "PMC1", "arxiv": "1706.03762"}
    for kind in ("doi", "pmid", "pmcid", "arxiv"):
        assert work_id(Ids(**every), "source") == f"{kind}:{every.pop(kind)}"
    assert work_id(Ids(), "source") == "source"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("folder/a.xml", "folder/a.xml"), (" a b#c\n.xml ", "a%20b%23c%0A.xml"), ("doi:10.1000/ABC", "doi:10.1000/abc"),
        ("PMID:0012", "pmid:12"), ("pmid:none", "pmid:none"), ("é.xml", "é.xml"), ("\udcff", "%ED%B3%BF"),
    ],
)  # fmt: skip
def test_work_id_of_a_source(source: str, expected: str) -> None:
    assert work_id(Ids(), source) == expected


@pytest.mark.parametrize("source", [None, "", " \n"])
def test_work_id_needs_something(source: str | None) -> None:
    with pytest.raises(ValueError, match="identifier or its source"):
        work_id(Ids(), source)


def test_ids_of_long_sources_are_distinct_and_short() -> None:
    one, other = work_id(Ids(), "x" * 5000 + "1"), work_id(Ids(), "x" * 5000 + "2")
    assert one != other
    assert len(one.encode()) == workids.MAX_SOURCE_ID


@given(TEXTS)
@example("10.1000/a%2525%23b")
@example("10.1000/a&amp;lt;b")
@example(f"10.1000/{SICI}")
def test_normalising_is_idempotent(text: str) -> None:
    for normalise in identifiers.NORMALISERS.values():
        known = normalise(text)
        assert known is None or normalise(known) == known


@given(TEXTS)
def test_found_identifiers_are_normalised(text: str) -> None:
    found = extract(text)
    for kind, value in found:
        assert value is None or identifiers.NORMALISERS[kind](value) == value


_GLUED = (
    "a B 1 . - _ ( ) [ ] { } / < > <1:: 1> 3.0.CO;2- # & &lt; &gt; &amp; % %25 %2F %3C %3E %23 %20 %C3%A9 %FF ; , : epub "
    "Epub .epub PMID pubmed pmc1 (pmid [pubmed http: https: www. doi: .available ,accessed | é \u0661 ſ ~ = \x01 \x00"
).split(" ")
#: Texts similar to a DOI, with fragments that publishers' software appends to DOIs.
DOI_LIKE = st.builds(
    "{}{}{}".format,
    st.sampled_from(("10.1000/", "10.1000%2F", "doi:10.1000/", "10. 1000/ ", "10.1000.10/", "https://doi.org/10.1000/")),
    st.lists(st.sampled_from((*_GLUED, "pub med")), max_size=10).map("".join),
    st.sampled_from(("", " ", ".", ". 2004", " epub", " 10.1000/b", "\n")),
)
_PATTERNS = (identifiers._PLAIN_DOI, r"10\.\d{4,9}/[a-z\d._()-]{1,20}")
NEARLY_PLAIN = st.one_of(*(st.from_regex(pattern, fullmatch=True) for pattern in _PATTERNS))


@given(DOI_LIKE)
@example("10.1000/.epubhttp:")
@example("10.1000/.epub&")
@example("10.1000/-epubepub")
@example("10.1000%2F.epubPMID")
@example("10.1000/<::1>")
@example("10.1000/#<::>")
def test_a_normalised_doi_is_stable(text: str) -> None:
    for doi in (extract(text).doi, normalise_doi(text)):
        assert doi is None or (normalise_doi(doi) == doi and extract(doi).doi == doi)


@given(st.one_of(DOI_LIKE, NEARLY_PLAIN))
@example("10.1000/" + "x" * (identifiers.MAX_DOI - 8))
@example("10.1000/" + "x" * (identifiers.MAX_DOI - 7))
def test_the_fast_path_of_dois_equals_the_general_one(text: str) -> None:
    found = identifiers._first_doi(text)
    assert normalise_doi(text) == (found[2] if found else None)


@given(TEXTS)
def test_work_ids_are_safe_and_stable(text: str) -> None:
    for ids, source in ((extract(text), "x"), (Ids(), text)):
        if not ids.keys() and not source.strip():
            continue
        known = work_id(ids, source)
        assert known
        assert known.isprintable()
        assert not any(char.isspace() or char == "#" for char in known)
        known.encode()
        assert work_id(Ids(), known) == known or ids.keys()


def test_an_issn_has_a_hyphen_and_a_right_check_digit():
    assert [normalise_issn(text) for text in ("0028-0836", "ISSN 00280836", "1234-5678", "2434-561x", "0000-0000", "")] == [
        "0028-0836", "0028-0836", None, "2434-561X", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("character", ["\ufffe", "\uffff", "\x00", "\ud800"])
def test_a_doi_ends_before_a_character_that_json_and_xml_forbid(character: str):
    assert normalise_doi(f"10.5555/a{character}b") == "10.5555/a"
    assert normalise_doi(f"10.5555/{character}") is None

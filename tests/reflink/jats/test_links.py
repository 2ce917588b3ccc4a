"""Tests of the identifiers of an element, and of whether its text is only an identifier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.identifiers import NORMALISERS
from reflink.jats.links import identify
from reflink.jats.scanner.vocabulary import EXT_LINK, ID_CODES, MEDLINE, OBJECT_ID, PUB_ID, SELF_URI, URI

DOI, PMID, PMCID, ARXIV = (ID_CODES[kind] for kind in ("doi", "pmid", "pmcid", "arxiv"))
LINKS, NAMED = (EXT_LINK, URI), (PUB_ID, OBJECT_ID, SELF_URI)


def identified(code: int, text: str, declared: int = 0, href: str = "") -> tuple[bool, dict[str, str]]:
    ids: dict[str, str] = {}
    return identify(code, text, declared, href, ids), ids


@pytest.mark.parametrize("code", [*LINKS, *NAMED])
@pytest.mark.parametrize(
    ("declared", "text", "ids"),
    [
        (DOI, "https://doi.org/10.1000/A.", {"doi": "10.1000/a"}),
        (PMID, "PMID: 007", {"pmid": "7"}),
        (PMCID, "1234567", {"pmcid": "PMC1234567"}),
        (ARXIV, "1706.03762v5", {"arxiv": "1706.03762"}),
        (0, "doi:10.1000/A", {"doi": "10.1000/a"}),
        (0, "https://pubmed.ncbi.nlm.nih.gov/7/", {"pmid": "7"}),
        (MEDLINE, "98123456", {}),
    ],
)
def test_the_text_is_an_identifier(code: int, declared: int, text: str, ids: dict[str, str]) -> None:
    assert identified(code, text, declared) == (True, ids)


@pytest.mark.parametrize("code", LINKS)
@pytest.mark.parametrize("declared", [DOI, 0])
def test_a_link_whose_address_is_an_identifier(code: int, declared: int) -> None:
    href = "https://doi.org/10.1000/a"
    assert identified(code, "Zinc in rice", declared, href) == (False, {"doi": "10.1000/a"})
    for label in ("CrossRef", "[Cross Ref]", "Google Scholar", "(PubMed).", "PMC free article", "DOI", "link", " Full Text"):
        assert identified(code, label, declared, href) == (True, {"doi": "10.1000/a"})
    assert identified(code, "", declared, href)[1] == {"doi": "10.1000/a"}


PUBMED = "https://pubmed.ncbi.nlm.nih.gov/7/"


@pytest.mark.parametrize(
    ("codes", "text", "declared", "href", "expected"),
    [
        ((*LINKS, *NAMED), "10.1000/a", DOI, "10.1000/b", (True, {"doi": "10.1000/a"})),
        (LINKS, "Zinc in rice", 0, "https://x.org", (False, {})),
        (LINKS, "https://x.org/a", 0, "https://x.org", (True, {})),
        (LINKS, "Google Scholar", 0, "https://x.org", (True, {})),
        (LINKS, "see https://x.org", 0, "", (False, {})),
        (LINKS, "no number", PMID, "nor here", (False, {})),
        (NAMED, "2-s2.0-84921021894", 0, "", (True, {})),
        (NAMED, "not known", PMID, "nowhere", (True, {})),
        (NAMED, "not known", PMID, PUBMED, (True, {"pmid": "7"})),
        ((URI,), "10.1000/b", 0, "10.1000/c", (True, {"doi": "10.1000/c"})),
        ((PUB_ID,), "98123456", MEDLINE, PUBMED, (True, {})),
        ((URI,), "x " * 100_000 + "10.1000/a", 0, "", (False, {})),
        ((PUB_ID,), "x" * 100_000 + "10.1000/a", DOI, "y" * 100_000, (True, {})),
    ],
    ids=range(13),
)
def test_text_and_address(
    codes: tuple[int, ...], text: str, declared: int, href: str, expected: tuple[bool, dict[str, str]]
) -> None:
    for code in codes:
        assert identified(code, text, declared, href) == expected


def test_the_first_identifier_of_a_kind_stays() -> None:
    ids = {"doi": "10.1000/a"}
    identify(URI, "10.1000/b PMID: 7", 0, "https://doi.org/10.1000/c", ids)
    assert ids == {"doi": "10.1000/a", "pmid": "7"}


@given(
    st.sampled_from((*LINKS, *NAMED)), st.text(), st.sampled_from((0, 1, 2, DOI, PMID, PMCID, ARXIV, MEDLINE)), st.text()
)  # fmt: skip
def test_identifiers_are_normalised(code: int, text: str, declared: int, href: str) -> None:
    for kind, value in identified(code, text, declared, href)[1].items():
        assert NORMALISERS[kind](value) == value

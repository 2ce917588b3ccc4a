"""Articles and books of PubMed."""

from __future__ import annotations

import pytest

from reflink.entities import Ids, Related, Work
from reflink.errors import BadRecord
from reflink.sources.medline import record
from tests.reflink.sources.medline.made_up import ARTICLE, BOOK


def work_of(xml: str) -> Work:
    work = record(xml.encode()).work
    assert work is not None
    return work


def changed(*pairs: tuple[str, str]) -> Work:
    xml = ARTICLE
    for old, new in pairs:
        assert old in xml, old
        xml = xml.replace(old, new)
    return work_of(xml)


def test_every_field_of_an_article():
    found = record(ARTICLE.encode(), series=5)
    assert (found.key, found.version, found.partial) == ("1234567", 5 + 10**9, False)
    assert found.work == Work(
        id="doi:10.1000/x.1",
        ids=Ids(doi="10.1000/x.1", pmid="1234567", pmcid="PMC42"),
        title="Proof of H2O in Exempla & others",
        translated_titles=("Nachweis von H2O",),
        authors=("Müller", "Example Study Group", "Smith"),
        collectives=("Example Study Group",),
        venue="Journal of examples",
        venue_abbreviations=("J. Ex.",),
        issns=("2434-561X", "0028-0836"),
        year=2019,
        online_year=2018,
        volume="12",
        issue="3",
        fpage="123",
        lpage="133",
        type="journal-article",
        language="de",
        related=(
            Related(kind="corrected-by", ids=Ids(pmid="7654321"), stated="ErratumIn"),
            Related(kind="commented-by", ids=Ids(doi="10.1000/comment"), stated="CommentIn"),
        ),
    )
    assert Work.from_json(found.work.to_json()) == found.work


@pytest.mark.parametrize(
    ("title", "read"),
    [
        ("Plain title.", "Plain title"),
        ("Is it?", "Is it?"),
        ("[What is it?].", "What is it?"),
        ("[Effect of [3H]thymidine].", "Effect of [3H]thymidine"),
        ("[3H]thymidine and [14C]", "[3H]thymidine and [14C]"),
        ("[Something old (author's transl)].", "Something old"),
        ("In the U.S.", "In the U.S."),
        ("And so on...", "And so on..."),
        ("RETRACTED: A false thing.", "A false thing"),
    ],
)
def test_titles(title: str, read: str):
    assert changed(("[Proof of H<sub>2</sub>O in <i>Exempla</i> &amp; others].", title)).title == read


@pytest.mark.parametrize("absent", ["[Not Available].", "", "[In process citation]"])
def test_a_record_without_a_title_has_its_vernacular_title(absent: str):
    work = changed(("[Proof of H<sub>2</sub>O in <i>Exempla</i> &amp; others].", absent))
    assert (work.title, work.translated_titles) == ("Nachweis von H2O", ())


def test_the_doi_of_the_location_counts_if_it_is_valid_and_the_only_one():
    only = ('<ArticleId IdType="doi">10.1000/X.1</ArticleId>', "")
    assert changed(only).ids.doi == "10.1000/other"
    assert changed(only, ('EIdType="doi" ValidYN="Y"', 'EIdType="doi" ValidYN="N"')).ids.doi is None


@pytest.mark.parametrize(
    ("location", "fpage", "arxiv"),
    [("e1021", "e1021", None), ("S0960-9822(00)00336-5", None, None), ("arXiv:2001.01234v2", None, "2001.01234")],
)
def test_the_item_id_is_an_article_number_or_an_arxiv_id(location: str, fpage: str | None, arxiv: str | None):
    work = changed(
        ("<Pagination><MedlinePgn>123-33</MedlinePgn></Pagination>", ""),
        ('<ELocationID EIdType="doi" ValidYN="Y">10.1000/Other<', f'<ELocationID EIdType="pii" ValidYN="Y">{location}<'),
    )
    assert (work.fpage, work.ids.arxiv) == (fpage, arxiv)


def test_start_and_end_page():
    work = changed(("<MedlinePgn>123-33</MedlinePgn>", "<StartPage>S12</StartPage><EndPage>9</EndPage>"))
    assert (work.fpage, work.lpage) == ("S12", "S19")


def test_retractions_and_concerns_give_the_status():
    kind = 'RefType="ErratumIn"'
    assert changed((kind, 'RefType="RetractionIn"')).status == "retracted"
    assert changed((kind, 'RefType="ExpressionOfConcernIn"')).status == "concern"
    assert changed((kind, 'RefType="RetractionOf"')).status is None
    assert changed((">Journal Article<", ">Retracted Publication<")).status == "retracted"
    assert changed((">Journal Article<", ">Retraction of Publication<"), ("[Proof", "Retracted: [Proof")).status is None


def test_preprints_and_their_articles():
    update = ('RefType="ErratumIn"', 'RefType="UpdateIn"')
    preprint = changed((">Journal Article<", ">Preprint<"), update)
    assert (preprint.type, preprint.related[0].kind) == ("posted-content", "preprint-of")
    assert changed(update).related[0].kind == "has-version"
    published = changed(('RefType="ErratumIn"><RefSource>J Ex.', 'RefType="UpdateOf"><RefSource>medRxiv.'))
    assert published.related[0].kind == "has-preprint"


def test_a_chapter_and_a_whole_book():
    book = work_of(BOOK)
    assert (book.id, book.type, book.title, book.venue, book.authors) == (
        "doi:10.1000/book", "book", "GeneReviews", None, ("Adam",),
    )  # fmt: skip
    chapter = work_of(
        BOOK.replace("<!--title-->", "<ArticleTitle>Haemophilia A.</ArticleTitle>").replace(
            "<!--authors-->", '<AuthorList Type="authors"><Author><LastName>Konkle</LastName></Author></AuthorList>'
        )
    )
    assert (chapter.type, chapter.title, chapter.venue, chapter.authors, chapter.year) == (
        "book-chapter", "Haemophilia A", "GeneReviews", ("Konkle",), 1993,
    )  # fmt: skip
    assert Work.from_json(chapter.to_json()) == chapter
    assert record(BOOK.encode()).version == 2 * 10**9


@pytest.mark.parametrize(
    ("xml", "fault"),
    [
        (ARTICLE.replace("1234567</PMID>", "</PMID>"), "PMID"),
        (ARTICLE.replace("1234567</PMID>", "123456789</PMID>"), "PMID"),
        (ARTICLE.replace("MedlineCitation", "Other"), "MedlineCitation"),
        (ARTICLE[:-3], "not well-formed"),
        (ARTICLE.replace("&amp;", "&nbsp;"), "not well-formed"),
        ("<Other/>", "not a record"),
        ("<DeleteCitation></DeleteCitation>", "without PMID"),
    ],
)
def test_faults_are_bad_records(xml: str, fault: str):
    with pytest.raises(BadRecord, match=fault):
        record(xml.encode())


def test_mathml_without_a_declared_prefix():
    assert changed(("[Proof", "<mml:math><mml:mi>x</mml:mi></mml:math> [Proof")).title == "x [Proof of H2O in Exempla & others]"

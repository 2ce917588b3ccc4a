import pytest

from reflink.errors import NotAPaper
from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample

CITATIONS = """<citation_list>
<citation key="ref1"><journal_title>Proc Natl Acad Sci U S A</journal_title><author>SB Prusiner</author><volume>95</volume>
 <first_page>13363</first_page><cYear>1998</cYear><doi provider="crossref">10.1073/pnas.95.23.13363</doi>
 <article_title>Prions</article_title></citation>
<citation key="B1"><doi>10.1099/mic.0.071191-0</doi></citation>
<citation key="E2">
<unstructured_citation>Laakso, M. (1987) Diabetes <i>Diabetes Rev</i>, 3, 463.</unstructured_citation></citation>
<citation key="ref59"/>
</citation_list>"""
BATCH = f"""<?xml version="1.0"?>
<doi_batch version="4.3.0" xmlns="http://www.crossref.org/schema/4.3.0"><head/><body><journal>
<journal_metadata language="en"><full_title>Journal of Tests</full_title><abbrev_title>J. Test.</abbrev_title>
 <issn>1234-5679</issn></journal_metadata>
<journal_issue><publication_date media_type="online"><year>2019</year></publication_date>
 <publication_date media_type="print"><year>2020</year></publication_date>
 <journal_volume><volume>5</volume></journal_volume><issue>2</issue></journal_issue>
<journal_article><titles><title>On <i>tests</i></title><subtitle>a study</subtitle></titles><contributors>
 <person_name contributor_role="author" sequence="first"><given_name>Jane</given_name><surname>Doe</surname></person_name>
 <organization contributor_role="author" sequence="additional">The ABC Group</organization>
 <person_name contributor_role="editor" sequence="first"><surname>Roe</surname></person_name></contributors>
 <pages><first_page>1</first_page><last_page>9</last_page></pages>
 <doi_data><doi>10.5555/A</doi><resource>http://x</resource></doi_data>{CITATIONS}</journal_article>
<journal_article><titles><title>Without list</title></titles><doi_data><doi>10.5555/b</doi></doi_data></journal_article>
</journal></body></doi_batch>"""


def test_a_deposit():
    first, second = parsed(BATCH)
    assert {**first.paper.to_dict(), "references": None} == {
        "id": "doi:10.5555/a", "ids": {"doi": "10.5555/a"}, "title": "On tests: a study", "authors": ["Doe", "The ABC Group"],
        "given_names": ["Jane", ""], "collectives": ["The ABC Group"], "venue": "Journal of Tests",
        "venue_abbreviations": ["J. Test."], "issns": ["1234-5679"], "year": 2020, "volume": "5", "issue": "2", "fpage": "1",
        "lpage": "9", "language": "en", "article_type": "journal-article", "references": None,
    }  # fmt: skip
    assert (second.paper.title, second.paper.references, second.paper.venue) == ("Without list", (), "Journal of Tests")


def test_citations_of_a_bare_list():
    assert fields(CITATIONS, source="x") == [
        {
            "xml_id": "ref1", "last_names": ["Prusiner"], "given_names": ["SB"], "title": "Prions", "year": 1998,
            "venue": "Proc Natl Acad Sci U S A", "volume": "95", "first_page": "13363",
            "ids_weak": {"doi": "10.1073/pnas.95.23.13363"},
        },
        {"xml_id": "B1", "ids": {"doi": "10.1099/mic.0.071191-0"}},
        {"xml_id": "E2"},
    ]  # fmt: skip
    (paper,) = parsed(CITATIONS, source="x")
    assert paper.paper.references[2].raw_text == "Laakso, M. (1987) Diabetes Diabetes Rev, 3, 463."
    assert paper.paper.id == "x"


@pytest.mark.parametrize("around", ["doi_records", "crossref_result"])
def test_answers_to_queries(around: str):
    inner = BATCH.partition("<body>")[2].partition("</body>")[0]
    record = f"<doi_record><crossref>{inner}</crossref></doi_record>"
    data = f"<{around}>{record}</{around}>"
    assert [each.paper.id for each in parsed(data)] == ["doi:10.5555/a", "doi:10.5555/b"]
    assert recognising(data.encode()) == ["crossref-xml"]


def test_a_list_of_a_work_is_read_once():
    (paper,) = parsed(sample("crossref/xml/crossref_no_contrib_10.3367_UFNe.2022.11.039660.xml"))
    assert len(paper.paper.references) == 17
    assert paper.paper.references[6].to_dict()["last_page"] == "1069"


def test_no_work_is_refused():
    with pytest.raises(NotAPaper):
        parsed('<doi_batch xmlns="http://www.crossref.org/schema/4.3.0"><head/></doi_batch>')

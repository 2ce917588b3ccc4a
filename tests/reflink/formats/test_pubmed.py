import pytest

from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, parse
from reflink.limits import Limits
from tests.reflink.formats.reading import parsed, recognising


def article(pmid: str, lists: str = "") -> str:
    return f"""<PubmedArticle><MedlineCitation><PMID Version="1">{pmid}</PMID><Article><Journal><ISSN>1234-5679</ISSN>
<JournalIssue><Volume>5</Volume><PubDate><Year>2020</Year></PubDate></JournalIssue><Title>Journal of tests</Title></Journal>
<ArticleTitle>On tests.</ArticleTitle><Abstract><AbstractText>One.</AbstractText><AbstractText>Two.</AbstractText></Abstract>
</Article></MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="doi">10.5555/{pmid}</ArticleId></ArticleIdList>{lists}
</PubmedData></PubmedArticle>"""


LISTS = """<ReferenceList><Title>References</Title><Reference><Citation>Doe J. On <i>x</i>. J Test. 1999;1(7):610-5</Citation>
<ArticleIdList><ArticleId IdType="pubmed">10196569</ArticleId><ArticleId IdType="doi">10.5555/X</ArticleId>
<ArticleId IdType="pmc">PMC77</ArticleId></ArticleIdList></Reference>
<ReferenceList><Title>Further</Title><Reference><Citation>Roe K. 2001.</Citation></Reference></ReferenceList></ReferenceList>
<ReferenceList><Reference><ArticleIdList><ArticleId IdType="pubmed">7</ArticleId></ArticleIdList></Reference>
<Reference><Citation/></Reference></ReferenceList>"""


def of(*articles: str) -> bytes:
    return f"<PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>".encode()


def test_an_article_with_nested_lists():
    ((one,),) = (parsed(of(article("123", LISTS))),)
    assert {**one.paper.to_dict(), "references": 0} == {
        "id": "doi:10.5555/123", "ids": {"doi": "10.5555/123", "pmid": "123"}, "title": "On tests", "venue": "Journal of tests",
        "issns": ["1234-5679"], "year": 2020, "volume": "5", "article_type": "journal-article", "abstract": "One. Two.",
        "references": 0,
    }  # fmt: skip
    assert [(each.raw_text, each.ids.to_dict()) for each in one.paper.references] == [
        ("Doe J. On x. J Test. 1999;1(7):610-5", {"doi": "10.5555/x", "pmid": "10196569", "pmcid": "PMC77"}),
        ("Roe K. 2001.", {}),
        ("", {"pmid": "7"}),
    ]


def test_a_set_is_several_papers_within_the_limits_of_all():
    data = of(article("1", LISTS), article("2", LISTS), article("3"))
    assert [len(each.paper.references) for each in parsed(data, source="set")] == [3, 3, 0]
    with pytest.raises(TooLarge):
        parse(Content(data), options=Options(limits=Limits(references=5)))
    assert recognising(data) == ["pubmed"]


def test_an_article_without_pmid_keeps_its_references():
    ((one,),) = (parsed(of(article("", LISTS))),)
    assert len(one.paper.references) == 3
    assert one.paper.id.startswith("sha256:")
    assert "PMID" in one.paper.warnings[0]


def test_untagged_citations_are_inferred_only_on_request():
    data = of(article("1", LISTS))
    assert parsed(data)[0].paper.references[0].inferred is None
    (read,) = parse(Content(data))
    assert read.paper.references[0].inferred is not None


def test_an_empty_set_is_refused():
    with pytest.raises(NotAPaper):
        parsed(of())

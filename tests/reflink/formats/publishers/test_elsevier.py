import pytest

from reflink.contexts.paragraphs import Mention
from reflink.errors import NotAPaper
from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample, samples

SPACES = (
    'xmlns="http://www.elsevier.com/xml/ja/dtd" xmlns:ce="http://www.elsevier.com/xml/common/dtd" '
    'xmlns:sb="http://www.elsevier.com/xml/common/struct-bib/dtd" xmlns:xlink="http://www.w3.org/1999/xlink"'
)
JOURNAL = """<sb:reference id="s1"><sb:contribution><sb:authors><sb:author><ce:given-name>C.W.</ce:given-name>
<ce:surname>Chen</ce:surname></sb:author><sb:collaboration>ABC Collaboration</sb:collaboration><sb:et-al/></sb:authors>
<sb:title><sb:maintitle>Value of <ce:italic>E. coli</ce:italic> in CO<ce:inf>2</ce:inf></sb:maintitle></sb:title>
</sb:contribution><sb:host><sb:issue><sb:series><sb:title><sb:maintitle>Medicine</sb:maintitle></sb:title>
<sb:volume-nr>98</sb:volume-nr></sb:series><sb:issue-nr>39</sb:issue-nr><sb:date>2019a</sb:date></sb:issue><sb:pages>
<sb:first-page>7</sb:first-page><sb:last-page>10</sb:last-page></sb:pages><ce:doi>10.5555/A</ce:doi></sb:host></sb:reference>"""
CHAPTER = """<sb:reference id="s2"><sb:contribution><sb:authors><sb:author><ce:surname>Doe</ce:surname></sb:author></sb:authors>
<sb:title><sb:maintitle>A chapter</sb:maintitle></sb:title></sb:contribution><sb:host><sb:edited-book><sb:editors><sb:editor>
<ce:given-name>K.</ce:given-name><ce:surname>Roe</ce:surname></sb:editor></sb:editors><sb:title>
<sb:maintitle>A book</sb:maintitle>
</sb:title><sb:date>1999</sb:date><sb:publisher><sb:name>Press</sb:name><sb:location>Town</sb:location></sb:publisher>
</sb:edited-book><sb:pages><sb:first-page>1</sb:first-page></sb:pages></sb:host></sb:reference>"""
BOOK = """<sb:reference><sb:contribution><sb:authors><sb:author><ce:surname>Schrijver</ce:surname></sb:author></sb:authors>
</sb:contribution><sb:host><sb:book><sb:title><sb:maintitle>Programming</sb:maintitle></sb:title><sb:book-series><sb:series>
<sb:title><sb:maintitle>Lecture Notes</sb:maintitle></sb:title><sb:volume-nr>12</sb:volume-nr></sb:series></sb:book-series>
<sb:date>1986</sb:date></sb:book></sb:host></sb:reference>"""
PREPRINT = """<sb:reference><sb:contribution><sb:authors><sb:author><ce:surname>Foffa</ce:surname></sb:author></sb:authors>
<sb:title><sb:maintitle>Radiation</sb:maintitle></sb:title></sb:contribution><sb:host><sb:e-host>
<ce:inter-ref xlink:href="arxiv:2209.11594">arXiv:2209.11594 [gr-qc]</ce:inter-ref></sb:e-host></sb:host></sb:reference>"""


def entry(name: str, label: str, *works: str) -> str:
    return f'<ce:bib-reference id="{name}"><ce:label>{label}</ce:label>{"".join(works)}</ce:bib-reference>'


def article(*entries: str, body: str = "", head: str = "") -> str:
    return f"""<?xml version="1.0"?>
<article {SPACES} docsubtype="fla" xml:lang="en"><item-info><jid>TEST</jid><ce:pii>S1-1</ce:pii><ce:doi>10.5555/own</ce:doi>
<ce:copyright type="x" year="2020"/></item-info><head><ce:title>On tests</ce:title><ce:author-group><ce:author>
<ce:given-name>Jane</ce:given-name><ce:surname>Doe</ce:surname></ce:author></ce:author-group>{head}</head>
<body><ce:sections>{body}</ce:sections></body><tail><ce:bibliography><ce:bibliography-sec>{"".join(entries)}
</ce:bibliography-sec></ce:bibliography></tail></article>"""


def test_a_journal_article():
    (found,) = fields(article(entry("b1", "[1]", JOURNAL)))
    assert found == {
        "xml_id": "b1", "label": "[1]", "kind": "journal", "title": "Value of E. coli in CO2", "venue": "Medicine",
        "last_names": ["Chen"], "given_names": ["C.W."], "collab": "ABC Collaboration", "collectives": ["ABC Collaboration"],
        "volume": "98", "issue": "39", "year": 2019, "first_page": "7", "last_page": "10", "ids": {"doi": "10.5555/a"},
    }  # fmt: skip


def test_chapters_books_and_preprints():
    chapter, book, preprint = fields(article(entry("b1", "1", CHAPTER), entry("b2", "2", BOOK), entry("b3", "3", PREPRINT)))
    assert chapter == {
        "xml_id": "b1", "label": "1", "kind": "chapter", "title": "A chapter", "venue": "A book", "last_names": ["Doe"],
        "editors": ["Roe"], "publisher": "Press", "year": 1999, "first_page": "1",
    }  # fmt: skip
    assert book == {
        "xml_id": "b2", "label": "2", "kind": "book", "title": "Programming", "venue": "Lecture Notes", "volume": "12",
        "last_names": ["Schrijver"], "year": 1986,
    }  # fmt: skip
    assert preprint == {
        "xml_id": "b3", "label": "3", "kind": "web", "title": "Radiation", "last_names": ["Foffa"],
        "ids": {"arxiv": "2209.11594"},
    }  # fmt: skip


def test_the_source_text_is_the_printed_text_of_a_single_work():
    source = "<ce:source-text>Chen CW et al. Value. Medicine 2019.</ce:source-text>"
    single, several = article(entry("b1", "1", JOURNAL, source)), article(entry("b1", "1", JOURNAL, CHAPTER, source))
    assert [each.raw_text for each in parsed(single)[0].paper.references] == ["Chen CW et al. Value. Medicine 2019."]
    first, second = parsed(several)[0].paper.references
    assert (first.id, second.id) == ("doi:10.5555/own#b1.1", "doi:10.5555/own#b1.2")
    assert second.raw_text == "Doe A chapter K. Roe A book 1999 Press Town 1"


def test_other_references_are_text():
    (found,) = parsed(article(entry("b1", "[1]", "<ce:other-ref><ce:textref>J. Doe, <ce:italic>Report</ce:italic> 5, 1999.",
                                    "</ce:textref></ce:other-ref>")))[0].paper.references  # fmt: skip
    assert (found.raw_text, found.kind, found.title) == ("J. Doe, Report 5, 1999.", None, None)


def test_the_article_itself():
    ((one,),) = (parsed(article(entry("b1", "1", JOURNAL))),)
    assert {**one.paper.to_dict(), "references": 0} == {
        "id": "doi:10.5555/own", "ids": {"doi": "10.5555/own"}, "publisher_id": "S1-1", "title": "On tests", "authors": ["Doe"],
        "given_names": ["Jane"], "venue_abbreviations": ["TEST"], "year": 2020, "language": "en", "article_type": "fla",
        "references": 0,
    }  # fmt: skip
    assert one.paragraphs == ()


BODY = """<ce:section id="s"><ce:label>1</ce:label><ce:section-title>Intro</ce:section-title>
<ce:para>As <ce:cross-ref refid="b1">
[1]</ce:cross-ref> and <ce:cross-refs refid="b2 b3">[2,3]</ce:cross-refs>, see <ce:cross-ref refid="f1">Fig. 1</ce:cross-ref>.
<ce:list><ce:list-item>
<ce:para>Item <ce:cross-ref refid="s1"><ce:sup>1</ce:sup></ce:cross-ref></ce:para></ce:list-item></ce:list>
</ce:para><ce:section><ce:section-title>Deep</ce:section-title>
<ce:para>Value <ce:formula>x</ce:formula> here</ce:para></ce:section>
</ce:section>"""


def test_paragraphs_with_mentions():
    data = article(*(entry(f"b{number}", str(number), JOURNAL.replace("s1", f"s{number}")) for number in (1, 2, 3)), body=BODY)
    first, item, deep = parsed(data, text=True)[0].paragraphs
    assert first.text == "As [1] and [2,3], see Fig. 1."
    assert first.mentions == (Mention(3, 6, ("b1",)), Mention(11, 16, ("b2", "b3")))
    assert (first.section, first.part) == (("Intro",), "body")
    assert (item.text, item.mentions) == ("Item 1", (Mention(5, 6, ("b1",)),))  # the id of a work within the entry
    assert (deep.section, deep.text[slice(*deep.formulas[0])]) == (("Intro", "Deep"), "x")


def test_every_entry_and_mention_of_the_real_articles_is_read():
    references = mentions = 0
    for path in samples("elsevier/*.xml"):
        data = path.read_bytes()
        if path.name.startswith("adsrefs"):
            continue
        assert recognising(data)[:1] == ["elsevier"], path.name
        ((one,),) = (parsed(data, text=True, source=path.stem),)
        entries = {each.xml_id for each in one.paper.references}
        assert len(entries) == data.count(b"<ce:bib-reference"), path.name
        references += len(one.paper.references)
        for paragraph in one.paragraphs:
            for mention in paragraph.mentions:
                mentions += 1
                assert entries.issuperset(mention.entries)
                assert paragraph.text[mention.start : mention.stop].strip()
    assert references > 400
    assert mentions > 300


def test_a_real_chapter_of_a_book():
    (one,) = parsed(sample("elsevier/els_book_chapter.xml"))
    assert (one.paper.title, one.paper.venue, one.paper.fpage) == ("The Luna program", "Sample Return Missions", "37")


def test_neither_title_nor_references():
    with pytest.raises(NotAPaper):
        parsed(f"<article {SPACES}><item-info/></article>")


def test_an_answer_of_the_retrieval_interface():
    inner = article(entry("b1", "1", JOURNAL)).partition("?>")[2]
    inner = inner.replace("<ce:doi>10.5555/own</ce:doi>", "")
    ((one,),) = (
        parsed(f"""<full-text-retrieval-response xmlns="http://www.elsevier.com/xml/svapi/article/dtd"
xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><coredata>
<prism:doi>10.5555/core</prism:doi><dc:title>On tests</dc:title><prism:publicationName>Journal of Tests</prism:publicationName>
<prism:issn>12345679</prism:issn><prism:volume>5</prism:volume><prism:startingPage>1</prism:startingPage>
<prism:endingPage>9</prism:endingPage><prism:coverDate>2019-05-01</prism:coverDate><prism:publisher>Elsevier</prism:publisher>
</coredata><originalText><xocs:doc xmlns:xocs="http://www.elsevier.com/xml/xocs/dtd"><xocs:serial-item>{inner}</xocs:serial-item>
</xocs:doc></originalText></full-text-retrieval-response>"""),
    )
    assert {**one.paper.to_dict(), "references": len(one.paper.references)} == {
        "id": "doi:10.5555/core", "ids": {"doi": "10.5555/core"}, "publisher_id": "S1-1", "title": "On tests",
        "authors": ["Doe"], "given_names": ["Jane"], "venue": "Journal of Tests",
        "venue_abbreviations": ["TEST"], "issns": ["1234-5679"],
        "publisher": "Elsevier", "year": 2019, "volume": "5", "fpage": "1", "lpage": "9", "language": "en",
        "article_type": "fla", "references": 1,
    }  # fmt: skip

from reflink.contexts.paragraphs import Mention
from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample, samples

ARTICLE = """<!DOCTYPE Publisher PUBLIC "-//Springer-Verlag//DTD A++ V2.4//EN" "http://devel.springer.de/A++/V2.4/DTD/A++V2.4.dtd">
<Publisher><PublisherInfo><PublisherName>Springer</PublisherName></PublisherInfo><Journal><JournalInfo>
<JournalPrintISSN>1234-5679</JournalPrintISSN><JournalTitle>Journal of Tests</JournalTitle>
<JournalAbbreviatedTitle>J Test</JournalAbbreviatedTitle></JournalInfo><Volume><VolumeInfo><VolumeIDStart>5</VolumeIDStart>
</VolumeInfo><Issue><IssueInfo><IssueIDStart>2</IssueIDStart><IssueHistory><CoverDate><Year>2019</Year></CoverDate>
</IssueHistory></IssueInfo><Article><ArticleInfo ArticleType="OriginalPaper" Language="En"><ArticleID>7</ArticleID>
<ArticleDOI>10.5555/own</ArticleDOI><ArticleTitle Language="En">On <Emphasis Type="Italic">tests</Emphasis></ArticleTitle>
<ArticleFirstPage>1</ArticleFirstPage><ArticleLastPage>9</ArticleLastPage></ArticleInfo><ArticleHeader><AuthorGroup><Author>
<AuthorName><GivenName>Jane</GivenName><GivenName>M.</GivenName><Particle>von</Particle><FamilyName>Doe</FamilyName></AuthorName>
</Author></AuthorGroup><Abstract><Heading>Abstract</Heading><Para>Short.</Para></Abstract></ArticleHeader><Body>
<Section1 ID="S1"><Heading>Intro</Heading><Para>As in [<CitationRef CitationID="CR1">1</CitationRef>–<CitationRef
CitationID="CR2">2</CitationRef>] and <InternalRef RefID="S2">Sect. 2</InternalRef>.</Para></Section1></Body>
<ArticleBackmatter><Bibliography ID="Bib1"><Heading>References</Heading>
<Citation ID="CR1"><CitationNumber>1.</CitationNumber><BibArticle><BibAuthorName><Initials>J</Initials>
<FamilyName>Jaeckel</FamilyName></BibAuthorName><BibAuthorName><Initials>R</Initials><NoFamilyName/></BibAuthorName><Year>2010</Year>
<ArticleTitle>The Frontier</ArticleTitle><JournalTitle>Ann Rev</JournalTitle><VolumeID>60</VolumeID><IssueID>3</IssueID>
<FirstPage>405</FirstPage><LastPage>440</LastPage><Occurrence Type="DOI"><Handle>10.5555/A</Handle></Occurrence>
<Occurrence Type="PID"><Handle>1234</Handle></Occurrence></BibArticle><BibUnstructured>Jaeckel J (2010) The Frontier. [
<ExternalRef><RefSource>arXiv:1002.0329</RefSource><RefTarget Address="https://arxiv.org/abs/1002.0329" TargetType="URL"/>
</ExternalRef>]</BibUnstructured></Citation>
<Citation ID="CR2"><CitationNumber>2.</CitationNumber><BibUnstructured>Roe K (1999) Report</BibUnstructured></Citation>
</Bibliography></ArticleBackmatter></Article></Issue></Volume></Journal></Publisher>"""


def test_citations():
    assert fields(ARTICLE) == [
        {
            "xml_id": "CR1", "label": "1.", "kind": "journal", "title": "The Frontier", "venue": "Ann Rev",
            "last_names": ["Jaeckel"], "given_names": ["J"], "year": 2010, "volume": "60", "issue": "3", "first_page": "405",
            "last_page": "440", "ids": {"doi": "10.5555/a", "pmid": "1234", "arxiv": "1002.0329"},
        },
        {"xml_id": "CR2", "label": "2."},
    ]  # fmt: skip
    first, second = parsed(ARTICLE)[0].paper.references
    assert first.raw_text == "Jaeckel J (2010) The Frontier. [ arXiv:1002.0329]"
    assert second.raw_text == "Roe K (1999) Report"


def test_the_article_itself():
    ((one,),) = (parsed(ARTICLE, text=True),)
    assert {**one.paper.to_dict(), "references": 0} == {
        "id": "doi:10.5555/own", "ids": {"doi": "10.5555/own"}, "publisher_id": "7", "title": "On tests",
        "authors": ["von Doe"], "given_names": ["Jane M."], "venue": "Journal of Tests", "venue_abbreviations": ["J Test"],
        "issns": ["1234-5679"], "publisher": "Springer", "year": 2019, "volume": "5", "issue": "2", "fpage": "1", "lpage": "9",
        "language": "en", "article_type": "OriginalPaper", "abstract": "Short.", "references": 0,
    }  # fmt: skip
    abstract, intro = one.paragraphs
    assert (abstract.part, abstract.section) == ("abstract", ("Abstract",))
    assert intro.text == "As in [1–2] and Sect. 2."
    assert intro.mentions == (Mention(7, 8, ("CR1",)), Mention(9, 10, ("CR2",)))


def test_real_headers():
    count = 0
    for path in samples("springer_aplusplus/*"):
        data = path.read_bytes()
        if b"<Publisher>" in data[:2000]:
            assert recognising(data) == ["springer"]
            ((one,),) = (parsed(data),)
            assert all((one.paper.title, one.paper.publisher, one.paper.ids.keys() or one.paper.id))
            assert one.paper.references == ()
            count += 1
    assert count > 5


def test_a_chapter_has_its_book_as_venue():
    paper = parsed(sample("springer_aplusplus/sp_0.xml"))[0].paper
    assert (paper.title or "").startswith("Frzv-nhgbzngvp Raqbtrabhf Raevpuzrag")
    assert paper.venue == "Nqinaprf va Angheny Ynathntr Cebprffvat"
    assert (paper.fpage, paper.lpage) == ("667", "655")

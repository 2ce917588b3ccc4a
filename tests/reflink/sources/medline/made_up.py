"""Made-up PubMed XML: one article with every field that is read, and parts to vary."""

from __future__ import annotations

ARTICLE = """<PubmedArticle>
  <MedlineCitation Status="MEDLINE" Owner="NLM">
    <PMID Version="1">1234567</PMID>
    <DateRevised><Year>2021</Year><Month>06</Month><Day>07</Day></DateRevised>
    <Article PubModel="Print-Electronic">
      <Journal>
        <ISSN IssnType="Electronic">2434-561X</ISSN>
        <JournalIssue CitedMedium="Internet">
          <Volume>12</Volume><Issue>3</Issue>
          <PubDate><MedlineDate>2019 Dec-2020 Jan</MedlineDate></PubDate>
        </JournalIssue>
        <Title>Journal of examples</Title><ISOAbbreviation>J. Ex.</ISOAbbreviation>
      </Journal>
      <ArticleTitle>[Proof of H<sub>2</sub>O in <i>Exempla</i> &amp; others].</ArticleTitle>
      <Pagination><MedlinePgn>123-33</MedlinePgn></Pagination>
      <ELocationID EIdType="doi" ValidYN="Y">10.1000/Other</ELocationID>
      <Abstract><AbstractText>Not &lt;read&gt; <i>at all</i>.</AbstractText></Abstract>
      <AuthorList CompleteYN="Y">
        <Author ValidYN="Y"><LastName>Müller</LastName><ForeName>Anna</ForeName><Initials>A</Initials>
          <AffiliationInfo><Affiliation>Dept. of LastName</Affiliation></AffiliationInfo></Author>
        <Author ValidYN="N"><LastName>Muller</LastName></Author>
        <Author ValidYN="Y"><CollectiveName>Example Study Group</CollectiveName></Author>
        <Author ValidYN="Y"><LastName>Smith</LastName><Suffix>Jr</Suffix></Author>
      </AuthorList>
      <Language>ger</Language>
      <PublicationTypeList><PublicationType UI="D016428">Journal Article</PublicationType></PublicationTypeList>
      <VernacularTitle>Nachweis von H<sub>2</sub>O.</VernacularTitle>
      <ArticleDate DateType="Electronic"><Year>2018</Year><Month>11</Month><Day>02</Day></ArticleDate>
    </Article>
    <MedlineJournalInfo><MedlineTA>J Ex</MedlineTA><ISSNLinking>0028-0836</ISSNLinking></MedlineJournalInfo>
    <CommentsCorrectionsList>
      <CommentsCorrections RefType="ErratumIn"><RefSource>J Ex. 2021;13:1</RefSource>
        <PMID Version="1">7654321</PMID></CommentsCorrections>
      <CommentsCorrections RefType="CommentIn"><RefSource>J Ex. 2021. doi: 10.1000/comment.</RefSource></CommentsCorrections>
      <CommentsCorrections RefType="Cites"><PMID Version="1">1</PMID></CommentsCorrections>
    </CommentsCorrectionsList>
    <MeshHeadingList><MeshHeading><DescriptorName UI="D1">Title</DescriptorName></MeshHeading></MeshHeadingList>
  </MedlineCitation>
  <PubmedData>
    <History><PubMedPubDate PubStatus="pubmed"><Year>1999</Year></PubMedPubDate></History>
    <ArticleIdList><ArticleId IdType="pubmed">1234567</ArticleId><ArticleId IdType="doi">10.1000/X.1</ArticleId>
      <ArticleId IdType="pmc">PMC42</ArticleId></ArticleIdList>
    <ReferenceList><Reference><Citation>A.</Citation>
      <ArticleIdList><ArticleId IdType="doi">10.9/cited</ArticleId></ArticleIdList></Reference>
      <ReferenceList><Title>More</Title></ReferenceList></ReferenceList>
  </PubmedData>
</PubmedArticle>"""

#: A whole book; with `CHAPTER_TITLE` in place, a chapter of it.
BOOK = """<PubmedBookArticle><BookDocument><PMID Version="2">20301295</PMID>
  <ArticleIdList><ArticleId IdType="bookaccession">NBK1</ArticleId></ArticleIdList>
  <Book><Publisher><PublisherName>Press</PublisherName></Publisher><BookTitle book="gene">GeneReviews.</BookTitle>
    <PubDate><Year>1993</Year></PubDate>
    <AuthorList Type="editors"><Author><LastName>Adam</LastName></Author></AuthorList><Isbn>1</Isbn></Book>
  <!--title-->
  <Language>eng</Language>
  <!--authors-->
  <PublicationType UI="D016454">Review</PublicationType>
  <Abstract><AbstractText>No.</AbstractText></Abstract></BookDocument>
  <PubmedBookData><ArticleIdList><ArticleId IdType="doi">10.1000/book</ArticleId></ArticleIdList></PubmedBookData>
</PubmedBookArticle>"""


def document(*records: str, root: str = "PubmedArticleSet") -> bytes:
    """Return a file with the records."""
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE {root} PUBLIC "-//NLM//DTD PubMedArticle//EN" "x.dtd">\n'
    return f"{head}<{root}>\n{chr(10).join(records)}\n</{root}>\n".encode()

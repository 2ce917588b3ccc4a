"""Springer: articles and chapters in A++ (``Publisher``)."""

from __future__ import annotations

from typing import Final

from reflink.formats.publishers.markup import Markup

_TAGGED: Final = "BibArticle | BibChapter | BibBook | BibIssue"

SPRINGER: Final = Markup(
    entries="//Citation[BibArticle or BibChapter or BibBook or BibIssue or BibUnstructured]",
    ids=("@ID",),
    labels=("CitationNumber",),
    works=f"{_TAGGED} | self::*[not({_TAGGED})]/BibUnstructured",
    follows=frozenset(("BibUnstructured",)),
    silent=frozenset(("Occurrence", "BibArticleDOI", "BibBookDOI", "BibChapterDOI", "Etal")),
    kinds=("self::*",),
    separate=True,
    citation={
        "title": ("ArticleTitle", "ChapterTitle", "self::BibBook/BookTitle", "self::BibIssue/IssueTitle"),
        "venue": ("JournalTitle", "self::BibChapter/BookTitle", "ConfSeriesName", "SeriesTitle"),
        "publisher": ("PublisherName",),
        "volume": ("VolumeID", "NumberInSeries"),
        "issue": ("IssueID",),
        "first_page": ("FirstPage",),
        "last_page": ("LastPage",),
        "article_number": ("BibArticleNumber", "ArticleNumber"),
        "year": ("Year",),
        "authors": ("BibAuthorName",),
        "groups": ("InstitutionalAuthorName",),
        "editors": ("BibEditorName",),
        "doi": ("Occurrence[@Type='DOI']/Handle", "BibArticleDOI | BibChapterDOI | BibBookDOI"),
        "pmid": ("Occurrence[@Type='PID' or @Type='PMID']/Handle",),
        "pmcid": ("Occurrence[@Type='PMCID']/Handle",),
        "address": (".//RefTarget/@Address",),
    },
    own={
        "title": ("//ArticleInfo/ArticleTitle", "//ChapterInfo/ChapterTitle", "//BookInfo/BookTitle"),
        "subtitle": ("//ArticleInfo/ArticleSubTitle", "//ChapterInfo/ChapterSubTitle"),
        "venue": ("//JournalInfo/JournalTitle", "/*[//ChapterInfo]//BookInfo/BookTitle", "//SeriesInfo/SeriesTitle"),
        "abbreviations": ("//JournalInfo/JournalAbbreviatedTitle",),
        "issns": ("//JournalInfo/JournalPrintISSN", "//JournalInfo/JournalElectronicISSN", "//SeriesInfo/SeriesPrintISSN",
                  "//SeriesInfo/SeriesElectronicISSN"),
        "publisher": ("/Publisher/PublisherInfo/PublisherName",),
        "volume": ("//VolumeInfo/VolumeIDStart", "//BookInfo/BookVolumeNumber"),
        "issue": ("//IssueInfo/IssueIDStart",),
        "first_page": ("//ArticleInfo/ArticleCitationID", "//ArticleInfo/ArticleFirstPage", "//ChapterInfo/ChapterFirstPage"),
        "last_page": ("//ArticleInfo[not(ArticleCitationID)]/ArticleLastPage", "//ChapterInfo/ChapterLastPage"),
        "year": ("//IssueInfo/IssueHistory/CoverDate/Year", "//IssueInfo/IssueHistory/OnlineDate/Year",
                 "//ArticleHistory/OnlineDate/Year", "//ArticleCopyright/CopyrightYear", "//BookCopyright/CopyrightYear"),
        "authors": ("//ArticleHeader/AuthorGroup/Author/AuthorName", "//ChapterHeader/AuthorGroup/Author/AuthorName",
                    "//BookHeader/AuthorGroup/Author/AuthorName"),
        "groups": ("//ArticleHeader/AuthorGroup/InstitutionalAuthor/InstitutionalAuthorName",),
        "abstract": ("//ArticleHeader/Abstract", "//ChapterHeader/Abstract"),
        "language": ("//ArticleInfo/@Language", "//ChapterInfo/@Language"),
        "article_type": ("//ArticleInfo/@ArticleType", "//ChapterInfo/@ChapterType"),
        "publisher_id": ("//ArticleInfo/ArticleID",),
        "doi": ("//ArticleInfo/ArticleDOI", "//ChapterInfo/ChapterDOI", "//BookInfo/BookDOI"),
        "arxiv": ("//ArticleInfo/ArticleExternalID[@Type='arXiv']",),
    },
    paragraphs=frozenset(("Para", "SimplePara", "entry")),
    sections=frozenset(
        ("Section1", "Section2", "Section3", "Section4", "Section5", "Section6", "Section7", "Section8", "Abstract",
         "Acknowledgments", "Appendix")
    ),
    titles=frozenset(("Heading",)),
    mentions={"CitationRef": ("@CitationID",)},
    parts={
        "Abstract": "abstract", "Caption": "caption", "Table": "table", "tfooter": "table", "Footnote": "footnote",
        "ArticleBackmatter": "back", "ChapterBackmatter": "back", "Acknowledgments": "back",
    },
    unread=frozenset(
        ("Bibliography", "PublisherInfo", "JournalInfo", "VolumeInfo", "IssueInfo", "ArticleInfo", "AuthorGroup",
         "KeywordGroup", "SeriesInfo", "BookInfo", "ChapterInfo")
    ),
)  # fmt: skip

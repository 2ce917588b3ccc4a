"""Elsevier: articles and chapters of its DTDs 4 and 5, alone, in ConSyn documents, and in answers of its interfaces."""

from __future__ import annotations

from typing import Final

from reflink.formats.publishers.markup import Markup

ELSEVIER: Final = Markup(
    entries="//bib-reference",
    works="reference | other-ref",
    follows=frozenset(("source-text",)),
    silent=frozenset(("label", "date-accessed")),
    separate=True,
    kinds=("host/issue | host/edited-book | host/book | host/e-host",),
    citation={
        "title": ("contribution/title/maintitle", "host/book/title/maintitle", "host/e-host/title/maintitle"),
        "subtitle": ("contribution/title/subtitle",),
        "translated_title": ("contribution/translated-title/maintitle",),
        "venue": (
            "host/issue/series/title/maintitle", "host/edited-book/title/maintitle",
            "host/edited-book/book-series/series/title/maintitle", "host/issue/title/maintitle",
            "host/edited-book/conference", "self::*[contribution/title]/host/book/title/maintitle",
            "host/book/book-series/series/title/maintitle",
        ),
        "publisher": ("host/*/publisher/name",),
        "volume": ("host/issue/series/volume-nr", "host//volume-nr"),
        "issue": ("host/issue/issue-nr",),
        "first_page": ("host/pages/first-page",),
        "last_page": ("host/pages/last-page",),
        "article_number": ("host/article-number",),
        "year": ("host/*/date",),
        "authors": ("contribution/authors/author",),
        "groups": ("contribution/authors/collaboration",),
        "editors": ("host//editors/editor", "contribution/editors/editor"),
        "doi": ("host/doi", ".//doi"),
        "address": (".//inter-ref/@href",),
    },
    own={
        "title": ("//head/title", "/*/title | /document/*/title", "//serial-item/*/title | //nonserial-item/*/title",
                  "//Description/title", "//coredata/title"),
        "subtitle": ("//head/subtitle",),
        "translated_titles": ("//head/alt-title",),
        "venue": ("//Description/publicationName", "//coredata/publicationName", "//srctitle"),
        "abbreviations": ("//item-info/jid",),
        "issns": ("//Description/issn", "//coredata/issn", "//xocs-issn-normalized"),
        "publisher": ("//Description/publisher", "//coredata/publisher"),
        "volume": ("//Description/volume", "//coredata/volume"),
        "issue": ("//Description/number", "//coredata/issueIdentifier", "//coredata/number"),
        "first_page": ("//Description/startingPage", "//coredata/startingPage"),
        "last_page": ("//Description/endingPage", "//coredata/endingPage"),
        "article_number": ("//item-info/article-number", "//Description/articleNumber", "//coredata/article-number"),
        "year": ("//Description/coverDate", "//coredata/coverDate", "//Description/coverDisplayDate",
                 "//item-info/copyright/@year", "//info/copyright/@year"),
        "authors": ("//head/author-group/author", "/document/*/author-group/author", "/*/author-group/author",
                    "//serial-item/*/author-group/author", "//coredata/creator"),
        "groups": ("//head/author-group/collaboration/text", "/document/*/author-group/collaboration/text"),
        "abstract": ("//head/abstract[@class='author']", "//head/abstract"),
        "language": ("/article/@lang", "/document/*/@lang", "//serial-item/*/@lang"),
        "article_type": ("/article/@docsubtype", "/document/*/@docsubtype", "//serial-item/*/@docsubtype"),
        "publisher_id": ("//item-info/pii", "//info/pii", "//coredata/pii"),
        "doi": ("//item-info/doi", "/document/*/info/doi", "/*/info/doi", "//Description/doi", "//coredata/doi"),
    },
    paragraphs=frozenset(("para", "simple-para", "note-para", "entry")),
    sections=frozenset(("section", "abstract", "appendix", "acknowledgment")),
    titles=frozenset(("section-title",)),
    mentions={"cross-ref": ("@refid",), "cross-refs": ("@refid",)},
    parts={
        "abstract": "abstract", "caption": "caption", "legend": "caption", "table": "table", "footnote": "footnote",
        "table-footnote": "table", "appendices": "back", "acknowledgment": "back", "tail": "back",
    },
    unread=frozenset(("bibliography", "further-reading", "RDF", "item-info", "coredata", "author-group", "keywords",
                      "meta", "ref-info", "label")),
)  # fmt: skip

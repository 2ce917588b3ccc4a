"""IOP Publishing: articles in its own XML of the 2000s (``article-metadata``, ``reference-list``)."""

from __future__ import annotations

from typing import Final

from reflink.formats.publishers.markup import Markup

IOP: Final = Markup(
    entries="//reference-list/*[not(self::heading)]",
    labels=("@num",),
    works="self::multipart/*",
    silent=frozenset(("crossref",)),
    separate=True,
    kinds=("self::*",),
    citation={
        "title": ("art-title", "chap-title", "self::*[not(art-title or chap-title)]/book-title", "thesis-title"),
        "venue": ("concat(jnl-title, ' ', part)", "self::*[art-title or chap-title]/book-title", "conf-title", "series"),
        "publisher": ("publication/publisher",),
        "volume": ("volume",),
        "issue": ("issno",),
        "pages": ("pages",),
        "article_number": ("artnum",),
        "year": ("year",),
        "authors": ("authors/au",),
        "groups": ("authors/collaboration | authors/collab",),
        "editors": ("editors/au",),
        "doi": ("crossref/cr_doi", ".//doi"),
        "arxiv": ("preprint | arxivnum | preprint-ref",),
        "address": (".//webref/@url", ".//url"),
    },
    own={
        "title": ("/article/header/title-group/title",),
        "venue": ("//jnl-data/jnl-fullname",),
        "abbreviations": ("//jnl-data/jnl-abbreviation", "//jnl-data/jnl-shortname"),
        "issns": ("//jnl-data/jnl-issn",),
        "publisher": ("//jnl-data/jnl-imprint",),
        "volume": ("//volume-data/volume-number",),
        "issue": ("//issue-data/issue-number",),
        "first_page": ("//article-data/type-number[@numbering='article']/@artnum", "//article-data/first-page"),
        "last_page": ("//article-data[not(type-number/@numbering='article')]/last-page",),
        "year": ("//volume-data/year-publication",),
        "authors": ("/article/header/author-group/author",),
        "groups": ("/article/header/author-group/collaboration",),
        "abstract": ("/article/header/abstract-group/abstract",),
        "article_type": ("//article-data/article-type/@type",),
        "publisher_id": ("//article-data/pii", "/article/@artid"),
        "doi": ("//article-data/doi",),
    },
    paragraphs=frozenset(("p", "entry")),
    sections=frozenset(("sec-level1", "sec-level2", "sec-level3", "sec-level4", "abstract", "acknowledgment", "appendix")),
    titles=frozenset(("heading",)),
    mentions={"cite": ("@range", "@linkend")},
    parts={
        "abstract": "abstract", "caption": "caption", "table": "table", "footnotes": "footnote", "acknowledgment": "back",
        "appendix": "back",
    },
    unread=frozenset(("references", "article-metadata", "title-group", "author-group", "address-group", "classifications")),
)  # fmt: skip

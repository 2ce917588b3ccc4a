"""Royal Society of Chemistry: articles in its own XML (``art-admin``, ``biblist``)."""

from __future__ import annotations

from typing import Final

from reflink.formats.publishers.markup import Markup

RSC: Final = Markup(
    entries="//citgroup",
    works=".//journalcit | .//citation",
    silent=frozenset(("link",)),
    kinds=("@type", "self::*"),
    citation={
        "title": ("arttitle", "chaptitle", "self::citation[not(editor)]/title"),
        "venue": ("self::journalcit/title", "self::citation[editor or arttitle or chaptitle]/title", "confname"),
        "publisher": ("citpub",),
        "volume": ("volumeno",),
        "issue": ("issueno",),
        "first_page": ("pages/fpage", "fpage"),
        "last_page": ("pages/lpage", "lpage"),
        "article_number": ("artnum",),
        "year": ("year",),
        "authors": ("citauth",),
        "groups": ("citorg | collab",),
        "editors": ("editor",),
        "doi": ("link[@type='doi']", "doi"),
        "pmid": ("link[@type='pubmed']",),
        "address": (".//url/@url", ".//url"),
    },
    own={
        "title": ("/article/art-front/titlegrp/title",),
        "venue": ("/article/published/journalref/title",),
        "abbreviations": ("/article/published/journalref/link",),
        "issns": ("/article/published/journalref/issn",),
        "publisher": ("/article/published/journalref/publisher/orgname",),
        "volume": ("/article/published/volumeref/link",),
        "issue": ("/article/published/issueref/link",),
        "first_page": ("/article/published/pubfront/fpage",),
        "last_page": ("/article/published/pubfront/lpage",),
        "year": ("/article/published[@type='print']/pubfront/date/year", "/article/published/pubfront/date/year"),
        "authors": ("/article/art-front/authgrp/author/person",),
        "groups": ("/article/art-front/authgrp/author/org",),
        "abstract": ("/article/art-front/abstract",),
        "article_type": ("/article/@type",),
        "publisher_id": ("/article/art-admin/ms-id",),
        "doi": ("/article/art-admin/doi",),
    },
    paragraphs=frozenset(("p", "entry", "footnote")),
    sections=frozenset(("section", "subsect1", "subsect2", "subsect3", "abstract", "ack")),
    titles=frozenset(("title",)),
    mentions={"citref": ("@idrefs",)},
    parts={"abstract": "abstract", "figure": "caption", "table-entry": "table", "footnote": "footnote", "art-back": "back"},
    unread=frozenset(("biblist", "art-admin", "published", "authgrp", "titlegrp")),
)  # fmt: skip

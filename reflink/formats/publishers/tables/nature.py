"""Nature Publishing Group: articles in its own XML of the 2000s (``pubfm``, ``bibl``)."""

from __future__ import annotations

from typing import Final

from reflink.formats.publishers.markup import Markup

NATURE: Final = Markup(
    entries="//bib | //reftxt[not(ancestor::bib)]",
    works="reftxt",
    citation={
        "title": ("atl", "self::*[not(atl)]/btl"),
        "venue": ("jtl", "self::*[atl]/btl"),
        "publisher": ("pub | pubnm",),
        "volume": ("vid",),
        "issue": ("iid",),
        "first_page": ("ppf",),
        "last_page": ("ppl",),
        "article_number": ("artnum",),
        "year": ("cd/@year", "cd"),
        "authors": ("refau",),
        "groups": ("refgrp | refcollab",),
        "editors": ("refed",),
        "doi": ("refdoi",),
        "address": (".//weblink/@url", ".//weblink", ".//url"),
    },
    own={
        "title": ("/article/fm/atl",),
        "venue": ("/article/pubfm/jtl",),
        "issns": ("/article/pubfm/issn",),
        "publisher": ("/article/pubfm/cpg/cpn",),
        "volume": ("/article/pubfm/vol",),
        "issue": ("/article/pubfm/iss",),
        "first_page": ("/article/pubfm/pp/spn",),
        "last_page": ("/article/pubfm/pp/epn",),
        "year": ("/article/pubfm/cpg/cpy",),
        "authors": ("/article/fm/aug//au | /article/fm/aug//cau",),
        "groups": ("/article/fm/aug//collab",),
        "abstract": ("/article/fm/abs", "/article/fm/websumm"),
        "language": ("/article/@language",),
        "article_type": ("/article/pubfm/categtxt", "/article/pubfm/categ/@id"),
        "publisher_id": ("/article/@id",),
        "doi": ("/article/pubfm/doi",),
    },
    paragraphs=frozenset(("p", "entry", "title")),
    sections=frozenset(("sec", "abs", "app")),
    titles=frozenset(("sectitle",)),
    mentions={"bibr": ("@rid",), "bibrinl": ("@rid",)},
    parts={"abs": "abstract", "objects": "caption", "fig": "caption", "table": "table", "fn": "footnote", "bm": "back"},
    unread=frozenset(("bibl", "pubfm", "aug", "suppinfo")),
)  # fmt: skip

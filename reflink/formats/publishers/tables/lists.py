"""Reference lists that societies and publishers sent to indexes, without the article: AGU, AIP, APS, Blackwell, EDP, IOP, …

Described from the lists that the Astrophysics Data System received from them.
"""

from __future__ import annotations

from typing import Final

from reflink.formats.publishers.markup import Markup

AGU: Final = Markup(
    entries="//citation[reftitle or first_author or partOfCode or journal_title]",
    labels=(),
    silent=frozenset(
        ("journal_title", "first_author", "reftitle", "volume", "issue", "firstPage", "CitationNumber", "year", "DOI",
         "partOfCode", "paperType")
    ),
    kinds=("paperType/text()", "partOfCode/text()"),
    citation={
        "title": ("reftitle",), "venue": ("journal_title",), "volume": ("volume",), "issue": ("issue",),
        "first_page": ("firstPage[. != 'null']",), "article_number": ("CitationNumber",), "year": ("year",),
        "authors": ("first_author[. != 'null']",), "doi": ("DOI",),
    },
)  # fmt: skip
AIP: Final = Markup(
    entries="//citation[ref]",
    works="ref/*",
    labels=(),
    silent=frozenset(("plink",)),
    kinds=("self::*",),
    citation={
        "title": ("atl | title",), "venue": ("journal",), "volume": ("vol",), "issue": ("iss",), "pages": ("pp",),
        "year": ("year",), "authors": ("biaugrp/biauth", "biauth"), "publisher": ("bipub | publisher",),
        "doi": ("plink/linkkey[@type='doi']",), "arxiv": ("plink/linkkey[@type='arxiv']",),
    },
)  # fmt: skip
APS: Final = Markup(
    entries="//ref[@citid]",
    ids=("@citid",),
    works="*[not(self::label)]",
    silent=frozenset(("coden", "issn", "doi")),
    kinds=("self::*",),
    citation={
        "title": ("atitle | reftitle", "btitle"), "venue": ("jtitle",), "volume": ("volume",), "issue": ("issue",),
        "pages": ("pages",), "year": ("date",), "authors": ("refauth",), "groups": ("refcollab | collab",),
        "editors": ("refed",), "publisher": ("publisher",), "doi": ("doi",), "arxiv": ("eprintid",),
    },
)  # fmt: skip
BLACKWELL: Final = Markup(
    entries="//bb",
    works="*[not(self::label)]",
    kinds=("self::*",),
    citation={
        "title": ("tl", "btl"), "venue": ("pubtl",), "volume": ("vid",), "issue": ("iid",), "first_page": ("ppf",),
        "last_page": ("ppl",), "year": ("cd/@year", "cd"), "authors": ("au",), "groups": ("corpau | collab",),
        "editors": ("ed | edr",), "publisher": ("pub | pubnm",), "doi": ("extlink[@linktype='doi']/@linkid",),
        "address": (".//url", ".//extlink/@linkid"),
    },
)  # fmt: skip
EDP: Final = Markup(
    entries="//bibliomixed",
    ids=("@XRefLabel | @id",),
    labels=("@N",),
    silent=frozenset(("biblioset",)),
    citation={
        "venue": ("biblioset/Title",), "volume": ("biblioset/VolumeNum",), "issue": ("biblioset/IssueNum",),
        "pages": ("biblioset/ArtPageNums",), "year": ("biblioset/Date",), "doi": ("biblioset//doi", "biblioset//DOI"),
        "address": ("bibliomisc", ".//ulink/@url"),
    },
)  # fmt: skip
IOP_LIST: Final = Markup(
    entries="//reference[ref_citation]",
    ids=("@id", "ref_id"),
    labels=("ref_label",),
    printed=("ref_citation",),
    kinds=("@type",),
    citation={
        "title": ("ref_item_title",), "venue": ("ref_journal",), "volume": ("ref_volume",), "issue": ("ref_issue",),
        "first_page": ("ref_start_page",), "last_page": ("ref_end_page",), "year": ("ref_year",), "doi": ("ref_doi",),
        "author_list": ("ref_authors",), "arxiv": ("ref_arxiv",),
    },
)  # fmt: skip
OUP_LIST: Final = Markup(
    entries="//reference[namegroup or title]",
    silent=frozenset(("label",)),
    kinds=("@type",),
    citation={
        "title": (
            "title[@type='article']", "title[@type='chapter']", "self::*[not(title[@type='journal'])]/title[@type='book']",
        ),
        "venue": ("title[@type='journal']", "title[@type='series']"), "volume": ("volume",), "issue": ("issue",),
        "first_page": ("page[@type='first']",), "last_page": ("page[@type='last']",), "year": ("date/@date", "date"),
        "authors": ("namegroup[@type='author']/name",), "editors": ("namegroup[@type='editor']/name",),
        "publisher": ("publisher",), "doi": ("doi",), "address": (".//url",),
    },
)  # fmt: skip
COPERNICUS: Final = Markup(entries="//reference[@content_type]", ids=("@id",), labels=("@numeration",))

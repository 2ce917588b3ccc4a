"""Wiley: articles in WileyML 3G (``component``)."""

from __future__ import annotations

from typing import Final

from reflink.formats.publishers.markup import Markup

_UNIT: Final = "/component/header/publicationMeta[@level='unit']"
_PART: Final = "/component/header/publicationMeta[@level='part']"
_PRODUCT: Final = "/component/header/publicationMeta[@level='product']"
_CONTENT: Final = "/component/header/contentMeta"

WILEY: Final = Markup(
    entries="//bib",
    labels=("label", "@number"),
    works="citation",
    silent=frozenset(("label",)),
    kinds=("@type",),
    citation={
        "title": ("articleTitle", "chapterTitle", "self::*[not(articleTitle or chapterTitle)]/bookTitle", "otherTitle"),
        "subtitle": ("articleSubTitle", "self::*[not(articleTitle or chapterTitle)]/bookSubTitle"),
        "venue": ("journalTitle", "self::*[articleTitle or chapterTitle]/bookTitle", "bookSeriesTitle"),
        "publisher": ("publisherName",),
        "volume": ("vol",),
        "issue": ("issue",),
        "first_page": ("pageFirst",),
        "last_page": ("pageLast",),
        "article_number": ("eLocator", "articleNumber"),
        "year": ("pubYear/@year", "pubYear"),
        "authors": ("author",),
        "groups": ("groupName[not(@role='editor')]",),
        "editors": ("editor",),
        "doi": ("doi", "accessionId[@type='doi' or @type='DOI']"),
        "address": (".//url/@href", ".//link/@href", "accessionId/@ref", ".//url"),
    },
    own={
        "title": (f"{_CONTENT}/titleGroup/title[@type='main']",),
        "subtitle": (f"{_CONTENT}/titleGroup/title[@type='subtitle']",),
        "venue": (f"{_PRODUCT}/titleGroup/title[@type='main']",),
        "abbreviations": (f"{_PRODUCT}/titleGroup/title[@type='short']",),
        "issns": (f"{_PRODUCT}/issn",),
        "publisher": (f"{_PRODUCT}/publisherInfo/publisherName",),
        "volume": (f"{_PART}/numberingGroup/numbering[@type='journalVolume']",),
        "issue": (f"{_PART}/numberingGroup/numbering[@type='journalIssue']",),
        "first_page": (f"{_UNIT}/numberingGroup/numbering[@type='pageFirst']",),
        "last_page": (f"{_UNIT}/numberingGroup/numbering[@type='pageLast']",),
        "article_number": (f"{_UNIT}/idGroup/id[@type='eLocator']/@value",),
        "year": (f"{_PART}/coverDate/@startDate", f"{_PART}/coverDate", f"{_UNIT}/eventGroup/event[@type='firstOnline']/@date"),
        "authors": (f"{_CONTENT}/creators/creator[not(@creatorRole) or @creatorRole='author']/personName",),
        "groups": (f"{_CONTENT}/creators/creator[not(@creatorRole) or @creatorRole='author']/groupName",),
        "abstract": (f"{_CONTENT}/abstractGroup/abstract[@type='main']",),
        "language": ("/component/@lang",),
        "article_type": (f"{_UNIT}/@type",),
        "doi": (f"{_UNIT}/doi",),
    },
    paragraphs=frozenset(("p", "entry")),
    sections=frozenset(("section", "abstract")),
    titles=frozenset(("title",)),
    mentions={"link": ("@href",)},
    parts={
        "abstract": "abstract", "caption": "caption", "tabular": "table", "noteGroup": "footnote", "note": "footnote",
        "acknowledgmentGroup": "back",
    },
    unread=frozenset(("bibliography", "publicationMeta", "creators", "affiliationGroup", "keywordGroup", "fundingInfo",
                      "supportingInformation")),
)  # fmt: skip

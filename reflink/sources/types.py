"""The types of works: Crossref's vocabulary, and how the vocabularies of other sources map to it.

A record of a type in ``UNCITED`` is no target of references: it is a whole journal, volume or series, a part of an article
without a text of its own, a review of a manuscript, or a grant. Every type that this page does not know becomes ``other``.
"""

from __future__ import annotations

import re
from typing import Any, Final

#: Types of works.
CITED: Final = frozenset(
    ("journal-article", "proceedings-article", "book", "monograph", "edited-book", "reference-book", "proceedings",
     "book-chapter", "book-section", "book-part", "book-track", "reference-entry", "posted-content", "dissertation", "report",
     "standard", "dataset", "database", "other")
)  # fmt: skip
#: Crossref's types of records that are not works.
UNCITED: Final = frozenset(
    ("journal", "journal-volume", "journal-issue", "component", "report-component", "peer-review", "grant", "book-series",
     "book-set", "proceedings-series", "report-series", "standard-series")
)  # fmt: skip
#: Types of whole books, which are cited by their editors if they have no authors.
BOOKS: Final = frozenset(("book", "monograph", "edited-book", "reference-book", "proceedings"))


def _table(*rows: tuple[str, str]) -> dict[str, str]:
    return {word: kind for kind, words in rows for word in words.split()}


_OPENALEX: Final = _table(
    ("journal-article", "article review letter editorial erratum retraction case-report clinical-trial"),
    ("proceedings-article", "conference-paper conference-abstract"),
    ("posted-content", "preprint"),
    ("component", "paratext supplementary-materials libguides"),
)
_DATACITE: Final = _table(
    ("journal-article", "journalarticle article datapaper researcharticle originalarticle reviewarticle journalpaper"),
    ("proceedings-article", "conferencepaper conferenceitem conferencecontribution proceedingspaper"),
    ("proceedings", "conferenceproceeding conferenceproceedings proceedings"),
    ("book", "book monograph monographie"),
    ("book-chapter", "bookchapter bookpart booksection chapter"),
    ("dissertation", "dissertation thesis phdthesis doctoralthesis mastersthesis masterthesis bachelorthesis"),
    ("posted-content", "preprint workingpaper eprint"),
    ("report", "report technicalreport projectdeliverable"),
    ("standard", "standard"),
    ("peer-review", "peerreview"),
    ("journal", "journal"),
)
_S2: Final = _table(
    ("proceedings-article", "Conference"),
    ("book", "Book"),
    ("book-chapter", "BookSection"),
    ("dataset", "Dataset"),
    ("journal-article", "JournalArticle Review CaseReport Editorial LettersAndComments News Study ClinicalTrial MetaAnalysis"),
)
_CSL: Final = _table(
    ("journal-article", "article-journal article-magazine review review-book"),
    ("proceedings-article", "paper-conference"),
    ("book-chapter", "chapter"),
    ("dissertation", "thesis"),
    ("posted-content", "article"),
    ("reference-entry", "entry entry-dictionary entry-encyclopedia"),
)
_BIBTEX: Final = _table(
    ("journal-article", "article suppperiodical"),
    ("proceedings-article", "inproceedings conference"),
    ("proceedings", "proceedings mvproceedings"),
    ("book", "book mvbook"),
    ("edited-book", "collection mvcollection"),
    ("book-chapter", "incollection inbook bookinbook suppbook suppcollection"),
    ("reference-book", "reference mvreference"),
    ("reference-entry", "inreference"),
    ("dissertation", "phdthesis mastersthesis thesis"),
    ("report", "techreport report manual"),
    ("dataset", "dataset"),
)
_RIS: Final = _table(
    ("journal-article", "JOUR EJOUR MGZN ABST INPR"),
    ("proceedings-article", "CPAPER"),
    ("proceedings", "CONF"),
    ("book", "BOOK EBOOK SER"),
    ("edited-book", "EDBOOK"),
    ("book-chapter", "CHAP ECHAP"),
    ("reference-entry", "ENCYC DICT"),
    ("dissertation", "THES"),
    ("report", "RPRT GOVDOC"),
    ("standard", "STAND"),
    ("dataset", "DATA"),
    ("journal", "JFULL"),
)
_TABLES: Final = {"openalex": _OPENALEX, "s2": _S2, "csl": _CSL, "bibtex": _BIBTEX, "ris": _RIS, "crossref": {}}
_KNOWN: Final = CITED | UNCITED
_LETTERS: Final = re.compile(r"[^a-z]")
_MAX: Final = 100


def work_type(source: str, value: Any) -> str | None:
    """Return Crossref's type for a source's own, None if it is missing. Crossref's own words are known in every source."""
    if type(value) is not str or not value:
        return None
    return _TABLES[source].get(value) or (value if value in _KNOWN else "other")


def datacite_type(general: Any, own: Any, ris: Any = None) -> str | None:
    """Return the type of a DataCite record, None if it is no text.

    ``general``: ``resourceTypeGeneral``. If it is missing or ``Text``, the free text ``resourceType`` decides, then ``ris``, of
    which RPRT stands for any text.
    """
    if type(general) is str and general != "Text":
        return _DATACITE.get(_letters(general))
    kind = _DATACITE.get(_letters(own)) if type(own) is str else None
    if kind is None and type(ris) is str and ris != "RPRT":
        kind = _RIS.get(ris)
    return kind or ("other" if general == "Text" else None)


def _letters(text: str) -> str:
    return _LETTERS.sub("", text[:_MAX].lower())

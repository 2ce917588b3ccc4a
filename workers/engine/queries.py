"""A reference as a query: BM25 over the words of its fields, or of its text if it has no fields."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from reflink.entities import Reference
from reflink.folding import folded_words
from workers.engine.documents import MAX_LETTERS

#: Maximum distinct words of a query. Longer citations are abstracts, or several citations in one.
_MAX_WORDS: Final = 80
#: Minimum share of the words of a reference with a title that a hit has, so that fewer documents are scored. A wide search has
#: no minimum: the fields may be wrong, and the text may have words of other works.
_MIN_SHARE: Final = "30%"


def query(reference: Reference, size: int, *, wide: bool = False) -> dict[str, Any] | None:
    """Return the body of a search for the ``size`` best works; None for a reference without words.

    The words are those of the fields if there is a title, else, and with ``wide``, also those of the text.
    """
    found = _words(reference, wide=wide)
    if not found:
        return None
    match: dict[str, Any] = {"query": " ".join(found)}
    if reference.title and not wide:
        match["minimum_should_match"] = _MIN_SHARE
    return {
        "size": size,
        "query": {"match": {"words": match}},
        "sort": [{"_score": "desc"}, {"id": "asc"}],
        "track_total_hits": False,
        "_source": False,
    }


def _words(reference: Reference, *, wide: bool) -> list[str]:
    """Return the distinct words to search by, the words of the title first."""
    fields = (
        reference.title or "",
        *reference.last_names,
        reference.venue or "",
        *(str(each) for each in (reference.year, reference.volume, reference.first_page) if each),
    )
    text = reference.raw_query if wide or not reference.title else ""
    distinct = dict.fromkeys(folded_words(" ".join((*fields, text))))
    return list(islice((word for word in distinct if len(word) <= MAX_LETTERS), _MAX_WORDS))

"""A work as a document of the index.

1. The analyser of the engine only splits text at spaces: folding happens here, for works and references alike, so that the
   result does not depend on the engine and its version.
2. Nothing but the id comes back from the engine: records are local. So no source and no positions are stored.
3. A work that leaves the catalog becomes a document without text. An older write of it, delayed by whatever cause, has a lower
   version and is refused as long as the document exists; engines forget the version of a deleted document after a minute.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from reflink.catalog.titles import MAX_TRANSLATIONS
from reflink.entities import Work
from reflink.folding import folded_words

#: Id of the document with the watermark; no work has this id.
WATERMARK: Final = "~watermark"
#: Beginning of the ids of marks: documents, one in each shard, that show how far a copy of the shard is.
MARK: Final = "~mark"
#: Maximum words of a field: the rest of a broken record does not make it more findable.
_MAX_WORDS: Final = 100
_MAX_NAMES: Final = 30
#: Maximum letters of a word; longer ones are broken records. So a document has at most 20 KB.
MAX_LETTERS: Final = 64

#: ``id`` breaks ties and names the hit. ``words``: the words of titles, names, venue, year, volume and first page, as a
#: citation has them.
MAPPINGS: Final[dict[str, Any]] = {
    "dynamic": False,
    "_source": {"includes": ["watermark"]},
    "properties": {
        "id": {"type": "keyword", "index": False},
        "mark": {"type": "boolean", "doc_values": False},
        "words": {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
    },
}


def document(work: Work) -> dict[str, Any]:
    """Return the document of a work."""
    titles = " ".join((work.title or "", *islice(work.translated_titles, MAX_TRANSLATIONS)))
    names = " ".join((*work.authors[:_MAX_NAMES], work.venue or "", *work.venue_abbreviations))
    numbers = " ".join(str(each) for each in (work.year, work.volume, work.fpage) if each)
    return {"id": work.id, "words": " ".join(word for text in (titles, names, numbers) for word in _words(text))}


def mark(offset: int) -> dict[str, Any]:
    """Return the document of a mark: a copy with it has all records of the topic before ``offset``."""
    return {"id": str(offset), "mark": True}


def gone(work_id: str) -> dict[str, Any]:
    """Return the document of a work that has left the catalog."""
    return {"id": work_id}


def _words(text: str) -> list[str]:
    return [word for word in folded_words(text)[:_MAX_WORDS] if len(word) <= MAX_LETTERS]

"""Recognition of the fields of citations that their publisher did not tag; only fields with a high probability are returned.

A tagger (`reflink.recognition.tagger`) labels the tokens of the citation; `reflink.recognition.reading` derives fields and
their probabilities from the labels. `reflink.recognition.training` describes the training of the weights.
"""

from __future__ import annotations

import re
from typing import Any, Final

from reflink.entities import Inferred
from reflink.recognition.reading import read
from reflink.recognition.tagger import shipped

__all__ = ["SURE", "recognise"]

#: Minimum probability of a field that is returned. Chosen on publishers (fold 1) that were left out of the tagger's training:
#: precision 0.98 of titles and venues, 0.99 of the others (benchmarks.parsing.recognition prints it by threshold).
SURE: Final[dict[str, float]] = {
    "title": 0.95, "last_names": 0.9, "venue": 0.95, "year": 0.95, "volume": 0.95, "issue": 0.98, "first_page": 0.95,
    "last_page": 0.95,
}  # fmt: skip
#: Maximum characters of a citation; a longer text is not a citation.
MAX_TEXT: Final = 10_000
#: Minimum number of fields of a citation, not counting _SMALL: any prose may contain a year, or two numbers with a dash.
FEWEST: Final = 2
_SMALL: Final = frozenset(("issue", "last_page"))

_FIRST: Final = re.compile(r"(?:^|[\s;,.])\(?a\)\s")
_SECOND: Final = re.compile(r"[\s;,.]\(?b\)\s")


def recognise(text: str) -> Inferred | None:
    """Return the fields of a citation as written without identifiers (`reflink.entities.Reference.raw_query`).

    Returns None if too few fields reach their threshold in SURE, or if the text cites several works ("a) …; b) …"). Every value
    occurs in the text. Time is linear in the text's length. Raises ModelNotFound if the weights that come with the package are
    damaged.
    """
    if len(text) > MAX_TEXT or ((first := _FIRST.search(text)) and _SECOND.search(text, first.end())):
        return None
    reading = read(text, shipped())
    if reading.several:
        return None
    fields: dict[str, Any] = {name: value for name, value in reading.fields.items() if reading.sure[name] >= SURE[name]}
    if "first_page" not in fields:
        fields.pop("last_page", None)
    return Inferred(**fields) if len(fields.keys() - _SMALL) >= FEWEST else None

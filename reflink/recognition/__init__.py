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
from reflink.recognition.tagging import Tagger

__all__ = ["SURE", "recognise"]

#: Minimum probability of a field that is returned. Chosen on fold 1 of three sets (publishers, AnyStyle, grobid) that the
#: taggers had not seen: 0.5, or the lowest at which the precision over all three is 0.97 (titles 0.968). The command
#: python -m benchmarks.parsing.crossvalidation FOLDER --choose prints precision and recall by threshold.
SURE: Final[dict[str, float]] = {
    "title": 0.8, "last_names": 0.6, "venue": 0.75, "year": 0.5, "volume": 0.5, "issue": 0.65, "first_page": 0.5,
    "last_page": 0.5,
}  # fmt: skip
#: Maximum characters of a citation; a longer text is not a citation.
MAX_TEXT: Final = 10_000
#: Minimum probability of one of a citation's fields: prose has none of this probability as a rule.
SUREST: Final = 0.95
#: Minimum number of fields of a citation, not counting _SMALL: any prose may contain a year, or two numbers with a dash.
FEWEST: Final = 2
_SMALL: Final = frozenset(("issue", "last_page"))

_FIRST: Final = re.compile(r"(?:^|[\s;,.])\(?a\)\s")
_SECOND: Final = re.compile(r"[\s;,.]\(?b\)\s")


def recognise(text: str, tagger: Tagger | None = None) -> Inferred | None:
    """Return the fields of a citation as written without identifiers (`reflink.entities.Reference.raw_query`).

    Returns None if too few fields reach their threshold in SURE, or if the text cites several works ("a) …; b) …"). Every value
    occurs in the text. Time is linear in the text's length. ``tagger``: the one that comes with the package by default. Raises
    ModelNotFound if its weights are damaged.
    """
    if len(text) > MAX_TEXT or ((first := _FIRST.search(text)) and _SECOND.search(text, first.end())):
        return None
    reading = read(text, tagger or shipped())
    if reading.several:
        return None
    fields: dict[str, Any] = {name: value for name, value in reading.fields.items() if reading.sure[name] >= SURE[name]}
    if "first_page" not in fields:
        fields.pop("last_page", None)
    main = fields.keys() - _SMALL
    if len(main) < FEWEST or max(reading.sure[name] for name in main) < SUREST:
        return None
    return Inferred(**fields)

"""Fields of citations that their publisher did not tag, given only where they are sure.

A tagger (`reflink.recognition.tagger`) labels the words of the citation; `reflink.recognition.reading` makes fields of them and
says how sure each is. What the weights were learnt from and how: `reflink.recognition.training`.
"""

from __future__ import annotations

import re
from typing import Any, Final

from reflink.entities import Inferred
from reflink.recognition.reading import read
from reflink.recognition.tagger import shipped

__all__ = ["SURE", "recognise"]

#: A field is given when its probability is at least this. Chosen on publishers (fold 1) that a tagger trained without them
#: had not seen: precision 0.98 of titles and venues, 0.99 of the others (benchmarks.recognition prints it by threshold).
SURE: Final[dict[str, float]] = {
    "title": 0.95, "last_names": 0.9, "venue": 0.95, "year": 0.95, "volume": 0.95, "issue": 0.98, "first_page": 0.95,
    "last_page": 0.95,
}  # fmt: skip
#: Longer texts are no citations, in characters.
MAX_TEXT: Final = 10_000
#: A year alone is in any prose, and so are two numbers with a dash: this many fields make a citation, these not counted.
FEWEST: Final = 2
_SMALL: Final = frozenset(("issue", "last_page"))

_FIRST: Final = re.compile(r"(?:^|[\s;,.])\(?a\)\s")
_SECOND: Final = re.compile(r"[\s;,.]\(?b\)\s")


def recognise(text: str) -> Inferred | None:
    """The fields of a citation as written, identifiers removed (`reflink.entities.Reference.raw_query`); None if none is sure.

    Every value occurs in the text. Works that stand together in one text ("a) …; b) …") give nothing. Time is linear in the
    text's length. Raises ModelNotFound when the weights that come with the package are damaged.
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

"""What a reference has: a title, names without a title, or neither. Figures are given for each.

Tagged fields decide. A mere text is classified by its letters: a citation that is recognised as journal, year, volume and page
has neither. Another one has a title if, beside names, it has a lower-case word of at least four letters or three words that are
not abbreviated, since names and abbreviated journals have capitals and full stops.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from reflink.blocking.untitled import read
from reflink.entities import Reference

Contents = Literal["title", "names", "neither"]
#: The kinds of content, in the order of tables.
CONTENTS: Final[tuple[Contents, ...]] = ("title", "names", "neither")

_WORD: Final = re.compile(r"(?<![\w@./:-])[^\W\d_]{4,}(?![\w@/])")
#: Lower-case words that are part of no title.
_OTHER: Final = frozenset(
    "accessed ahead article author available discussion epub erratum from issue online pages part press print published quiz "
    "reply review suppl supplement volume with".split()
)
#: Number of words with capitals, not abbreviated and not of a name, from which a text has a title.
_CAPITALISED: Final = 3
#: "Huskisson EC," and "H. Renata": names and initials. A short journal ends so, too, but before a date ("Respir J. 2020 Sep").
_NAME: Final = re.compile(r"[^\W\d_][\w'’-]+,? (?:[A-Z]\.?[ -]?){1,4}(?=[,.;:&(]|et al|and |$)(?!\.?,? ?\(?\d{4}(?:;| [A-Z]))")
_INITIALS_FIRST: Final = re.compile(r"(?:^|[,;&] ?|and )(?:[A-Z]\.[ -]?){1,4}[^\W\d_][\w'’-]+")
_ET_AL: Final = re.compile(r"\bet al\b", re.IGNORECASE)


def contents_of(reference: Reference) -> Contents:
    """Return what the reference has."""
    if reference.title or reference.chapter_title:
        return "title"
    if reference.last_names or reference.collab or reference.collectives:
        return "names"
    text = reference.raw_query
    if not text or read(text):
        return "neither"
    others = _INITIALS_FIRST.sub(" ", _NAME.sub(" ", _ET_AL.sub(" ", text)))
    words = list(_WORD.finditer(others))
    lower = (found[0] for found in words if found[0].islower() and found[0] not in _OTHER)
    if any(lower) or sum(others[found.end() : found.end() + 1] != "." for found in words) >= _CAPITALISED:
        return "title"
    return "neither" if others == text else "names"

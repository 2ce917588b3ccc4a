"""Recognise lists of persons at the beginning of a text by their form: "X. Wang, Y.-L. Chen and P. de la Cruz"."""

from __future__ import annotations

import re
from typing import Final

_UPPER: Final = r"[^\W\d_a-zß-öø-ÿāăąćčďđēėęěğģīįıķļłńņňōőœřśşšťţūůűųźżž]"
_INITIALS: Final = rf"(?:{_UPPER}\.(?:\s?[-‐‑–]\s?|\s)?){{1,4}}"
_LETTERS: Final = rf"{_UPPER}{{1,3}}(?:[-‐]\w)?(?![^\W\d_])\.?"
_SURNAME: Final = (
    r"(?:(?:[Vv]an|[Vv]on|de|der|den|del|della|di|[Dd]a|dos|du|la|[Ll]e|[Ee]l|al|ter|ten|bin|zu|'t)\s){0,3}"
    rf"{_UPPER}[\w'’‐-]{{1,30}}(?:\s{_UPPER}[\w'’‐-]{{2,30}})?"
)
_SUFFIX: Final = r"(?:,?\s(?:Jr|Sr|II|III)\b\.?)?"
#: A journal that looks like a person: "J. Am. Chem. Soc.", "J. Phys. A", "Z. Phys. 12", "J. Power Sources 392".
_JOURNAL: Final = rf"[JZ]\.\s?(?:{_UPPER}\w{{1,8}}\.\s?(?:\d|{_UPPER}\w*\.|{_UPPER}\b)|[^\W\d][^\W\d\s]*(?:\s[^\W\d]+)?\s?\d)"
#: "X. Y. Wang"; "Wang, X. Y."; "Wang XY".
_PERSON: Final = (
    rf"(?!{_JOURNAL})(?:{_INITIALS}\s?{_SURNAME}{_SUFFIX}"
    rf"|{_SURNAME}{_SUFFIX}(?:,\s?|\s)(?:{_INITIALS}(?![^\W\d_])|{_LETTERS}){_SUFFIX})"
)
_JOIN: Final = r"(?:\s?[,;]\s?(?:and\s|&\s?|und\s|et\s)?|\s(?:and|&|und|et|y|e)\s)"
_OTHERS: Final = r"(?:,?\s?(?:et\.? al\.?|and others)(?:\s\[[^\[\]]{1,30}\])?)?"
_PERSONS: Final = re.compile(rf"{_PERSON}(?:{_JOIN}{_PERSON}){{0,200}}+{_OTHERS}")
#: "John Smith, The Title": a given name in full, and a comma before the title.
_IN_FULL: Final = re.compile(
    rf"{_UPPER}[a-zß-öø-ÿ]{{2,20}}(?:\s{_UPPER}\.){{0,2}}\s{_SURNAME}(?:\sand\s{_UPPER}[a-z]{{2,20}}\s{_SURNAME})?,(?=\s(?:[“‘\"']|\S+\s\S+\s\S))"
)
#: Shows that the persons before it are editors or the people of a place.
_EDITORS: Final = re.compile(r"(?i)[\s.,]{0,3}[(\[]?\s?(?:eds?|editors?|hrsg|hg|dir|coords?|orgs?|translat\w*|trans|transl)\b")


def persons(text: str, start: int = 0, *, in_full: bool = False) -> int:
    """Return the end of the list of persons at ``start``, or ``start`` if there is none or if they are editors.

    ``in_full``: also accept a person whose given name is written out, before a comma.
    """
    found = _PERSONS.match(text, start) or (_IN_FULL.match(text, start) if in_full else None)
    return start if found is None or _EDITORS.match(text, found.end()) else found.end()

"""Split the list of authors off the front of a citation: "Smith J., Jones K., Angew. Chem. Int. Ed. 2004, 43, 1".

Family name first ("Smith J, Jones KA", "Smith, J.; Jones, K. A.") or initials first ("A. Smith, B. C. Jones and D. Lee"); one
order in a list. A list may end with "et al.", and with the year: "(1998)".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

#: Maximum number of authors read, of characters of a citation, and of ends that are tried.
_MAX_AUTHORS: Final = 60
_MAX_TEXT: Final = 1000
_MAX_ENDS: Final = 4

#: A letter that is not a small one; scripts without case have no other letters.
_CAPITAL: Final = rf"[^\W\d_{''.join(char for char in map(chr, range(0x2000)) if char.islower())}]"
_PARTICLE: Final = r"(?:[Vv](?:an|on)|[Dd](?:er?|en|el|ella|i|a|os|u)|[Ll][ea]|[EeAa]l|[Tt]e[rn]|[Ss]t\.?)"
_WORD: Final = rf"(?:[dDO]['’])?{_CAPITAL}[^\W\d_]+(?:['’‐–-][^\W\d_]+){{0,3}}"
_FAMILY: Final = rf"(?P<family>(?:{_PARTICLE}[\s-]+){{0,3}}{_WORD}(?:\s{_CAPITAL}[^\W\d_]{{2,}}(?:-[^\W\d_]+)?)?)"
_DOTTED: Final = rf"{_CAPITAL}\.(?:[\s~]?[-‐–]?{_CAPITAL}\.){{0,4}}"
_UNDOTTED: Final = rf"{_CAPITAL}(?:[\s-]?{_CAPITAL}){{0,3}}(?![^\W_]|['’])\.?"
_INITIALS: Final = rf"(?:{_DOTTED}|{_UNDOTTED})"
_ET_AL: Final = r"[\s,]*\b(?:et\.?\s*al|and others|and coworkers|and co-workers)\b\.?(?:\s?[(\[][^()\[\]]{0,40}[)\]])?"
_AND: Final = r"(?:(?:and|und|et|y)\s(?:and\s)?|&\s?|…\s?)"
_SEPARATOR: Final = re.compile(rf"(?:\s*[,;]\s*{_AND}?|\s+{_AND}|\.?\s*[,;]\s*)", re.IGNORECASE)
_FAMILY_FIRST: Final = re.compile(rf"{_FAMILY}(?:,?\s+)(?P<initials>{_INITIALS})(?:,?\s(?:Jr|Sr|II|III)\b\.?)?")
_INITIALS_FIRST: Final = re.compile(rf"(?P<initials>{_INITIALS})[\s~]?{_FAMILY}")
_ALONE: Final = re.compile(rf"{_FAMILY}(?={_ET_AL})")
_AFTER: Final = re.compile(rf"(?P<others>{_ET_AL})?(?P<end>\s*[,;:.]+\s*|\s+|(?=\())")
_YEAR: Final = re.compile(r"\(?(?P<year>(?:1[6-9]|20)\d\d)[a-z]?\)?[\s.,:;]+")
_MARKER: Final = re.compile(r"\s*(?:\[?\d{1,3}[\]).]\s+|[(\[]?[a-z]\)\s*)?")
#: The last initial begins the journal: "Jones, K. J. Am. Chem. Soc." is by Jones, K.
_JOURNAL_INITIAL: Final = re.compile(r"\S\s+(?P<journal>J\.?)$")
_ABBREVIATED: Final = re.compile(r"\s*[A-Z][a-z]{1,9}\.(?!\w)")


class Authored(NamedTuple):
    """The last names at the front of a citation, the year that follows them, and the rest of the citation."""

    last_names: tuple[str, ...]
    year: int | None
    rest: str


@lru_cache(maxsize=1 << 12)
def splits(text: str) -> tuple[Authored, ...]:
    """Return the ways to split the authors off, the most probable first.

    Empty if the text does not begin with authors or is longer than a citation.
    """
    if len(text) > _MAX_TEXT:
        return ()
    start = _MARKER.match(text)
    at = start.end() if start else 0
    for pattern in (_FAMILY_FIRST, _INITIALS_FIRST, _ALONE):
        if pattern.match(text, at):
            return tuple(_ends(text, at, pattern))
    return ()


def _ends(text: str, at: int, pattern: re.Pattern[str]) -> Iterator[Authored]:
    names: list[str] = []
    ends: list[tuple[int, int, bool]] = []  # where the rest begins, number of names, whether no comma precedes
    while len(names) < _MAX_AUTHORS and (person := pattern.match(text, at)):
        names.append(person["family"])
        after = _AFTER.match(text, person.end())
        if after is not None:
            ends.append((after.end(), len(names), not (after["others"] or set(after["end"]) & {",", ";", ":"})))
        shared = _JOURNAL_INITIAL.search(person["initials"]) if pattern is _FAMILY_FIRST else None
        if shared and _ABBREVIATED.match(text, person.end()):
            ends.append((person.start("initials") + shared.start("journal"), len(names), False))
        separator = _SEPARATOR.match(text, person.end())
        if after is not None and after["others"]:
            break
        if separator is not None:
            at = separator.end()
        elif pattern is _FAMILY_FIRST and after is not None and person["initials"].count(".") > 1:
            at = after.end()  # "Ravenhall D. G. Pethick C. J."
        else:
            break
    # With initials first, a full stop belongs to an abbreviation: "B. Jones, J. Phys. Chem."
    ends.reverse()
    if pattern is _INITIALS_FIRST:
        ends.sort(key=lambda end: end[2])
    for begin, number, _ in ends[:_MAX_ENDS]:
        year = _YEAR.match(text, begin)
        rest = text[year.end() if year else begin :]
        yield Authored(tuple(names[:number]), int(year["year"]) if year else None, rest)

"""Build the name fields of a reference and split names that the markup does not split."""

from __future__ import annotations

import re
from typing import Any, Final

from reflink.jats.scanner.vocabulary import AUTHORS, EDITORS

_SURNAME_FIRST: Final = re.compile(r"\s*([^\s,][^,]*),(.*)", re.DOTALL)
_INITIALS: Final = re.compile(r"(?:[A-Z]\.?-?){1,4}")


def named(people: list[tuple[int, int, str, str]]) -> dict[str, Any]:
    """Return the name fields of a reference from (group, name is unsplit, last or whole name, given name) of each person."""
    authors: list[tuple[str, str]] = []
    editors: list[str] = []
    for group, whole, last, given in people:
        name = split(last) if whole else (last, given)
        if group == AUTHORS:
            authors.append(name)
        elif group == EDITORS:
            editors.append(name[0])
    fields: dict[str, Any] = {}
    if authors:
        fields["last_names"], given_names = zip(*authors, strict=True)
        if any(given_names):
            fields["given_names"] = given_names
    if editors:
        fields["editors"] = editors
    return fields


def split(name: str) -> tuple[str, str]:
    """Split a name written as one string, "Wang, X.", "Wang X" or "Xiao Wang", into last and given name."""
    if found := _SURNAME_FIRST.match(name):
        return found[1].strip(), found[2].strip()
    words = name.strip(" ,").split()
    initials = [word for word in words if _INITIALS.fullmatch(word)]
    if not words or len(initials) == len(words):
        return name, ""
    if initials:
        return " ".join(word for word in words if word not in initials), " ".join(initials)
    return words[-1], " ".join(words[:-1])

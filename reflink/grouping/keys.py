"""The blocking keys of records of works: two records of one article share at least one, records of two articles rarely do."""

from __future__ import annotations

from itertools import islice
from typing import Final

from reflink.blocking.keys import work_keys
from reflink.entities import Work

#: Version of the rules for keys. Stores of keys must be rebuilt if it changes.
RULES: Final = 1
#: Number of records with one key above which the key does not tell articles apart and should be ignored.
MAX_BEARERS: Final = 20
#: Maximum number of titles in other languages that make keys.
MAX_TITLES: Final = 3

#: Families of `reflink.blocking.keys`: the title; the first author with volume and page, and with year and page. For a title
#: that is too short: the first author with the title, and the year with the title.
_FAMILIES: Final = ("t:", "a:", "q:")
_TITLE: Final = "t:"
_SHORT_TITLE: Final = ("n:", "d:")


def keys(work: Work) -> tuple[str, ...]:
    """Return the distinct blocking keys of a record, three on average; empty without a title, since it is not compared then."""
    if not work.title:
        return ()
    every = work_keys(work)
    found = [key for key in every if key.startswith(_FAMILIES)]
    if not any(key.startswith(_TITLE) for key in found):
        found += [key for key in every if key.startswith(_SHORT_TITLE)]
    for title in islice(work.translated_titles, MAX_TITLES):
        found += [key for key in work_keys(Work.made({"id": "", "title": title})) if key.startswith(_TITLE)]
    return tuple(dict.fromkeys(found))

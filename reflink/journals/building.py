"""Build a table of journals from lists and from the works of a catalog.

A work with several names of its journal, or with its ISSN, states that they belong together. Works contain errors, so one
record is not believed: a name joins the name with which most of its records have it, and a title joins an abbreviation only if
most records of the abbreviation have that title too or if the words of the two match. The result does not depend on the order
of the works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations

from reflink.entities import Work
from reflink.journals.names import abbreviates, issn_key, name_key, other_keys
from reflink.journals.table import Journal, Journals


class JournalsBuilder:
    """Collect journals of lists and names in works, then build a table."""

    def __init__(self) -> None:
        self._listed: list[Journal] = []
        self._together: dict[str, Counter[str]] = {}  # key → number of works with each other key
        self._works: Counter[str] = Counter()  # key → number of works with it and another key
        self._titles: set[str] = set()
        self._written: dict[str, str] = {}  # key → its smallest spelling

    def add_list(self, journals: Iterable[Journal]) -> None:
        """Add the journals of a list."""
        self._listed += journals

    def add(self, work: Work) -> None:
        """Add what a work states about its journal."""
        fields = work.__dict__
        venue, abbreviations, issns = fields["venue"], fields["venue_abbreviations"], fields["issns"]
        if not abbreviations and not (venue and issns):
            return
        keys: dict[str, None] = {}
        for name in (venue, *abbreviations) if venue else abbreviations:
            key = name_key(name)
            if key:
                keys[key] = None
                if key not in self._written or name < self._written[key]:
                    self._written[key] = name
        if venue:
            self._titles.add(name_key(venue))
        keys |= dict.fromkeys(each for issn in issns if (each := issn_key(issn)))
        if len(keys) < 2:
            return
        self._works.update(list(keys))
        for one, other in permutations(keys, 2):
            self._together.setdefault(one, Counter())[other] += 1

    def build(self) -> Journals:
        """Return the table: the journals of the lists first, completed by the names in works, then the other ones."""
        journals = _merged(self._listed)
        numbers: dict[str, set[int]] = {}
        for number, journal in enumerate(journals):
            for key in _keys(journal):
                numbers.setdefault(key, set()).add(number)
        for keys in self._groups():
            known = {number for key in keys for number in numbers.get(key, ())}
            new = sorted(key for key in keys if key not in numbers)
            names = tuple(sorted(self._written[key] for key in new if key in self._written))
            issns = tuple(key.removeprefix("issn:") for key in new if key not in self._written)
            if not known:
                journals.append(Journal(names=names, issns=issns))
            elif len(known) == 1 and new:
                (number,) = known
                journals[number] = _joined(journals[number], Journal(names=names, issns=issns))
        return Journals.of(journals)

    def _groups(self) -> list[list[str]]:
        """Return the keys that belong to one journal, group by group."""
        first = {key: key for key in self._together}

        def root(key: str) -> str:
            while first[key] != key:
                first[key] = first[first[key]]
                key = first[key]
            return key

        partners = {key: self._partner(key) for key in self._together}
        for key, partner in partners.items():
            if partner is not None and self._is_sure(key, partner, partners[partner]):
                low, high = sorted((root(key), root(partner)))
                first[high] = low
        groups: dict[str, list[str]] = {}
        for key in sorted(first):
            groups.setdefault(root(key), []).append(key)
        return [keys for keys in groups.values() if len(keys) > 1]

    def _partner(self, key: str) -> str | None:
        """Return the key that most of a key's works have too, if more than half of them do."""
        count, partner = min((-count, other) for other, count in self._together[key].items())
        return partner if -count * 2 > self._works[key] else None

    def _is_sure(self, key: str, partner: str, back: str | None) -> bool:
        is_title_of_abbreviation = key in self._titles and partner not in self._titles and not partner.startswith("issn:")
        if not is_title_of_abbreviation or back == key:
            return True
        return any(abbreviates(partner, each) for each in (key, *other_keys(self._written[key])))


def _merged(listed: Iterable[Journal]) -> list[Journal]:
    """Return the journals; those that share an ISSN, or have none and the same first name, are one."""
    merged: list[Journal] = []
    at: dict[str, int] = {}
    for journal in listed:
        keys = [key for issn in journal.issns if (key := issn_key(issn))] or [name_key(name) for name in journal.names[:1]]
        number = next((at[key] for key in keys if key in at), len(merged))
        if number == len(merged):
            merged.append(journal)
        else:
            merged[number] = _joined(merged[number], journal)
        for key in keys:
            at.setdefault(key, number)
    return merged


def _joined(journal: Journal, more: Journal) -> Journal:
    return Journal(
        names=tuple(dict.fromkeys((*journal.names, *more.names))),
        issns=tuple(dict.fromkeys((*journal.issns, *more.issns))),
        former=tuple(dict.fromkeys((*journal.former, *more.former))),
    )


def _keys(journal: Journal) -> list[str]:
    return [key for key in (*map(name_key, journal.names), *map(issn_key, journal.issns)) if key]

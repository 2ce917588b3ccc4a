"""Build a table of journals from lists and from the works of a catalog.

The names of the venue of a work, its ISSNs and the code in its DOI (`names.code_key`) belong together. Works contain errors, so
two names join only if most works of one support it:

- A name joins the code that most of its works with a DOI have, if its words are like those of the code's journal and nearly all
  works with the code have similar names: the publisher then gives the code to one journal. So the spellings of a journal in
  different bibliographies come together.
- Other names join the name that most of their works have too; a title joins an abbreviation only if most works of the
  abbreviation have that title too or if the words of the two match.

The result does not depend on the order of the works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final

from reflink.entities import Work
from reflink.journals.names import abbreviates, are_alike, code_key, issn_key, name_key, other_keys
from reflink.journals.table import Journal, Journals

#: Of the names in the works of a code: minimum number, minimum share of the most frequent one (one code is that of all "Annual
#: Review of …"), and minimum share of the names that are like it.
_NAMED: Final = 5
_LEADING: Final = 0.25
_ALIKE: Final = 0.9
#: Minimum works of a name that have the code.
_CODED: Final = 2
#: Maximum names and ISSNs read of a work. More come from broken records.
_MAX_KEYS: Final = 16


class _Sets:
    """Disjoint sets of keys. The first key of a set, in their order, represents it."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def first(self, key: str) -> str:
        """Return the first key of the set of ``key``."""
        above = self._above
        while (next_ := above.setdefault(key, key)) != key:
            above[key] = above.setdefault(next_, next_)
            key = next_
        return key

    def join(self, one: str, other: str) -> None:
        """Make the sets of two keys one set."""
        low, high = sorted((self.first(one), self.first(other)))
        self._above[high] = low


class JournalsBuilder:
    """Collect journals of lists and names in works, then build a table."""

    def __init__(self) -> None:
        self._listed: list[Journal] = []
        self._together: dict[str, Counter[str]] = {}  # name or ISSN → number of works with each other name or ISSN
        self._names_of: dict[str, Counter[str]] = {}  # code → number of works with each name
        self._codes_of: dict[str, Counter[str]] = {}  # name → number of works with each code
        self._works: Counter[str] = Counter()  # name or ISSN → number of works
        self._with_doi: Counter[str] = Counter()  # name → number of works with a DOI
        self._titles: set[str] = set()
        self._written: dict[str, str] = {}  # key of a name → its smallest spelling

    def add_list(self, journals: Iterable[Journal]) -> None:
        """Add the journals of a list."""
        self._listed += journals

    def add(self, work: Work) -> None:
        """Add the names, the ISSNs and the code of a work's journal."""
        fields = work.__dict__
        venue, abbreviations, issns = fields["venue"], fields["venue_abbreviations"], fields["issns"]
        keys: dict[str, None] = {}
        for name in (*((venue,) if venue else ()), *abbreviations[:_MAX_KEYS]):
            key = name_key(name)
            if key:
                keys[key] = None
                if key not in self._written or name < self._written[key]:
                    self._written[key] = name
        doi = fields["ids"].doi if venue else None
        if doi:
            self._with_doi.update(list(keys))
        if code := code_key(doi):
            for key in keys:
                self._names_of.setdefault(code, Counter())[key] += 1
                self._codes_of.setdefault(key, Counter())[code] += 1
        if venue:
            self._titles.add(name_key(venue))
        keys |= dict.fromkeys(each for issn in issns[:_MAX_KEYS] if (each := issn_key(issn)))
        self._works.update(list(keys))
        for one, other in permutations(keys, 2):
            self._together.setdefault(one, Counter())[other] += 1

    def build(self) -> Journals:
        """Return the table: the journals of the lists first, completed by the names in works, then the other ones."""
        journals = _merged(self._listed)
        numbers: dict[str, set[int]] = {}
        for number, journal in enumerate(journals):
            for key in journal.lookup_keys():
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
        """Return the names and ISSNs that belong to one journal, group by group."""
        name_of = {code: name for code, names in self._names_of.items() if (name := _only(names))}
        sets = _Sets()
        for key in self._works:
            partner = self._code(key, name_of) or self._partner(key)
            if partner is not None and (partner in name_of or self._is_sure(key, partner)):
                sets.join(key, partner)
        groups: dict[str, list[str]] = {}
        for key in sorted(self._works):
            groups.setdefault(sets.first(key), []).append(key)
        return [keys for keys in groups.values() if len(keys) > 1]

    def _code(self, key: str, name_of: dict[str, str]) -> str | None:
        """Return the code of most of a name's works with a DOI, if it is that of one journal, which has such a name."""
        codes = self._codes_of.get(key, Counter())
        code = _most(codes, self._with_doi[key])
        if code not in name_of or codes[code] < _CODED or not are_alike(key, name_of[code]):
            return None
        return code

    def _partner(self, key: str) -> str | None:
        """Return the name or ISSN that most of a key's works have too, if more than half of them do."""
        return _most(self._together.get(key, Counter()), self._works[key])

    def _is_sure(self, key: str, partner: str) -> bool:
        is_title_of_abbreviation = key in self._titles and partner not in self._titles and not partner.startswith("issn:")
        if not is_title_of_abbreviation or self._partner(partner) == key:
            return True
        return any(abbreviates(partner, each) for each in (key, *other_keys(self._written[key])))


def learned(works: Iterable[Work]) -> Journals:
    """Return the table of the journals in the works."""
    builder = JournalsBuilder()
    for work in works:
        builder.add(work)
    return builder.build()


def _most(counts: Counter[str], works: int) -> str | None:
    """Return the key that more than half of the works have; None if there is none."""
    count, key = min(((-count, key) for key, count in counts.items()), default=(0, ""))
    return key if -count * 2 > works else None


def _only(names: Counter[str]) -> str | None:
    """Return the most frequent of the names that the works of a code have, if nearly all are like it."""
    leading, name = max((count, key) for key, count in names.items())
    alike, total = sum(count for key, count in names.items() if are_alike(key, name)), names.total()
    return name if total >= _NAMED and leading >= _LEADING * total and alike >= _ALIKE * total else None


def _merged(listed: Sequence[Journal]) -> list[Journal]:
    """Return the journals; those that share an ISSN, or have none and the same first name, are one."""
    sets, keys_of = _Sets(), []
    for journal in listed:
        issns = [key for issn in journal.issns if (key := issn_key(issn))]
        keys_of.append(keys := issns or [key for name in journal.names[:1] if (key := name_key(name))])
        for key in keys[1:]:
            sets.join(keys[0], key)
    merged: dict[str | int, Journal] = {}
    for number, (journal, keys) in enumerate(zip(listed, keys_of, strict=True)):
        first = sets.first(keys[0]) if keys else number
        merged[first] = _joined(merged[first], journal) if first in merged else journal
    return list(merged.values())


def _joined(journal: Journal, more: Journal) -> Journal:
    return Journal(
        names=tuple(dict.fromkeys((*journal.names, *more.names))), issns=tuple(dict.fromkeys((*journal.issns, *more.issns)))
    )

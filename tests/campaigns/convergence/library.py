"""Random papers and works that are easily confused: equal and similar titles, locators and identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, TypeVar

from hypothesis import strategies as st

from reflink.entities import Ids, Paper, Reference, Work

T = TypeVar("T")


@dataclass(frozen=True)
class Subject:
    """A publication without its ids."""

    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    volume: str | None = None
    fpage: str | None = None


#: Publications similar in the decisive fields: equal and similar titles, equal locators, and a title without information.
SUBJECTS: Final = (
    Subject("Growth of young salmon in cold water lakes", ("Miller", "Berg"), "Journal of Fish Biology", 1998, "12", "101"),
    Subject("Growth of young salmon in cold water lakes II", ("Miller", "Berg"), "Journal of Fish Biology", 1999, "13", "55"),
    Subject("Growth of young trout in cold water lakes", ("Berg",), "Journal of Fish Biology", 1998, "12", "101"),
    Subject("A survey of citation matching", ("Kim",), "Scientometrics", 2005, "7", "1"),
    Subject("A survey of citation matching", ("Okafor", "Kim"), "Information Processing", 2011, "30", "1"),
    Subject("Editorial", ("Kim",), "Scientometrics", 2005, "7", "3"),
    Subject("Statistics for field biologists", ("Haldane",), "Oxford University Press", 1987),
)
#: The papers themselves, which are also cited.
OWN: Final = (
    Subject("Salmon, trout and the temperature of lakes", ("Berg", "Haldane"), "Journal of Fish Biology", 2003, "15", "7"),
    Subject("Matching citations without identifiers", ("Kim", "Miller"), "Scientometrics", 2012, "40", "99"),
    Subject("How rumours of salmon spread in lakes", ("Okafor",), "Physical Review", 2014, "31", "8"),
)
ALL: Final = (*SUBJECTS, *OWN)
PAPERS: Final = tuple(f"doi:10.9000/p{number}" for number in range(len(OWN)))
#: Ids of works. None is the id of a paper: otherwise the order of arrival would decide which record is valid.
SLOTS: Final = ("doi:10.1000/a", "doi:10.1000/b", "doi:10.1000/c", "pmid:1", "pmid:2", "pmid:3", "pmcid:PMC1", "source:x")
#: Identifiers that several works may share.
SHARED: Final = ("doi:10.1000/a", "doi:10.1000/b", "pmid:1", "pmid:2", "pmid:7", "pmcid:PMC1", "pmcid:PMC7", *PAPERS[:2])

_FIELDS: Final = ("title", "authors", "venue", "year", "volume", "fpage")


def ids_of(keys: tuple[str, ...]) -> Ids:
    """Return the ids in keys of the form ``kind:value``; of two keys of a kind, the first counts."""
    found: dict[str, str] = {}
    for key in keys:
        kind, _, value = key.partition(":")
        if kind in Ids.model_fields:
            found.setdefault(kind, value)
    return Ids(**found)


def work(slot: str, subject: Subject, absent: frozenset[str], keys: tuple[str, ...], status: str | None = None) -> Work:
    """Return a work about a subject; ``slot`` is its id and one of its identifiers, ``absent`` names the fields it lacks."""
    fields = {name: getattr(subject, name) for name in _FIELDS if name not in absent}
    return Work(id=slot, ids=ids_of((slot, *keys)), status=status, **fields)


def reference(
    citing: str, name: str, position: int, subject: Subject, absent: frozenset[str], keys: tuple[str, ...], weak: bool
) -> Reference:
    """Return a reference that cites a subject; its fields and its text lack the ``absent`` fields."""
    fields = {field: getattr(subject, field) for field in _FIELDS if field not in absent}
    words = [", ".join(fields.get("authors", ())), f"({fields['year']})" if "year" in fields else "", fields.get("title", "")]
    words += [fields.get("venue", ""), fields.get("volume") or "", fields.get("fpage") or ""]
    ids = ids_of(keys)
    return Reference(
        id=f"{citing}#{name}",
        citing=citing,
        position=position,
        raw_text=" ".join(filter(None, words)),
        title=fields.get("title"),
        last_names=fields.get("authors", ()),
        venue=fields.get("venue"),
        year=fields.get("year"),
        volume=fields.get("volume"),
        first_page=fields.get("fpage"),
        ids=Ids() if weak else ids,
        ids_weak=ids if weak else Ids(),
    )


def paper(number: int, keys: tuple[str, ...], cited: tuple[Cited, ...]) -> Paper:
    """Return paper ``number``; references are named by their positions in ``cited``, so that revisions keep the names."""
    citing, own = PAPERS[number], OWN[number]
    references = tuple(
        reference(citing, f"B{place}", place, ALL[each.subject], each.absent, each.keys, each.weak)
        for place, each in enumerate(cited, start=1)
        if each.there
    )
    return Paper(
        id=citing,
        ids=ids_of((citing, *keys)),
        title=own.title,
        authors=own.authors,
        venue=own.venue,
        year=own.year,
        volume=own.volume,
        fpage=own.fpage,
        references=references,
    )


@dataclass(frozen=True)
class Cited:
    """One entry of a bibliography. ``there`` is False if this version of the paper lacks it."""

    subject: int
    absent: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    weak: bool = False
    there: bool = True


class Chance:
    """A source of random records, seeded by one number. Hypothesis's own draws would be far more alike."""

    def __init__(self, number: int) -> None:
        self._random = Random(number)

    def work(self) -> Work:
        """Return a work under any of the ids."""
        pick = self._random
        return work(pick.choice(SLOTS), pick.choice(ALL), self._absent(), self._keys(0.5))

    def paper(self) -> tuple[int, tuple[str, ...], tuple[Cited, ...]]:
        """Return the number of a paper, its identifiers beside its own, and the entries that it cites."""
        pick = self._random
        keys = (pick.choice(SHARED[2:7]),) if pick.random() < 0.3 else ()
        return pick.randrange(len(PAPERS)), keys, tuple(self._entry() for _ in range(pick.randint(1, 4)))

    def revised(self, entries: tuple[Cited, ...]) -> tuple[Cited, ...]:
        """Return the entries with one entry replaced, removed, restored or added, or without a change."""
        pick, changed = self._random, list(entries)
        at = pick.randrange(len(changed))
        match pick.randrange(4):
            case 0:
                changed[at] = self._entry()
            case 1:
                changed[at] = replace(changed[at], there=not changed[at].there)
            case 2 if len(changed) < 4:
                changed.append(self._entry())
            case _:
                pass
        return tuple(changed)

    def steps(self, of: Sequence[str]) -> list[str]:
        """Return a random sequence of 4 to 14 steps."""
        return self._random.choices(of, k=self._random.randint(4, 14))

    def one_of(self, sorted_: Sequence[T]) -> T:
        """Return a random element."""
        return self._random.choice(sorted_)

    def _entry(self) -> Cited:
        pick = self._random
        return Cited(pick.randrange(len(ALL)), self._absent(), self._keys(0.35), pick.random() < 0.3, pick.random() < 0.9)

    def _absent(self) -> frozenset[str]:
        # Most records have all fields, so that links are found; some lack fields, so that links are uncertain.
        pick = self._random
        return frozenset(pick.sample(_FIELDS, pick.randint(1, 4)) if pick.random() < 0.4 else ())

    def _keys(self, share: float) -> tuple[str, ...]:
        pick = self._random
        return tuple(pick.sample(SHARED, pick.randint(1, 2))) if pick.random() < share else ()


chances: Final = st.integers(0, 2**16 - 1).map(Chance)

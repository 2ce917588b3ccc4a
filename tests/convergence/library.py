"""A small world of papers and works in which mistakes are near: shared and near titles, places and identifiers.

Here chance becomes records.
"""

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
    """What was written, whoever has it under which id."""

    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    volume: str | None = None
    fpage: str | None = None


#: Near each other in what decides: titles that are equal or nearly, places of print that are equal, one that says nothing.
SUBJECTS: Final = (
    Subject("Growth of young salmon in cold water lakes", ("Miller", "Berg"), "Journal of Fish Biology", 1998, "12", "101"),
    Subject("Growth of young salmon in cold water lakes II", ("Miller", "Berg"), "Journal of Fish Biology", 1999, "13", "55"),
    Subject("Growth of young trout in cold water lakes", ("Berg",), "Journal of Fish Biology", 1998, "12", "101"),
    Subject("A survey of citation matching", ("Kim",), "Scientometrics", 2005, "7", "1"),
    Subject("A survey of citation matching", ("Okafor", "Kim"), "Information Processing", 2011, "30", "1"),
    Subject("Editorial", ("Kim",), "Scientometrics", 2005, "7", "3"),
    Subject("Statistics for field biologists", ("Haldane",), "Oxford University Press", 1987),
)
#: What the papers themselves are about: they are cited too.
OWN: Final = (
    Subject("Salmon, trout and the temperature of lakes", ("Berg", "Haldane"), "Journal of Fish Biology", 2003, "15", "7"),
    Subject("Matching citations without identifiers", ("Kim", "Miller"), "Scientometrics", 2012, "40", "99"),
    Subject("How rumours of salmon spread in lakes", ("Okafor",), "Physical Review", 2014, "31", "8"),
)
ALL: Final = (*SUBJECTS, *OWN)
PAPERS: Final = tuple(f"doi:10.9000/p{number}" for number in range(len(OWN)))
#: The ids under which works come. None is a paper's: whose word holds then would be a question of arrival.
SLOTS: Final = ("doi:10.1000/a", "doi:10.1000/b", "doi:10.1000/c", "pmid:1", "pmid:2", "pmid:3", "pmcid:PMC1", "source:x")
#: Identifiers that several may bear.
SHARED: Final = ("doi:10.1000/a", "doi:10.1000/b", "pmid:1", "pmid:2", "pmid:7", "pmcid:PMC1", "pmcid:PMC7", *PAPERS[:2])

_FIELDS: Final = ("title", "authors", "venue", "year", "volume", "fpage")


def ids_of(keys: tuple[str, ...]) -> Ids:
    """Of ``kind:value``s; of two of a kind the first."""
    found: dict[str, str] = {}
    for key in keys:
        kind, _, value = key.partition(":")
        if kind in Ids.model_fields:
            found.setdefault(kind, value)
    return Ids(**found)


def work(slot: str, subject: Subject, absent: frozenset[str], keys: tuple[str, ...], status: str | None = None) -> Work:
    """A work with the id ``slot``, which it bears, about a subject; ``absent``: fields that its record lacks."""
    said = {name: getattr(subject, name) for name in _FIELDS if name not in absent}
    return Work(id=slot, ids=ids_of((slot, *keys)), status=status, **said)


def reference(
    citing: str, name: str, position: int, subject: Subject, absent: frozenset[str], keys: tuple[str, ...], weak: bool
) -> Reference:
    """An entry that cites a subject; what is absent is not even in its text."""
    said = {field: getattr(subject, field) for field in _FIELDS if field not in absent}
    words = [", ".join(said.get("authors", ())), f"({said['year']})" if "year" in said else "", said.get("title", "")]
    words += [said.get("venue", ""), said.get("volume") or "", said.get("fpage") or ""]
    ids = ids_of(keys)
    return Reference(
        id=f"{citing}#{name}",
        citing=citing,
        position=position,
        raw_text=" ".join(filter(None, words)),
        title=said.get("title"),
        last_names=said.get("authors", ()),
        venue=said.get("venue"),
        year=said.get("year"),
        volume=said.get("volume"),
        first_page=said.get("fpage"),
        ids=Ids() if weak else ids,
        ids_weak=ids if weak else Ids(),
    )


def paper(number: int, keys: tuple[str, ...], cited: tuple[Cited, ...]) -> Paper:
    """Paper ``number``; its references are named by their places in ``cited``, so that those of revisions mean the same."""
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
    """What one entry says. ``there`` False: this version of the paper lacks it."""

    subject: int
    absent: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    weak: bool = False
    there: bool = True


class Chance:
    """Records by chance, all of one from one number. What hypothesis draws by itself is far more alike."""

    def __init__(self, number: int) -> None:
        self._random = Random(number)

    def work(self) -> Work:
        """A work under any of the ids."""
        pick = self._random
        return work(pick.choice(SLOTS), pick.choice(ALL), self._absent(), self._keys(0.5))

    def paper(self) -> tuple[int, tuple[str, ...], tuple[Cited, ...]]:
        """Which paper, what identifiers it bears beside its own, and what it cites."""
        pick = self._random
        keys = (pick.choice(SHARED[2:7]),) if pick.random() < 0.3 else ()
        return pick.randrange(len(PAPERS)), keys, tuple(self._entry() for _ in range(pick.randint(1, 4)))

    def revised(self, entries: tuple[Cited, ...]) -> tuple[Cited, ...]:
        """One entry is another one, or gone, or back; or none."""
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
        """What is done in a stretch."""
        return self._random.choices(of, k=self._random.randint(4, 14))

    def one_of(self, sorted_: Sequence[T]) -> T:
        """Any."""
        return self._random.choice(sorted_)

    def _entry(self) -> Cited:
        pick = self._random
        return Cited(pick.randrange(len(ALL)), self._absent(), self._keys(0.35), pick.random() < 0.3, pick.random() < 0.9)

    def _absent(self) -> frozenset[str]:
        # Most say all, so that links are to be found; and some say little, so that they are doubtful.
        pick = self._random
        return frozenset(pick.sample(_FIELDS, pick.randint(1, 4)) if pick.random() < 0.4 else ())

    def _keys(self, share: float) -> tuple[str, ...]:
        pick = self._random
        return tuple(pick.sample(SHARED, pick.randint(1, 2))) if pick.random() < share else ()


chances: Final = st.integers(0, 2**16 - 1).map(Chance)

"""A small catalog and references to it, written with other words for the venue and in other orders."""

from __future__ import annotations

import random

from reflink.entities import Reference, Work
from reflink.evaluation.records import Listing, Query
from reflink.evaluation.worlds import Groups

_TOPICS = "wheat rice maize barley oat rye sorghum millet soybean potato".split()
_TRAITS = "drought salinity yield protein rust starch zinc iron frost nitrogen".split()
_NAMES = "Li Wu Chen Sato Ngo Okoye Silva Novak Haddad Berg".split()

_DRAWN = random.Random(4)

WORKS = {
    f"w{number}": Work(
        id=f"w{number}", title=f"{trait} in {topic}", authors=(_DRAWN.choice(_NAMES), _DRAWN.choice(_NAMES)),
        year=1990 + number % 30, venue=f"Journal {number % 7}",
    )
    for number, (topic, trait) in enumerate((topic, trait) for topic in _TOPICS for trait in _TRAITS)
}  # fmt: skip


def cited(work: Work, citing: str) -> Reference:
    raw = f"{', '.join(f'{name} A.' for name in work.authors)} ({work.year}) {work.title}. J. {work.venue}"
    return Reference(
        id=f"{citing}#{work.id}", citing=citing, position=1, raw_text=raw, last_names=work.authors, year=work.year
    )  # fmt: skip


QUERIES = [Query(cited(work, f"paper {number % 40}"), work.id, "cocite") for number, work in enumerate(WORKS.values())]
GROUPS = Groups.read(Listing(work, work.id) for work in WORKS.values())

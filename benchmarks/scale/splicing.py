"""Works recombined from the parts of real works of one field.

benchmarks/lexical/recombined.py makes texts for the trigram index, without fields, many times faster; here records are made.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from benchmarks.scale.real import Pool, Real
from reflink.folding import fold

RECOMBINED: Final = "recombined"
_TRIES: Final = 8
#: Words before which a title is divided.
_JOINTS: Final = frozenset(
    "of in for with on by from to and during after before between among against under as through using via versus at".split()
)
#: Minimum words of a title that can be divided.
_WORDS: Final = 4


def spliced(pool: Pool, random: Random, real: Real) -> str | None:
    """Return the beginning of the work's title and the end of another of its field, a title that no real work has.

    Titles are divided before a preposition or conjunction in the middle half, or near the middle. None if
    no such title is found.
    """
    first = real.title.split()
    if len(first) < _WORDS:
        return None
    for _ in range(_TRIES):
        second = pool.of_field(random, real.key).title.split()
        if len(second) < _WORDS:
            continue
        title = " ".join([*first[: _cut(random, first)], *second[_cut(random, second) :]])
        if fold(title) not in pool.titles:
            return title
    return None


def _cut(random: Random, words: list[str]) -> int:
    """Return the position of the word at which the second half begins."""
    length = len(words)
    joints = [at for at in range(max(1, length // 4), length - length // 4) if words[at] in _JOINTS]
    if joints:
        return joints[int(random.random() * len(joints))]
    return int(length * (0.35 + 0.3 * random.random())) or 1


def recombined(pool: Pool, random: Random) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a record without identifiers, and the ids of the works that gave title, authors, and year with volume.

    Venue: that of the first part of the title. Year and volume: those of one work of the venue. Page: any between the venue's
    lowest and highest.
    """
    while True:
        real = pool.any(random)
        if (title := spliced(pool, random, real)) is not None:
            break
    people, dated = pool.of_field(random, real.key), pool.of_venue(random, real.key)
    record: dict[str, Any] = {
        "title": title, "authors": people.authors, "venue": real.venue, "year": dated.year, "volume": dated.volume,
    }  # fmt: skip
    pool.place(random, record, real.key, dated.fpage)
    return record, (real.id, people.id, dated.id)

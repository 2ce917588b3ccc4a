"""Works that are nearly a real one: wrong candidates for a reference to it, and hard ones.

Each kind is what bibliographies have beside a work: records that a linker finds by title, authors or locator, and that differ
in what the verdict compares (`reflink.linking.versions`, `reflink.verdict.titles`): words that mark an erratum or a reply,
year, volume and page, venue, the number of a part, the authors. A record made here has no identifier yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

from benchmarks.scale.real import Pool, Real, later
from benchmarks.scale.splicing import spliced
from reflink.folding import fold

Record = dict[str, Any]
#: Makes a record of a real work; None if the kind does not apply to this work.
Make = Callable[[Pool, Random, Real], Record | None]

_ERRATA: Final = (
    "Erratum: {}", "Erratum to: {}", "Correction to: {}", "Correction: {}", "Corrigendum: {}", "Corrigendum to “{}”",
    "Author Correction: {}", "{} (vol {volume}, pg {page}, {year})", "{} [Erratum]",
)  # fmt: skip
_EDITIONS: Final = ("{}, 2nd ed.", "{}: an update", "{} ({year} update)", "{}: update {year}", "{}", "{}. Third edition")
_COMMENTS: Final = (
    "Comment on “{}”",
    "Comment on: {}",
    "Re: {}",
    "Commentary: {}",
    "Letter to the editor: {}",
    "Editorial: {}",
)
_REPLIES: Final = ("Reply to “{}”", "Reply to comment on “{}”", "Response to: {}", "Authors' reply: {}", "Rebuttal: {}")
_PARTS: Final = ("{}. Part {roman}", "{}: part {number}", "{roman}. {}", "{}. {roman}", "{} - {roman}")
_ROMAN: Final = ("II", "III", "IV", "V")
_SERVERS: Final = ("bioRxiv", "medRxiv", "arXiv", "arXiv preprint")
#: The year from which a work can have a preprint.
_PREPRINTS_FROM: Final = 1996
_YEAR: Final = re.compile(r"\b(19[5-9]\d|20[0-2]\d)\b")
#: Words that are replaced in a similar title have at least this many letters.
_LETTERS: Final = 5
_TRIES: Final = 12


def _dated(pool: Pool, random: Random, real: Real, title: str, years: int, authors: tuple[str, ...] | None = None) -> Record:
    """Return a record of the same venue, ``years`` later, with the volume of that year and a page of its own."""
    year = None if real.year is None else real.year + years
    record: Record = {
        "title": title, "authors": real.authors if authors is None else authors, "venue": real.venue, "year": year,
        "volume": later(real.volume, years),
    }  # fmt: skip
    pool.place(random, record, real.key, real.fpage)
    return record


def _pick(random: Random, among: tuple[str, ...]) -> str:
    return among[int(random.random() * len(among))]


def _bare(title: str) -> str:
    return title.rstrip(" .")


def erratum(pool: Pool, random: Random, real: Real) -> Record | None:
    """A notice that corrects the work: its authors and venue, in the same or the next year."""
    form = _pick(random, _ERRATA)
    if "{volume}" in form and None in (real.volume, real.fpage, real.year):
        form = _ERRATA[0]
    title = form.format(_bare(real.title), volume=real.volume, page=real.fpage, year=real.year)
    return _dated(pool, random, real, title, int(random.random() * 2))


def edition(pool: Pool, random: Random, real: Real) -> Record | None:
    """A later edition or update, one to eight years later, at times with the same title."""
    if real.year is None:
        return None
    years = 1 + int(random.random() * 8)
    title = _pick(random, _EDITIONS).format(_bare(real.title), year=real.year + years)
    return _dated(pool, random, real, title, years)


def preprint(pool: Pool, random: Random, real: Real) -> Record | None:
    """The work on a preprint server, a year earlier, without volume and page."""
    if real.year is None or real.year < _PREPRINTS_FROM or real.volume is None:
        return None
    return {"title": real.title, "authors": real.authors, "venue": _pick(random, _SERVERS), "year": real.year - 1}


def instalment(pool: Pool, random: Random, real: Real) -> Record | None:
    """Another part of the work, or the report of another year if the title names one."""
    at = int(random.random() * len(_ROMAN))
    years = 1 + at if random.random() < 0.5 or real.year is None else -1 - at
    if _YEAR.search(real.title):
        for _ in range(_TRIES):
            title = _YEAR.sub(lambda found: str(int(found[1]) + years), real.title)  # noqa: B023 - used at once
            if fold(title) not in pool.titles:
                return _dated(pool, random, real, title, years)
            years += 1 if years > 0 else -1
        return None
    title = _pick(random, _PARTS).format(_bare(real.title), roman=_ROMAN[at], number=at + 2)
    return _dated(pool, random, real, title, at % 2)


def comment(pool: Pool, random: Random, real: Real) -> Record | None:
    """A comment by authors of the same field, or the authors' reply to one."""
    if random.random() < 0.5:
        title = _pick(random, _REPLIES).format(_bare(real.title))
        return _dated(pool, random, real, title, int(random.random() * 2))
    authors = pool.of_field(random, real.key).authors[:3]
    title = _pick(random, _COMMENTS).format(_bare(real.title))
    return _dated(pool, random, real, title, int(random.random() * 2), authors)


def same_title(pool: Pool, random: Random, real: Real) -> Record | None:
    """A work with the same title in another venue, of another year and by other authors."""
    for _ in range(_TRIES):
        other = pool.of_field(random, real.key) if random.random() < 0.5 else pool.any(random)
        authors, years = pool.of_field(random, other.key).authors, int(random.random() * 7) - 3
        if (
            other.key
            and other.key != real.key
            and other.year not in (None, (real.year or 0) - years)
            and authors != real.authors
        ):
            return _dated(pool, random, other, real.title, years, authors)
    return None


def similar(pool: Pool, random: Random, real: Real) -> Record | None:
    """A work of the same authors and venue, within two years, in whose title one or two words differ."""
    words = real.title.split()
    long = [at for at, word in enumerate(words) if len(word) >= _LETTERS and word.isalpha()]
    if not long:
        return None
    wanted = 1 + int(random.random() * 2)
    for _ in range(_TRIES):
        given = [word for word in pool.of_field(random, real.key).title.split() if len(word) >= _LETTERS and word.isalpha()]
        if not given:
            continue
        at, word = long[int(random.random() * len(long))], given[int(random.random() * len(given))]
        words[at] = word.capitalize() if at == 0 else word.lower()
        title = " ".join(words)
        wanted -= 1
        if wanted <= 0 and fold(title) not in pool.titles:
            return _dated(pool, random, real, title, int(random.random() * 5) - 2)
    return None


def neighbour(pool: Pool, random: Random, real: Real) -> Record | None:
    """Another work of the same volume, at most a dozen pages away."""
    page = real.fpage
    if page is None or not (page.isascii() and page.isdigit()) or real.volume is None or real.year is None:
        return None
    title = spliced(pool, random, real)
    if title is None:
        return None
    record: Record = {
        "title": title, "authors": pool.of_field(random, real.key).authors, "venue": real.venue, "year": real.year,
        "volume": real.volume,
    }  # fmt: skip
    away = 1 + int(random.random() * 12)
    pool.free(record, max(1, int(page) + (away if random.random() < 0.5 else -away)))
    return record


#: All kinds, in equal shares.
KINDS: Final[dict[str, Make]] = {
    "erratum": erratum, "edition": edition, "preprint": preprint, "instalment": instalment, "comment": comment,
    "same-title": same_title, "similar": similar, "neighbour": neighbour,
}  # fmt: skip

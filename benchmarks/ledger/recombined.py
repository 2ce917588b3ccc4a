"""Generate any number of papers with waiting references: events of ``links`` as the ledger publishes them, from real parts.

The recipe, all draws independent and from one seed: three references of ten cite one of 20,000 popular works (the rank-th with
a frequency proportional to 1 / (rank + 500)), the others a work of their own. A work's title follows the word order of real
titles, with one word in four from anywhere; each name, the venue, the year, the volume and the pages come from different real
references; identifiers are new. A real reference gives its wording and its tagged fields (moulds.py).

So keys coincide as often as real ones do, and hardly any key is that of a real work. The intended exceptions are ``Marked``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import orjson

from benchmarks.ledger.moulds import MOST_NAMES, Mould, Parts
from reflink.entities import Reference, Work
from schemas import SCHEMA_VERSION

REFERENCES_PER_PAPER: Final = 40
#: Number of papers drawn at a time; they depend only on the seed and the number of the first.
BLOCK: Final = 50
POPULAR: Final = 20_000
POPULAR_SHARE: Final = 0.3
FLATTENING: Final = 500
ARRIVED: Final = 1_763_740_800_000
MODEL: Final = "all-MiniLM-L6-v2@53aa51172d14"
POLICY: Final = "0a1b2c3d"
_NUMBERS: Final = (
    "title equal cover beginning contained length authors agreeing first_author group year volume page venue numbers marks "
    "identifier bare card"
)
_JUDGEMENTS: Final = 64

#: A work's parts by field name; its authors are in "people", and the names used so far are also in "n0", "n1", ...
Cited = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Marked:
    """A real reference, the catalog work that it cites, and whether it still names the work by an identifier."""

    reference: Reference
    work: Work
    identified: bool


@dataclass(frozen=True, slots=True)
class Paper:
    """The events of ``links`` by reference id, and the event of ``manifests``."""

    citing: str
    links: dict[str, bytes]
    manifest: bytes


class Recombined:
    """Makes papers by number from real references. Any process can make any range of papers independently.

    ``judged_at``: the catalog offset of all outcomes.
    """

    def __init__(self, references: Sequence[Reference], *, seed: int = 7, judged_at: int = 0) -> None:
        self.moulds = [Mould.of(each) for each in references]
        self.parts = Parts(references)
        self.seed, self.judged_at = seed, judged_at
        rng = np.random.default_rng([seed, 0])
        popular = min(POPULAR, len(references))
        self.popular = self.works(rng, popular, first=0)
        weights = 1 / (np.arange(popular) + FLATTENING)
        self.popularity = np.cumsum(weights / weights.sum())
        self.judgements = [_judgement(rng) for _ in range(_JUDGEMENTS)]

    def papers(self, first: int, count: int, marked: Sequence[Marked] = ()) -> Iterator[Paper]:
        """Yield papers ``first`` to ``first + count - 1``; both must be multiples of BLOCK, except at the end of all papers.

        The marked references replace others, evenly spread over these papers.
        """
        meant = self.placed(first, count, marked)
        for begin in range(first, first + count, BLOCK):
            yield from self._block(begin, min(BLOCK, first + count - begin), meant)

    @staticmethod
    def placed(first: int, count: int, marked: Sequence[Marked]) -> dict[str, Marked]:
        """Return the marked references in these papers by id."""
        places = np.linspace(0, count * REFERENCES_PER_PAPER, len(marked), endpoint=False).astype(int).tolist()
        return {
            _id(citing_of(first + place // REFERENCES_PER_PAPER), place % REFERENCES_PER_PAPER + 1): mark
            for place, mark in zip(places, marked, strict=True)
        }

    def _block(self, first: int, papers: int, meant: dict[str, Marked]) -> Iterator[Paper]:
        rng = np.random.default_rng([self.seed, 1, first])
        whole = BLOCK * REFERENCES_PER_PAPER  # so that a paper does not depend on how many follow it
        moulds = rng.integers(0, len(self.moulds), whole).tolist()
        ranks = np.searchsorted(self.popularity, rng.random(whole)).tolist()
        popular = rng.random(whole) < POPULAR_SHARE
        judgements = rng.integers(0, _JUDGEMENTS, whole).tolist()
        own = iter(self.works(rng, int((~popular).sum()), first=POPULAR + first * REFERENCES_PER_PAPER))
        cited = [self.popular[rank] if among else next(own) for rank, among in zip(ranks, popular.tolist(), strict=True)]
        for number in range(first, first + papers):
            citing, links = citing_of(number), {}
            at = (number - first) * REFERENCES_PER_PAPER
            for position in range(1, REFERENCES_PER_PAPER + 1):
                id_ = _id(citing, position)
                if mark := meant.get(id_):
                    record = {**mark.reference.to_dict(), "id": id_, "citing": citing, "position": position}
                else:
                    record = written(self.moulds[moulds[at]], cited[at], self.parts.names, id_, citing, position)
                links[id_] = self._event(id_, citing, record, self.judgements[judgements[at]])
                at += 1
            yield Paper(citing, links, self._manifest(citing, list(links)))

    def _event(self, id_: str, citing: str, record: dict[str, Any], judgement: orjson.Fragment) -> bytes:
        link = {"reference": id_, "citing": citing, "cited": None, "unresolved": "not-in-catalog"}
        event = {
            "schema_version": SCHEMA_VERSION, "citing": citing, "paper_version": ARRIVED, "arrived": ARRIVED,
            "model": MODEL, "policy": POLICY, "catalog_offset": self.judged_at, "judged": ARRIVED + 180,
            "link": {**link, "evidence": judgement}, "reference": record,
        }  # fmt: skip
        return orjson.dumps(event)

    def _manifest(self, citing: str, references: Sequence[str]) -> bytes:
        state = {"schema_version": SCHEMA_VERSION, "citing": citing, "paper_version": ARRIVED, "references": references}
        return orjson.dumps(state)

    def works(self, rng: np.random.Generator, count: int, first: int) -> list[Cited]:
        """Draw works; their identifiers are numbered from ``first`` on."""
        parts = self.parts

        def draw(values: Sequence[Any]) -> list[Any]:
            return [values[at] for at in rng.integers(0, len(values), count).tolist()]

        titles, venues, years = parts.titles(rng, count), draw(parts.venues), draw(parts.years)
        volumes, pages, prefixes = draw(parts.volumes), draw(parts.pages), draw(parts.prefixes)
        people = rng.integers(0, len(parts.names), (count, MOST_NAMES)).tolist()  # as numbers, because few of them are named
        lengths, issues = rng.integers(1, 20, count).tolist(), rng.integers(1, 12, count).tolist()
        works = []
        for at in range(count):
            page, number = pages[at], first + at
            last = str(int(page) + lengths[at]) if page.isascii() and page.isdigit() else page
            work: Cited = {
                "title": titles[at], "venue": venues[at], "year": years[at], "volume": volumes[at], "issue": str(issues[at]),
                "first_page": page, "last_page": last, "doi": f"{prefixes[at]}/recombined.{number}",
                "pmid": str(900_000_000 + number), "pmcid": f"PMC9{number:09d}", "arxiv": f"9901.{number:06d}",
                "people": people[at],
            }  # fmt: skip
            works.append(work)
        return works


def citing_of(paper: int) -> str:
    """Return the id of a paper."""
    return f"doi:10.5555/waiting.{paper:08d}"


def _id(citing: str, position: int) -> str:
    return f"{citing}#r{position}.1"


_SLOTS: Final = tuple(f"n{at}" for at in range(MOST_NAMES))


def written(
    mould: Mould, cited: Cited, names: Sequence[tuple[str, str]], id_: str, citing: str, position: int
) -> dict[str, Any]:
    """Return the JSON of a Reference to the work in the mould's form. ``names``: the names that "people" contains by number."""
    people = [names[person] for person in cited["people"][: mould.names]]
    last_names = [last for last, _ in people]
    cited.update(zip(_SLOTS, last_names, strict=False))
    record: dict[str, Any] = {"id": id_, "citing": citing, "position": position, "raw_text": mould.text % cited, **mould.kept}
    if mould.bare is not None:
        record["raw_noid"] = mould.bare % cited
    fields: dict[str, Any] = {name: cited[name] for name in mould.fields}
    if mould.names:
        fields["last_names"] = last_names
        if not mould.inferred:
            fields["given_names"] = [given for _, given in people]
    if mould.inferred:
        record["inferred"] = fields
    else:
        record |= fields
    if mould.ids:
        record["ids"] = {kind: cited[kind] for kind in mould.ids}
    if mould.ids_weak:
        record["ids_weak"] = {kind: cited[kind] for kind in mould.ids_weak}
    return record


def without_identifiers(marked: Marked) -> Marked:
    """Return the same reference without its identifiers, so that only its other fields and text can match."""
    gone: dict[str, Any] = {"ids": {}, "ids_weak": {}, "raw_text": marked.reference.raw_query, "raw_noid": None}
    return replace(marked, reference=Reference.from_dict({**marked.reference.to_dict(), **gone}), identified=False)


def _judgement(rng: np.random.Generator) -> orjson.Fragment:
    numbers = {name: round(value, 6) for name, value in zip(_NUMBERS.split(), rng.random(19).tolist(), strict=True)}
    return orjson.Fragment(orjson.dumps(numbers))

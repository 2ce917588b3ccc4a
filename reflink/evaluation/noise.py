"""Queries whose truth is probably wrong in the data: ``python -m reflink.evaluation.noise --catalog WORKS --references REFS``.

The truth of a query is an identifier that its publisher wrote, and so are most records of the works. Some identifiers are of
another work, and some records tell of another work because a paper that cites it gave it a wrong identifier. No linker can be
right there. Two ways to suspect a query:

- a rule, which does not look at what reflink links: the reference and every record of its truth are about different works
  (``apart``). It is meant to miss rather than to accuse: titles that share most of their words, untitled references and
  pairs that agree in a place are never suspected.
- a list of those that only reading can decide (``suspects.json``: rid and why). It was kept from reading what a run got
  wrong, so what is told without the suspects is a little too good.

Figures are told with and without the suspects (docs/accuracy.md); the main figure is always that with them.
"""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import orjson

from reflink.entities import Reference, Work
from reflink.evaluation.records import Listing, Query, read_queries, read_works
from reflink.evaluation.worlds import Groups

#: Share of the words of the shorter title that the other has, below which two titles are of different works; and that from
#: which they may be of the same, whatever else differs.
LIKE: Final = 0.5
ALIKE: Final = 0.7
#: Letters of a word that are compared, so that endings and spellings ("-ise") count little; shorter words are not.
_STEM: Final = 5
_SHORTEST: Final = 4
#: Words that a title needs for its words to say anything.
_LEAST: Final = 3

_WORD: Final = re.compile(r"[^\W_]+")
_NUMBER: Final = re.compile(r"\d+")


def _words(text: str | None) -> list[str]:
    """Lower case words without accents."""
    plain = unicodedata.normalize("NFKD", (text or "").lower())
    return _WORD.findall("".join(char for char in plain if not unicodedata.combining(char)))


def _stems(text: str | None) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _words(text) if len(word) >= _SHORTEST)


def _number(value: str | None) -> str | None:
    found = _NUMBER.search(value or "")
    return found[0].lstrip("0") if found else None


def _names(names: Iterable[str]) -> frozenset[str]:
    """The words of all names, initials left out."""
    return frozenset(word for name in names for word in _words(name) if len(word) > 1)


def _title_share(reference: Reference, work: Work) -> float | None:
    """Share of the shorter title's words that the other has, or the text of a reference; None where a title is too short."""
    there = _stems(work.title)
    here = _stems(reference.title) or _stems(reference.chapter_title)
    if len(there) < _LEAST or (here and len(here) < _LEAST):
        return None
    if here:
        return len(here & there) / min(len(here), len(there))
    return len(there & _stems(reference.raw_query)) / len(there)


def _are_strangers(reference: Reference, work: Work) -> bool | None:
    """Whether no author is common to both, looked for in the text where none is tagged; None where a side is silent."""
    there, here = _names(work.authors), _names(reference.last_names) or _names([reference.raw_query])
    return there.isdisjoint(here) if there and here else None


def _are_elsewhere(reference: Reference, work: Work) -> bool | None:
    """Whether volume and first page both differ; False when one agrees, None where they say nothing.

    Page 1 says nothing: a publisher that looks up identifiers by volume and page finds any article of the volume there.
    """
    volumes, pages = (_number(reference.volume), _number(work.volume)), (_number(reference.first_page), _number(work.fpage))
    if None in volumes or None in pages or pages == ("1", "1"):
        return None
    return volumes[0] != volumes[1] and pages[0] != pages[1]


def apart(reference: Reference, work: Work) -> str | None:
    """Why the record cannot be of the work that the reference describes, or None.

    Of three signs at least two must be there and none may speak for the pair: the titles differ, no author is common, volume
    and first page both differ. Where all three are there, the titles may be a little more alike. A reference without
    title, tagged or in its text, is never suspected by its title; a record without title, authors and place tells nothing.
    """
    if not (work.title or work.authors or work.volume or work.fpage):
        return "the record is empty"
    titled = reference.title or reference.chapter_title or not reference.last_names
    share = _title_share(reference, work) if titled else None
    if share is None or share >= ALIKE:
        return None
    strangers, elsewhere = _are_strangers(reference, work), _are_elsewhere(reference, work)
    if strangers and elsewhere:
        return "title, authors and place differ"
    if share >= LIKE:
        return None
    if elsewhere:
        return "title and place differ"
    return "title and authors differ" if strangers and elsewhere is None else None


def reviewed() -> Mapping[str, str]:
    """The list kept from reading: rid to why."""
    found: dict[str, str] = orjson.loads(resources.files("reflink.evaluation").joinpath("suspects.json").read_bytes())
    return found


def suspects(queries: Sequence[Query], listings: Iterable[Listing], groups: Groups) -> dict[str, str]:
    """Why the truth of a query is probably wrong, by rid; those not named are not suspected.

    ``listings``: at least the works that are the truth of a query, and those of their groups.
    """
    wanted = {id_ for query in queries for id_ in groups.same(query.truth)}
    works = {listing.work.id: listing.work for listing in listings if listing.work.id in wanted}
    known = reviewed()
    found: dict[str, str] = {}
    for query in queries:
        records = [works[id_] for id_ in groups.same(query.truth) if id_ in works]
        reasons = [apart(query.reference, work) for work in records]
        if query.reference.id in known:
            found[query.reference.id] = f"reviewed: {known[query.reference.id]}"
        elif reasons and (why := reasons[0]) is not None and all(reasons):
            found[query.reference.id] = why
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m reflink.evaluation.noise", description="Lists the queries whose truth is probably wrong in the data."
    )
    parser.add_argument("--catalog", type=Path, required=True, metavar="WORKS", help="works as JSON lines, .gz or not")
    parser.add_argument(
        "--references", type=Path, required=True, metavar="REFS", help="references with their targets, likewise"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rid and reason here")
    args = parser.parse_args(arguments)
    listings, queries = list(read_works(args.catalog)), list(read_queries(args.references))
    found = suspects(queries, listings, Groups.read(listings))
    if args.json:
        args.json.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    truths = {query.reference.id: query.truth for query in queries}
    for rid, why in found.items():
        sys.stdout.write(f"{rid}\t{truths[rid]}\t{why}\n")
    share = 100 * len(found) / len(queries) if queries else 0.0
    sys.stderr.write(f"{len(found)} of {len(queries)} queries ({share:.2f}%) are suspected\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

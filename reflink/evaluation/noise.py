"""Queries whose truth is probably wrong in the data: ``python -m reflink.evaluation.noise --catalog WORKS --references REFS``.

The truth of a query is an identifier that its publisher wrote. Publishers also wrote most records of the works. Some
identifiers belong to another work, and some records describe another work because a citing paper gave it a wrong identifier. No
linker can be right there. A query is suspected in two ways:

- A rule, independent of reflink's links: the reference and every record of its truth describe different works (``apart``). The
  rule prefers misses to false suspicions: it never suspects titles that share most of their words, references with tagged
  names but no title, or pairs that agree in volume or first page.
- A person's verdict that the label is wrong (reflink.evaluation.adjudication). These come from reading the errors of a run, so
  figures without the suspects are slightly too good.

Figures are reported with and without the suspects (docs/accuracy.md); the main figure always includes them.
"""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import orjson

from reflink.entities import Reference, Work
from reflink.evaluation.adjudication import Judgements
from reflink.evaluation.records import Listing, Query, read_queries, read_works
from reflink.evaluation.worlds import Groups
from reflink.terminal import guard

#: Share of the shorter title's words that the other has: below LIKE, the titles belong to different works; from ALIKE on, they
#: may belong to the same work, whatever else differs.
LIKE: Final = 0.5
ALIKE: Final = 0.7
#: Number of first letters of a word that are compared, so that endings and spellings ("-ise") count little, and minimum letters
#: of a word that is compared.
_STEM: Final = 5
_SHORTEST: Final = 4
#: Minimum number of words of a title that is compared.
_LEAST: Final = 3

_WORD: Final = re.compile(r"[^\W_]+")
_NUMBER: Final = re.compile(r"\d+")


def _words(text: str | None) -> list[str]:
    """Return the text's lower-case words without accents."""
    plain = unicodedata.normalize("NFKD", (text or "").lower())
    return _WORD.findall("".join(char for char in plain if not unicodedata.combining(char)))


def _stems(text: str | None) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _words(text) if len(word) >= _SHORTEST)


def _number(value: str | None) -> str | None:
    found = _NUMBER.search(value or "")
    return found[0].lstrip("0") if found else None


def _names(names: Iterable[str]) -> frozenset[str]:
    """Return the words of all names without initials."""
    return frozenset(word for name in names for word in _words(name) if len(word) > 1)


def _title_share(reference: Reference, work: Work) -> float | None:
    """Return the share of the shorter title's words that the other has; None if a title is too short.

    For a reference without title, return the share of the work's title that is in the reference's text.
    """
    there = _stems(work.title)
    here = _stems(reference.title) or _stems(reference.chapter_title)
    if len(there) < _LEAST or (here and len(here) < _LEAST):
        return None
    if here:
        return len(here & there) / min(len(here), len(there))
    return len(there & _stems(reference.raw_query)) / len(there)


def _have_other_authors(reference: Reference, work: Work) -> bool | None:
    """Return whether the two have no author in common; None if one has no authors.

    Searches the reference's text if it has no tagged names.
    """
    there, here = _names(work.authors), _names(reference.last_names) or _names([reference.raw_query])
    return there.isdisjoint(here) if there and here else None


def _have_other_locators(reference: Reference, work: Work) -> bool | None:
    """Return whether volume and first page both differ; False if one agrees, None if they give no evidence.

    Page 1 gives no evidence: a publisher that looks up identifiers by volume and page finds any article of the volume there.
    """
    volumes, pages = (_number(reference.volume), _number(work.volume)), (_number(reference.first_page), _number(work.fpage))
    if None in volumes or None in pages or pages == ("1", "1"):
        return None
    return volumes[0] != volumes[1] and pages[0] != pages[1]


def apart(reference: Reference, work: Work) -> str | None:
    """Return the reason why the record cannot describe the work that the reference cites, or None.

    There are three signs: the titles differ, no author is common, volume and first page both differ. At least two signs must
    hold, and the third must not count for the pair. If all three hold, the titles may be slightly more similar (ALIKE instead
    of LIKE). A reference with tagged names but no title is never suspected by its title. A record without title, authors,
    volume and page is empty, which is a reason of its own.
    """
    if not (work.title or work.authors or work.volume or work.fpage):
        return "the record is empty"
    titled = reference.title or reference.chapter_title or not reference.last_names
    share = _title_share(reference, work) if titled else None
    if share is None or share >= ALIKE:
        return None
    authors_differ, locators_differ = _have_other_authors(reference, work), _have_other_locators(reference, work)
    if authors_differ and locators_differ:
        return "title, authors and place differ"
    if share >= LIKE:
        return None
    if locators_differ:
        return "title and place differ"
    return "title and authors differ" if authors_differ and locators_differ is None else None


def suspects(
    queries: Sequence[Query], listings: Iterable[Listing], groups: Groups, judgements: Judgements | None = None
) -> dict[str, str]:
    """Return the reason why a query's truth is probably wrong, by rid, for suspected queries only.

    ``judgements``: a person's verdicts, which outrank the rule. ``listings``: at least the works that are the truth of a query,
    and the works of their groups.
    """
    wanted = {id_ for query in queries for id_ in groups.same(query.truth)}
    works = {listing.work.id: listing.work for listing in listings if listing.work.id in wanted}
    found: dict[str, str] = {}
    for query in queries:
        records = [works[id_] for id_ in groups.same(query.truth) if id_ in works]
        reasons = [apart(query.reference, work) for work in records]
        why = reasons[0] if reasons and all(reasons) else None
        if judgements is not None:
            why = judgements.suspicion(query.reference.id, query.truth, why)
        if why is not None:
            found[query.reference.id] = why
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    guard()
    parser = argparse.ArgumentParser(
        prog="python -m reflink.evaluation.noise", description="List the queries whose truth is probably wrong in the data."
    )
    parser.add_argument("--catalog", type=Path, required=True, metavar="WORKS", help="works as JSON lines, .gz or not")
    parser.add_argument("--references", type=Path, required=True, metavar="REFS", help="references with their targets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rid and reason here")
    parser.add_argument("--adjudicated", type=Path, metavar="FILE", help="verdicts of reflink evaluate --adjudicate")
    args = parser.parse_args(arguments)
    listings, queries = list(read_works(args.catalog)), list(read_queries(args.references))
    found = suspects(queries, listings, Groups.read(listings), Judgements.known(args.adjudicated))
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

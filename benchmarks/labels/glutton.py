"""biblio-glutton's set: 17,015 citations as GROBID read them from PDF, each with the DOI from the publisher's XML.

Its documentation says that the fields beside each citation are GROBID's too. They look like the publisher's: titles end where
the XML has markup, and where a citation was aligned with a wrong entry, they describe the work of the label, not the text's.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.labels.linking import Library, mistake
from benchmarks.labels.report import Peer, Row, Table
from benchmarks.labels.scores import Answer, scores
from benchmarks.labels.wording import RecordKey, letters, one_line, years
from reflink.catalog import Catalog
from reflink.entities import Ids, Link, Reference, Work
from reflink.evaluation.records import Listing, read_works
from reflink.evaluation.worlds import Groups, is_removed
from reflink.identifiers import normalise_doi, normalise_pmid
from reflink.stripping import strip

#: Letters and digits of a title compared with the text, and the minimum length of an informative title (not "The").
_BEGINNING: Final = 60
_MIN_LETTERS: Final = 12
FILE: Final = "references-doi-matching.json.gz"
#: Figures of its documentation (Benchmarking.md of biblio-glutton), each against the whole of Crossref, September 2021.
PEERS: Final = (
    Peer("biblio-glutton, CRF", 0.9733, 0.9552, 0.9642),
    Peer("biblio-glutton, BiLSTM-CRF", 0.9734, 0.9583, 0.9658),
    Peer("Crossref's REST API", 0.9719, 0.9426, 0.9569),
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One line: the citation with and without fields, and the identifiers that are its label."""

    raw: Reference
    fields: Reference
    label: Ids

    def reference(self, way: str) -> Reference:
        """Return the reference in the form ``raw`` or ``fields``."""
        return self.raw if way == "raw" else self.fields

    def agrees(self) -> bool:
        """Return whether the text cites the labelled work, by its words: its title's beginning or its first page occurs."""
        title = letters(self.fields.title)[:_BEGINNING]
        page = re.escape((self.fields.first_page or "").lower())
        in_text = page and re.search(rf"(?<![^\W_]){page}(?![^\W_])", self.raw.raw_text.lower())
        return bool((len(title) >= _MIN_LETTERS and title in letters(self.raw.raw_text)) or in_text)


def read(path: Path) -> list[Labelled]:
    """Read every citation of the file; remove the identifiers from its text."""
    with gzip.open(path) as file:
        return [_labelled(number, line) for number, line in enumerate(orjson.loads(file.read()), 1)]


def _labelled(number: int, line: Mapping[str, str]) -> Labelled:
    text = strip(one_line(line["reference"]))
    raw = Reference(id=f"glutton:{number}", citing=f"glutton:citing:{number}", position=1, raw_text=text)
    found = {name: " ".join(line.get(name, "").split()) or None for name in ("atitle", "jtitle", "volume", "firstPage")}
    author = line.get("firstAuthor", "").strip()
    fields = raw.model_copy(
        update={
            "title": found["atitle"], "venue": found["jtitle"], "volume": found["volume"], "first_page": found["firstPage"],
            "last_names": (author,) if author else (),
        }
    )  # fmt: skip
    return Labelled(raw, fields, Ids(doi=normalise_doi(line["doi"]), pmid=normalise_pmid(line.get("pmid", ""))))


class Targets:
    """The catalog works that a label denotes: those with its DOI or PMID, and the other works of their groups."""

    def __init__(self, listings: Sequence[Listing]) -> None:
        self._groups = Groups.read(listings)
        self._by_key: dict[str, list[str]] = defaultdict(list)
        self._by_record: dict[tuple[RecordKey, int], list[str]] = defaultdict(list)
        for work in (listing.work for listing in listings):
            for id_key in work.ids.keys():  # noqa: SIM118
                self._by_key[id_key].append(work.id)
            key = RecordKey.of(work.title, work.volume, work.fpage)
            if all(key) and work.year:
                self._by_record[key, work.year].append(work.id)

    def by_identifier(self, label: Ids) -> frozenset[str]:
        """Return the ids of the works with the label's identifiers, and of the works in their groups."""
        found = (id_ for key in label.keys() for id_ in self._by_key.get(key, ()))  # noqa: SIM118
        return frozenset(same for id_ in found for same in self._groups.same(id_))

    def by_rule(self, fields: Reference) -> frozenset[str]:
        """Return the ids of the works (and their groups) equal by title, volume, first page, and a year of the text."""
        key = RecordKey.of(fields.title, fields.volume, fields.first_page)
        equal = (id_ for year in years(fields.raw_text) for id_ in self._by_record.get((key, year), ()))
        return frozenset(same for id_ in equal for same in self._groups.same(id_))


def answers(links: Iterable[Link], targets: Iterable[frozenset[str]], catalog: Catalog) -> list[Answer]:
    """Return the answers; a link is right if it names any denoted work, by the one id that the catalog gives a work."""
    return [
        Answer(bool(meant), link.cited is not None, link.cited in set(map(catalog.canonical, meant)))
        for link, meant in zip(links, targets, strict=True)
    ]


def measure(data: Path, library: Library, limit: int | None = None) -> Table:
    """Return every figure of the set. ``data``: the folder with works.jsonl.gz and benchmarks/."""
    labelled = read(data / "benchmarks" / "biblio_glutton" / FILE)[:limit]
    return Table(
        name="glutton", title=f"biblio-glutton: {len(labelled):,} citations read from PDF", peers=PEERS, notes=NOTES,
        rows=[*shared(labelled, list(read_works(data / "works.jsonl.gz")), library), *own(labelled, library)],
    )  # fmt: skip


def shared(labelled: Sequence[Labelled], listings: Sequence[Listing], library: Library) -> list[Row]:
    """Link into a catalog that was made without the set: most citations are absent from it."""
    targets, catalog = Targets(listings), library.catalog([listing.work for listing in listings])
    by_identifier = [targets.by_identifier(each.label) for each in labelled]
    by_rule = [known or targets.by_rule(each.fields) for each, known in zip(labelled, by_identifier, strict=True)]
    agree = [each.agrees() for each in labelled]
    rows = []
    for way, what in WAYS.items():
        links = library.link([each.reference(way) for each in labelled], catalog, f"glutton, {what}")
        name = f"{len(listings):,} works, {what}"
        for part, meant in (("label in the catalog", by_identifier), ("or an equal record", by_rule)):
            given = answers(links, meant, catalog)
            rows.append(Row(name, part, scores(given), wrong(labelled, links, given, meant)))
        agreeing = [answer for answer, agrees in zip(answers(links, by_rule, catalog), agree, strict=True) if agrees]
        rows.append(Row(name, "the same, text agrees with label", scores(agreeing)))
    return rows


def own(labelled: Sequence[Labelled], library: Library) -> list[Row]:
    """Link into the set's own works, one for each DOI as its first citation describes it.

    That citation would find itself, so only the later citations, ``cited again``, are informative. Then half of the works are
    removed, by a hash of the DOI: their citations are absent.
    """
    works: dict[str, Work] = {}
    again = []
    for each in labelled:
        doi = each.label.doi or each.fields.id
        again.append(doi in works)
        works.setdefault(doi, work_of(each, doi))
    catalog, rows = library.catalog(list(works.values())), []
    for half in (False, True):
        if half:
            catalog.remove(id_ for id_ in works if is_removed(id_))
        for way, what in WAYS.items():
            links = library.link([each.reference(way) for each in labelled], catalog, f"glutton's own works, {what}")
            meant = [
                frozenset([doi] if doi in catalog else []) for doi in (each.label.doi or each.fields.id for each in labelled)
            ]
            given = answers(links, meant, catalog)
            found = wrong(labelled, links, given, meant)
            name = f"own {len(catalog):,} works, {what}"
            rows.append(Row(name, "half removed" if half else "all", scores(given), found))
            of_again = [answer for answer, second in zip(given, again, strict=True) if second]
            rows.append(Row(name, f"{'half removed' if half else 'all'}, cited again", scores(of_again)))
    return rows


def work_of(each: Labelled, id_: str) -> Work:
    """Return the work that a citation's fields describe, without identifiers, which would be uninformative here."""
    fields = each.fields
    # A year in the title is seldom that of the work.
    (year, *_) = sorted(years(fields.raw_text) - years(fields.title)) or sorted(years(fields.raw_text)) or (None,)
    return Work(
        id=id_, title=fields.title, authors=fields.last_names, venue=fields.venue, year=year, volume=fields.volume,
        fpage=fields.first_page,
    )  # fmt: skip


def wrong(
    labelled: Sequence[Labelled], links: Sequence[Link], given: Sequence[Answer], meant: Sequence[frozenset[str]]
) -> list[dict[str, Any]]:
    """Return the cases to inspect: wrong links, and targets that were not linked."""
    return [
        {
            **mistake(answer, link), "reference": each.raw.id, "doi": each.label.doi, "pmid": each.label.pmid,
            "meant": sorted(ids), "runner_up": link.runner_up.cited if link.runner_up else None,
        }
        for each, link, answer, ids in zip(labelled, links, given, meant, strict=True)
        if not answer.right and (answer.linked or answer.present)
    ]  # fmt: skip


WAYS: Final = {"raw": "text alone", "fields": "text and fields"}
NOTES: Final = (
    "The peers searched all of Crossref, in which nearly every citation has its work. Here most have "
    "none: recall is easier among fewer works, not linking is harder. Precision is the figure that comes nearest to theirs.",
    "'label in the catalog': present is what has its DOI or PMID there. 'or an equal record': what has a record there with "
    "equal title, year, volume and first page under other identifiers counts as present too, linked or not; none is dropped.",
    "'text agrees with label': leaves out citations whose text has neither the title nor the first page of their label's "
    "fields: they were aligned with another entry's label.",
    "Peers were given the text alone. 'and fields': these look like the publisher's, though its account calls them GROBID's, "
    "and so that is the input of one who reads XML, not comparable with the peers.",
    "Own works are made of the citations' own fields: all but those 'cited again' match themselves. It shows that nothing is "
    "lost among look-alikes, and is no accuracy to be compared with the peers'.",
    "Some labels are wrong at the publishers, as the set's authors say; the peers' figures suffer from it alike.",
)  # fmt: skip

"""PubMed's reference lists: 85,218 citations as mere text with an id, 61% of them journal, date, volume and pages alone.

They are linked into the works of the shared data together with PubMed's records. Most cited works are absent, as in any catalog
of this size. No vector is needed, because the linker searches only titles by vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.labels.report import Row, Table
from benchmarks.labels.scores import Answer, scores
from reflink.blocking.untitled import read
from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.evaluation import pubmed
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.records import read_works
from reflink.evaluation.worlds import Groups
from reflink.linking.policy import Policy

NOTES = (
    "Present: the catalog has a work with the pmid or doi that PubMed gives for the citation. A link of an absent citation is "
    "false if the linked work has an identifier of the same kind; links to works without one are left out.",
    "The card of citations without title was trained on the first part; each is judged by the model that was not trained on "
    "its citing paper. Nothing was trained on the second part.",
)


def measure(data: Path, limit: int | None = None) -> Table:
    """Return the figures of both parts. ``data``: the folder with works.jsonl.gz and pubmed/."""
    listings = pubmed.merged(read_works(data / "works.jsonl.gz"), pubmed.read_works(data / "pubmed"))
    groups, works = Groups.read(listings), {listing.work.id: listing.work for listing in listings}
    catalog = Catalog.empty(lexical_mode=Policy().lexical_mode)
    catalog.add(list(works.values()))
    cited = list(pubmed.read_references(data / "pubmed"))
    untitled = [each for each in cited if read(each.reference.raw_text)]
    titled = [each for each in cited if not read(each.reference.raw_text)]
    parts = {"journal, date, volume and pages alone": untitled, "other texts": titled}
    rows = [_row(name, part[:limit], catalog, groups, works) for name, part in parts.items()]
    return Table(name="pubmed", title=f"PubMed: {len(cited):,} citations with an id", peers=(), notes=NOTES, rows=rows)


def _row(name: str, cited: Sequence[pubmed.Cited], catalog: Catalog, groups: Groups, works: dict[str, Work]) -> Row:
    truths = {query.reference.id: query.truth for query in pubmed.queries(cited, works.values())}
    links = link_held_out([each.reference for each in cited], catalog, None, Policy(), HeldOut.shipped(), name)
    answers: list[Answer] = []
    wrong: list[dict[str, Any]] = []
    for each, link in zip(cited, links, strict=True):
        truth = truths.get(each.reference.id)
        meant = () if truth is None else {catalog.canonical(id_) for id_ in groups.same(truth)}
        right = link.cited is not None and link.cited in meant
        if link.cited is not None and not right and not pubmed.is_false(each.ids, works[link.cited]):
            continue
        answers.append(Answer(truth is not None, link.cited is not None, right))
        if link.cited is not None and not right:
            wrong.append({"text": each.reference.raw_text, "ids": each.ids.keys(), "cited": link.cited, "truth": truth})
    return Row(f"{len(works):,} works, text alone", name, scores(answers), wrong)

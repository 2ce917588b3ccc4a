"""Sets of records with labels: which of them are one article. Identifiers are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from benchmarks.labels import dblp_acm, fuzzycat
from benchmarks.merging.unions import union
from reflink.entities import Ids, Work
from reflink.evaluation import pubmed
from reflink.evaluation.records import lines, read_works, reference_of

Pair = tuple[int, int]

#: fatcat's types of records by the names of Crossref.
_TYPES: Final = {
    "article-journal": "journal-article", "post": "posted-content", "chapter": "book-chapter", "book": "book",
    "paper-conference": "proceedings-article", "dataset": "dataset", "report": "report", "thesis": "dissertation",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Labelled:
    """Records, and the pairs of their positions that are one article.

    ``known``: the pairs that have a label; None if all have, those that are not in ``same`` as other articles.
    """

    name: str
    works: list[Work]
    same: frozenset[Pair]
    known: frozenset[Pair] | None = None


def title_group(data: Path) -> Labelled:
    """Works of the shared data; one article: a ``title_group``, works with several ids that have one title."""
    listings = list(read_works(data / "works.jsonl.gz"))
    groups: dict[str, list[int]] = {}
    for at, listing in enumerate(listings):
        groups.setdefault(listing.group, []).append(at)
    return Labelled("title_group", [_bare(each.work) for each in listings], _pairs(groups.values()))


def with_identifiers(data: Path) -> Labelled:
    """The same works with their identifiers, of which two groups' works have none in common, as in a catalog."""
    listings = list(read_works(data / "works.jsonl.gz"))
    plain = title_group(data)
    works = [listing.work.model_copy(update={"id": work.id}) for listing, work in zip(listings, plain.works, strict=True)]
    return Labelled("title_group with ids", works, plain.same)


def dblp_and_acm(data: Path) -> Labelled:
    """Records of database papers of DBLP and of ACM; one article: a pair of the mapping."""
    folder = data / "benchmarks" / "dblp_acm"
    sides = {kind: dblp_acm.read(folder / f"{kind}.csv", kind) for kind in ("dblp", "acm")}
    works = [work for records in sides.values() for work, _ in records.values()]
    place = {work.id: at for at, work in enumerate(works)}
    truth = dblp_acm.read_truth(folder / "gt.csv")
    return Labelled("dblp_acm", works, _pairs((place[f"dblp:{a}"], place[f"acm:{b}"]) for a, b in truth.items()))


def fuzzycat_pairs(data: Path) -> Labelled:
    """Records of fatcat; labelled pairs only, EXACT and STRONG as one article, DIFFERENT as two."""
    pairs = fuzzycat.read(data / "benchmarks" / "fuzzycat")
    works: dict[str, Work] = {}
    same, known = [], []
    for pair in pairs:
        for release in (pair.left, pair.right):
            works.setdefault(release["ident"], _release(release))
        if pair.status in (*fuzzycat.SAME, fuzzycat.DIFFERENT):
            known.append(pair.names)
        if pair.status in fuzzycat.SAME:
            same.append(pair.names)
    place = {name: at for at, name in enumerate(works)}

    def placed(names: Iterable[tuple[str, str]]) -> frozenset[Pair]:
        return _pairs((place[a], place[b]) for a, b in names)

    return Labelled("fuzzycat", list(works.values()), placed(same), placed(known))


def citations(data: Path) -> Labelled:
    """Citations with fields of works that several papers of the shared data cite, as in Cora; one article: one cited work."""
    cited = Counter()  # type: Counter[str]
    records: list[tuple[str, dict[str, Any]]] = []
    for _, record in lines(data / "references_dev.jsonl.gz"):
        if record.get("work") and record.get("title") and not record.get("id_conflict"):
            cited[record["work"]] += 1
            records.append((record["work"], record))
    works: list[Work] = []
    groups: dict[str, list[int]] = {}
    for target, record in records:
        if cited[target] > 1:
            groups.setdefault(target, []).append(len(works))
            reference = reference_of(record)
            works.append(
                Work(
                    id=f"citation:{len(works)}", title=reference.title, authors=reference.last_names, venue=reference.venue,
                    year=reference.year, volume=reference.volume, issue=reference.issue, fpage=reference.first_page,
                )
            )  # fmt: skip
    return Labelled("citations", works, _pairs(groups.values()))


def pubmed_and_works(data: Path) -> Labelled:
    """PubMed's records with the works of the shared data; one article: a common PMID or DOI, or a ``title_group``."""
    listings = list(read_works(data / "works.jsonl.gz"))
    records = [listing.work for listing in listings] + list(pubmed.read_works(data / "pubmed"))
    bearers: dict[str, list[int]] = {}
    for at, work in enumerate(records):
        for key in work.ids.keys():  # noqa: SIM118
            bearers.setdefault(key, []).append(at)
    for at, listing in enumerate(listings):
        bearers.setdefault(f"group:{listing.group}", []).append(at)
    return Labelled("pubmed", [_bare(work) for work in records], _pairs(union(bearers.values())))


SETS: Final = {
    "dblp_acm": dblp_and_acm, "fuzzycat": fuzzycat_pairs, "citations": citations, "title_group": title_group,
    "title_group_ids": with_identifiers, "pubmed": pubmed_and_works,
}  # fmt: skip


def _pairs(groups: Iterable[Iterable[int]]) -> frozenset[Pair]:
    return frozenset(pair for group in groups for pair in combinations(sorted(group), 2))


def _bare(work: Work) -> Work:
    return work.model_copy(update={"ids": Ids()})


def _release(release: dict[str, Any]) -> Work:
    original = release.get("original_title")
    more = {"type": _TYPES.get(release.get("release_type") or ""), "translated_titles": (original,) if original else ()}
    return fuzzycat.work_of(release).model_copy(update=more)

"""The training pairs: works that the linker proposes for references whose target is known, right and wrong.

1. A source gives references with a target in the catalog. Their pairs are all proposed works. A source with natural absence
   (PubMed) also gives references without one; their pairs are the proposed works that they cannot cite.
2. A reference of the JATS articles is used in three forms, so that each scorecard has enough pairs: as it is, without its
   title, and only the citation as written. A reference of PubMed is used as it is, a mere text. Identifiers are never used.
3. The probability of a link is calibrated where half of the references have no target. The pairs of the articles cover both
   halves: the wrong works would be proposed also if the target were missing, and half of the catalog has half of them. The
   absent references of PubMed, which are more than nine of ten, weigh together as much as those with a target.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Reference, Work
from reflink.evaluation import pubmed
from reflink.evaluation.linking import tracked
from reflink.evaluation.records import Query, without_identifiers
from reflink.evaluation.regression import Flags, Floats
from reflink.evaluation.same_record import is_same_record
from reflink.evaluation.worlds import Groups, hidden
from reflink.journals.table import Journals
from reflink.linking.linker import propose
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.verdict.batch import compare_all

FOLDS: Final = 5
#: Candidates of each search for a reference with a target: more than twice the linker's number, because the open world lacks
#: about half of them.
CANDIDATES: Final = 12
#: Candidates of the search for a reference without a target: the best ones, which a link would be to.
NEAREST: Final = 4
#: Sources of references, by the value of ``Pairs.source``.
SOURCES: Final = ("jats", "pubmed")
_BATCH: Final = 256


def without_title(reference: Reference) -> Reference:
    """Return the reference as if it had been written without a title."""
    title = reference.title or reference.chapter_title
    if not title:
        return reference
    written = " ".join(reference.raw_query.replace(title, " ").split())
    return reference.model_copy(update={"title": None, "chapter_title": None, "raw_text": written, "raw_noid": None})


#: The forms in which each reference of an article is used.
FORMS: Final[tuple[Callable[[Reference], Reference], ...]] = (lambda reference: reference, without_title, hidden)


@dataclass(frozen=True)
class Pairs:
    """Training pairs.

    ``rows`` float64 [n, columns]: evidence. ``y`` bool [n]: the work is the target. ``fold`` int [n]: fold of the citing paper.
    ``query`` int [n]: number of the reference, form after form; numbers below ``asked`` are the articles' references as they
    are. ``removed`` bool [n]: the open world lacks the work. ``source`` int [n]: position in SOURCES. ``weight`` float64 [n]:
    how often the pair counts.
    """

    rows: Floats
    y: Flags
    fold: NDArray[np.int64]
    query: NDArray[np.int64]
    removed: Flags
    source: NDArray[np.int64]
    weight: Floats
    asked: int

    @property
    def as_they_are(self) -> Flags:
        """Whether the pair is of a reference as its source gives it: bool [n]."""
        return np.asarray((self.query < self.asked) | (self.source > 0))

    def and_more(self, other: Pairs) -> Pairs:
        """Return these pairs and those of other references, numbered after them."""
        names = ("rows", "y", "fold", "removed", "source", "weight")
        both = {name: np.concatenate((getattr(self, name), getattr(other, name))) for name in names}
        query = np.concatenate((self.query, other.query + self.query.max(initial=self.asked) + 1))
        return Pairs(**both, query=query, asked=self.asked)


def fold_of(citing: str) -> int:
    """Return the fold of a citing paper, 0 to 4."""
    return int(hashlib.sha1(citing.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


@dataclass(frozen=True, slots=True)
class _Proposed:
    """A reference, and (work, is the target, is removed in the open world) of each pair."""

    number: int
    reference: Reference
    works: Sequence[tuple[Work, bool, bool]]


def collect(
    queries: Sequence[Query],
    groups: Groups,
    catalog: Catalog,
    encoder: Encodes | None,
    forms: Sequence[Callable[[Reference], Reference]] = FORMS,
) -> Pairs:
    """Return all pairs proposed for references with a target, in every form.

    For a reference without a title the first two forms are equal, so its pairs occur twice.
    """
    policy, removed = Policy(candidates=CANDIDATES), groups.removed()
    parts: list[Pairs] = []
    for number, form in enumerate(forms):
        for start in tracked(range(0, len(queries), _BATCH), "collecting pairs"):
            batch = queries[start : start + _BATCH]
            references = [form(without_identifiers(query.reference)) for query in batch]
            found = []
            for row, ids in enumerate(propose(references, NativeCandidates(catalog, encoder), policy)):
                right, target = set(groups.same(batch[row].truth)), catalog.get(batch[row].truth)
                works = [
                    (work, work.id in right, work.id in removed)
                    for work in _citable(references[row], ids, catalog)
                    if work.id in right or target is None or not is_same_record(target, work)
                ]
                found.append(_Proposed(number * len(queries) + start + row, references[row], works))
            parts.append(_compared(found, len(queries), catalog.journals))
    return _joined(parts, len(queries))


def collect_absent(cited: Sequence[pubmed.Cited], catalog: Catalog) -> Pairs:
    """Return the pairs of references whose work is not in the catalog: the proposed works that they cannot cite, all wrong."""
    policy = Policy(candidates=NEAREST)
    parts: list[Pairs] = []
    for start in tracked(range(0, len(cited), _BATCH), "collecting pairs of absent works"):
        batch = cited[start : start + _BATCH]
        references = [each.reference for each in batch]
        proposed = propose(references, NativeCandidates(catalog), policy)
        found = [
            _Proposed(
                start + row,
                each.reference,
                [(work, False, False) for work in _citable(each.reference, ids, catalog) if pubmed.is_false(each.ids, work)],
            )
            for row, (each, ids) in enumerate(zip(batch, proposed, strict=True))
        ]
        parts.append(_compared(found, 0, catalog.journals))
    return _joined(parts, 0)


def of_pubmed(cited: Sequence[pubmed.Cited], groups: Groups, catalog: Catalog) -> Pairs:
    """Return the pairs of PubMed's references, those of absent works weighted to count as much as the others together."""
    queries = pubmed.queries(cited, catalog)
    present = {query.reference.id for query in queries}
    absent = [each for each in cited if each.reference.id not in present]
    pairs, others = collect(queries, groups, catalog, None, forms=FORMS[:1]), collect_absent(absent, catalog)
    weight = len(queries) / len(absent) if absent else 1.0
    both = pairs.and_more(replace(others, weight=np.full(len(others.y), weight)))
    return replace(both, source=np.full(len(both.y), SOURCES.index("pubmed")))


def _citable(reference: Reference, ids: Sequence[str], catalog: Catalog) -> list[Work]:
    """Return the proposed works without the citing paper itself."""
    own = catalog.canonical(reference.citing)
    return [work for id_ in ids if catalog.canonical(id_) != own and (work := catalog.get(id_)) is not None]


def _compared(found: Sequence[_Proposed], asked: int, journals: Journals | None) -> Pairs:
    """Return the pairs of a batch with their evidence."""
    works: dict[str, int] = {}
    listed: list[Work] = []
    at: list[tuple[int, int]] = []
    facts: list[tuple[bool, int, int, bool]] = []
    for row, each in enumerate(found):
        for work, right, removed in each.works:
            column = works.setdefault(work.id, len(listed))
            if column == len(listed):
                listed.append(work)
            at.append((row, column))
            facts.append((right, fold_of(each.reference.citing), each.number, removed))
    references, positions = [each.reference for each in found], np.array(at, np.int64).reshape(-1, 2)
    rows = compare_all(references, listed, positions, journals=journals)
    y, fold, query, gone = np.array(facts, np.int64).reshape(-1, 4).T
    n = len(facts)
    return Pairs(rows, y.astype(bool), fold, query, gone.astype(bool), np.zeros(n, np.int64), np.ones(n), asked)


def _joined(parts: Sequence[Pairs], asked: int) -> Pairs:
    parts = parts or [_compared((), asked, None)]
    names = ("rows", "y", "fold", "query", "removed", "source", "weight")
    return Pairs(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}, asked=asked)

"""What the network learns from: references with a known work, and the pairs of a batch.

References of the citing papers in the test fold (`reflink.evaluation.pairs.fold_of`) are never used, and neither are the works
that its queries cite. Of the other papers 15% are for validation, by a hash of the citing paper.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from reflink.evaluation.pairs import fold_of
from reflink.evaluation.records import KINDS, Query, lines, reference_of
from reflink.evaluation.worlds import Groups
from reflink.folding import fold

#: The fold of citing papers that is kept for the test.
TEST_FOLD: Final = 0
#: Percent of the other citing papers that are for validation.
VALIDATION: Final = 15
#: Pairs of a batch.
BATCH: Final = 256
#: Negatives of each positive in the version with several; half of them share an author with the work if there are such.
SEVERAL: Final = 4

Part = Literal["test", "validation", "training"]


def part_of(citing: str) -> Part:
    """Return what the references of a citing paper are for."""
    if fold_of(citing) == TEST_FOLD:
        return "test"
    digest = int(hashlib.sha1(f"validation {citing}".encode(), usedforsecurity=False).hexdigest(), 16)
    return "validation" if digest % 100 < VALIDATION else "training"


def is_in_first_half(venue: str | None) -> bool:
    """Return whether a journal is in the first half of all journals, by a hash of its folded name. Without one: False."""
    name = fold(venue or "")
    return bool(name) and hashlib.sha1(name.encode(), usedforsecurity=False).digest()[0] % 2 == 0


def read_known(path: Path) -> Iterator[Query]:
    """Yield every reference with a known work, whatever the source of the work's metadata; kind "any" if not in KINDS.

    Unlike the protocol's queries it includes references that are themselves the source of the work's metadata, as all citations
    of the paper's training data are. Raises BadRecord.
    """
    for _, data in lines(path):
        if data.get("work") and not data.get("id_conflict"):
            kind = data.get("query")
            yield Query(reference_of(data), data["work"], kind if kind in KINDS else "any")


def select(
    known: Sequence[Query], groups: Groups, limit: int, keep: Callable[[Query], bool] = lambda query: True
) -> dict[Part, list[Query]]:
    """Return the references of each part; for training at most ``limit``, and for validation 15% of it, by a hash of their ids.

    The test part has the protocol's queries alone. ``keep``: which references the other parts may have.
    """
    parts: dict[Part, list[Query]] = {"test": [], "validation": [], "training": []}
    for query in known:
        parts[part_of(query.reference.citing)].append(query)
    parts["test"] = [query for query in parts["test"] if query.kind in KINDS]
    tested = {groups.of.get(query.truth, query.truth) for query in parts["test"]}
    limits: tuple[tuple[Part, int], ...] = (("training", limit), ("validation", limit * VALIDATION // 100))
    for part, most in limits:
        kept = [query for query in parts[part] if groups.of.get(query.truth, query.truth) not in tested and keep(query)]
        parts[part] = sorted(kept, key=_drawn)[:most]
    return parts


def _drawn(query: Query) -> str:
    return hashlib.sha1(query.reference.id.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Example:
    """A reference and its work: numbers of the tokens of both texts, the group of equal works, the folded last names."""

    metadata: Sequence[int]
    citation: Sequence[int]
    group: str
    names: frozenset[str]


class Batch(NamedTuple):
    """Pairs (number of a metadata text, number of a citation, 1 for a match) and the texts, each of which occurs once."""

    metadata: list[Sequence[int]]
    citations: list[Sequence[int]]
    pairs: list[tuple[int, int, int]]


def batches(examples: Sequence[Example], several: bool, seed: int) -> Iterator[Batch]:
    """Yield all examples in random order, in batches of BATCH pairs of texts of similar length.

    Each work has one match and one negative, the citation of another work of the batch, or with ``several`` SEVERAL negatives.
    An example without another work in its batch has no negative.
    """
    rng = random.Random(seed)
    size = BATCH // (1 + (SEVERAL if several else 1))
    order = sorted(
        range(len(examples)), key=lambda at: (len(examples[at].metadata) + len(examples[at].citation)) * rng.uniform(0.8, 1.2)
    )
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    rng.shuffle(chunks)
    by_name = _by_name(examples) if several else {}
    for chunk in chunks:
        rng.shuffle(chunk)
        yield _batch(examples, chunk, by_name, several, rng)


def _batch(
    examples: Sequence[Example], chunk: Sequence[int], by_name: Mapping[str, Sequence[int]], several: bool, rng: random.Random
) -> Batch:
    column = {row: at for at, row in enumerate(chunk)}
    pairs: list[tuple[int, int, int]] = []
    for at, row in enumerate(chunk):
        group = examples[row].group
        pairs.append((at, at, 1))
        near = _sharing(examples, row, by_name, rng, SEVERAL // 2) if several else []
        others = (chunk[(at + step) % len(chunk)] for step in range(1, len(chunk)))
        apart = (other for other in others if examples[other].group != group)
        wanted = (SEVERAL if several else 1) - len(near)
        found = near + [other for other, _ in zip(apart, range(wanted), strict=False)]
        pairs += [(at, column.setdefault(other, len(column)), 0) for other in found]
    return Batch([examples[row].metadata for row in chunk], [examples[row].citation for row in column], pairs)


def _sharing(
    examples: Sequence[Example], row: int, by_name: Mapping[str, Sequence[int]], rng: random.Random, most: int
) -> list[int]:
    """Return at most ``most`` examples of other works that share an author."""
    own = examples[row]
    others = sorted({other for name in own.names for other in by_name[name] if examples[other].group != own.group})
    return rng.sample(others, min(most, len(others)))


def _by_name(examples: Sequence[Example]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for row, example in enumerate(examples):
        for name in example.names:
            found[name].append(row)
    return found

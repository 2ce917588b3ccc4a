"""Families of works that are easily confused, with the cited work: cases from the real data, by id only.

``families.json`` lists for each family references by ``rid``, the cited ``work`` (None: not among the records), and similar
works ``beside`` it that were not cited. Each entry gives two cases: with the cited work in the catalog it must be linked, and
without it no other work may be linked. ``only`` selects one of the two: if a text was published in several places, a link to
another of them is not an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reflink.catalog import Catalog
from reflink.entities import Link, Reference, Work
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.records import lines, reference_of, without_identifiers, work_of
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy

_LISTED = Path(__file__).with_name("families.json")


@dataclass(frozen=True)
class Case:
    """A reference, the works in its catalog, and the cited one of them, if any."""

    family: str
    rid: str
    catalog: tuple[str, ...]
    cited: str | None

    def __str__(self) -> str:
        return f"{self.family}-{self.rid}-{'refuse' if self.cited is None else 'link'}"


def cases() -> Iterator[Case]:
    """Yield all cases, family by family."""
    for family, entries in json.loads(_LISTED.read_text("utf-8")).items():
        for entry in entries:
            work, beside, only = entry["work"], tuple(entry["beside"]), entry.get("only")
            if work is not None and only != "refuse":
                yield Case(family, entry["rid"], (work, *beside), work)
            if beside and only != "link":
                yield Case(family, entry["rid"], beside, None)


@dataclass(frozen=True)
class Records:
    """The references of the cases, without identifiers, and their works."""

    references: Mapping[str, Reference]
    works: Mapping[str, Work]

    @classmethod
    def read(cls, folder: Path) -> Records:
        """Read them from the real data in ``folder``."""
        named = list(cases())
        rids, ids = {case.rid for case in named}, {id_ for case in named for id_ in case.catalog}
        references = (data for _, data in lines(folder / "references_dev.jsonl.gz") if data["rid"] in rids)
        works = (data for _, data in lines(folder / "works.jsonl.gz") if data["id"] in ids)
        return cls(
            {data["rid"]: without_identifiers(reference_of(data)) for data in references},
            {data["id"]: work_of(data) for data in works},
        )


def link(reference: Reference, works: Iterable[Work], judges: HeldOut, policy: Policy | None = None) -> Link:
    """Link the reference in a catalog of these works, by a judge that was not trained on its citing paper."""
    policy = policy or Policy()
    catalog = Catalog.empty(lexical_mode=policy.lexical_mode)
    catalog.add(list(works))
    (made,) = Linker(catalog, None, policy, judge=judges.of(reference.citing)).link([reference])
    return made

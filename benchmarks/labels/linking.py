"""Link with the whole library, and apply the verdict to single pairs; identifiers are never given."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.labels.scores import Answer
from reflink.catalog import Catalog
from reflink.entities import Ids, Link, Reference, Work
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.run import build_catalog, default_encoder
from reflink.evaluation.vectors import CachedEncoder
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.verdict import evidence, judge


@dataclass(frozen=True)
class Library:
    """The encoder and the policy for all sets."""

    encoder: CachedEncoder
    policy: Policy

    @staticmethod
    def seed(cache: Path, known: Path) -> None:
        """Initialise a missing ``cache`` with the vectors of another, so that no text is encoded twice."""
        if cache.exists() or not known.is_dir():
            return
        partial = cache.with_name(f"{cache.name}.partial.{os.getpid()}")
        partial.mkdir(parents=True)
        # Vectors are written before their keys: keys copied first never lack their vectors.
        for suffix in ("keys", "f16"):
            for path in known.glob(f"*.{suffix}"):
                shutil.copyfile(path, partial / path.name)
        partial.rename(cache)

    @classmethod
    def of(cls, cache: Path, policy: Policy | None = None) -> Library:
        """Use the default encoder, with its vectors kept under ``cache``. Raises ModelNotFound."""
        return cls(default_encoder(cache), policy or Policy())

    def catalog(self, works: Sequence[Work]) -> Catalog:
        """Return a catalog of these works with both indexes."""
        return build_catalog(works, self.encoder, self.policy)

    def link(self, references: Sequence[Reference], catalog: Catalog, what: str) -> list[Link]:
        """Link each by the shipped verdict: no set here names its citing papers, so none can be held out."""
        return link_held_out(references, NativeCandidates(catalog, self.encoder), self.policy, HeldOut.shipped(), what)


def mistake(answer: Answer, link: Link) -> dict[str, Any]:
    """Return the kind of a mistake, and the link with its evidence."""
    kind = "missed" if not answer.linked else "other work" if answer.present else "absent"
    known = {"probability": link.probability, "method": link.method, "reasons": list(link.reasons)}
    return {"kind": kind, "cited": link.cited, **known}


def probability(reference: Reference, work: Work) -> float:
    """Return the probability that the reference cites the work, from the two records without identifiers."""
    bare = reference.model_copy(update={"ids": Ids(), "ids_weak": Ids()})
    return judge(evidence(bare, work.model_copy(update={"ids": Ids()}))).probability

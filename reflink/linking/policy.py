"""Thresholds for deciding links, and the entities that the semantic step passes to the lexical one (reflink.linking.linker)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Final, Literal

from reflink import shipped
from reflink.entities import Candidate, Entity, Reference
from reflink.text import Mode

Profile = Literal["paper", "production"]
#: What to do where the best candidate is another version of the cited work: name it without a link, or link to it.
Versions = Literal["report", "link"]

#: The search that comes first. Only references that it leaves open are searched by the other one.
First = Literal["vectors", "trigrams"]

#: Fields of Policy without effect in a profile.
_IDLE: Final[dict[Profile, frozenset[str]]] = {
    "paper": frozenset({"sure", "refuse", "accept", "precision", "lexical_floor", "absent", "versions", "first"}),
    "production": frozenset({"threshold"}),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Thresholds for deciding links.

    ``threshold``: minimum cosine at which profile ``paper`` links the semantic top-1 (method: 0.7959 for SBERT and mode TVL).
    ``candidates``: maximum number of candidates of each stage. ``first``: the search of the semantic step; profile ``paper``
    always searches vectors first.

    In profile ``production``:

    - ``sure``: minimum probability at which the semantic stage links at once
    - ``refuse``: probability below which the semantic stage decides at once that the work is not in the catalog, for references
      with a title, volume, first page, and an author or year
    - ``accept``: minimum probability at which the lexical stage links
    - ``precision``: instead of ``accept``, the required share of right links (reflink.verdict.rates)
    - ``lexical_floor``: minimum s of its candidates (docs/lexical.md states the cost)
    - ``absent``: share of references whose work is not in the catalog; a higher share makes every link less probable
    - ``versions``: ``report`` another version of the cited work without a link, or ``link`` to it
    """

    profile: Profile = "production"
    threshold: float = 0.7959
    semantic_mode: Mode = "TVL"
    lexical_mode: Mode = "Raw"
    sure: float = 0.97
    refuse: float = 0.001
    accept: float = 0.5
    precision: float | None = None
    candidates: int = 5
    lexical_floor: float | None = None
    absent: float = 0.5
    versions: Versions = "report"
    first: First = "vectors"

    def accept_at(self, absent: float) -> float:
        """Return the minimum probability of a link where a share ``absent`` of the works is absent."""
        if self.precision is None:
            return self.accept
        # Importing the verdict imports numba, which most readers of a policy do not need.
        from reflink.verdict.judge import shipped as model
        from reflink.verdict.rates import least_for

        return least_for(model().rates, self.precision, absent)

    def fingerprint(self) -> str:
        """Return 8 hexadecimal digits that identify the decisions: with one catalog and encoder, same digits mean same links.

        In profile ``production`` they cover the shipped verdict too. Fields without effect in the profile are left out.
        """
        settings = {name: value for name, value in asdict(self).items() if name not in _IDLE[self.profile]}
        if self.first == "vectors":  # older events, which do not know the field, have the same digits
            settings.pop("first", None)
        # 1 and 1.0 are the same threshold.
        settings = {name: float(value) if isinstance(value, int) else value for name, value in settings.items()}
        if self.profile == "production":
            settings["verdict"] = shipped.SHA256["verdict/model.json"]
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


class Found(Entity):
    """The candidates that the semantic step found for an open reference. Ids are of single works, not yet canonical."""

    by_identifier: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    semantic: tuple[Candidate, ...] = ()


class Open(Entity):
    """A reference that the semantic step leaves to the lexical step. ``forbidden``: ids of works that are not candidates."""

    reference: Reference
    found: Found = Found()
    forbidden: tuple[str, ...] = ()

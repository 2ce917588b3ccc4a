"""How links are decided, and what passes between the two steps that decide them (reflink.linker)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reflink.entities import Candidate, Entity, Reference
from reflink.text import Mode

Profile = Literal["paper", "production"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How links are decided.

    ``threshold``: profile ``paper`` links the semantic top-1 from this cosine on (method: 0.7959 for SBERT and mode TVL).
    ``candidates``: how many each stage proposes. In profile ``production``, ``sure`` is the probability from which the semantic
    stage links at once, ``refuse`` that below which it says at once that the work is not in the catalog (of references with a
    title, volume and first page), ``accept`` that from
    which the lexical stage links at all, and ``lexical_floor`` the least s of what it proposes (docs/lexical.md says what one
    costs). ``absent``: the share of references whose work is not in the catalog; more of them make every link less probable.
    """

    profile: Profile = "production"
    threshold: float = 0.7959
    semantic_mode: Mode = "TVL"
    lexical_mode: Mode = "Raw"
    sure: float = 0.97
    refuse: float = 0.001
    accept: float = 0.5
    candidates: int = 5
    lexical_floor: float | None = None
    absent: float = 0.5


class Found(Entity):
    """What the semantic step found for a reference it did not settle. Ids are of single works, not yet canonical."""

    by_identifier: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    semantic: tuple[Candidate, ...] = ()


class Open(Entity):
    """A reference that the semantic step leaves to the lexical one."""

    reference: Reference
    found: Found = Found()

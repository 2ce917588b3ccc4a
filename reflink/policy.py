"""How links are decided, and what passes between the two steps that decide them (reflink.linker)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Final, Literal

from reflink import shipped
from reflink.entities import Candidate, Entity, Reference
from reflink.text import Mode

Profile = Literal["paper", "production"]

#: What decides nothing in a profile.
_IDLE: Final[dict[Profile, frozenset[str]]] = {
    "paper": frozenset({"sure", "refuse", "accept", "lexical_floor", "absent"}),
    "production": frozenset({"threshold"}),
}


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

    def fingerprint(self) -> str:
        """8 hexadecimal digits of all that decides but the catalog and the encoder: same digits, same links.

        In profile ``production`` that is the shipped verdict too. What has no say in the profile is left out.
        """
        said = {name: value for name, value in asdict(self).items() if name not in _IDLE[self.profile]}
        # 1 and 1.0 decide alike.
        said = {name: float(value) if isinstance(value, int) else value for name, value in said.items()}
        if self.profile == "production":
            said["verdict"] = shipped.SHA256["verdict/model.json"]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]


class Found(Entity):
    """What the semantic step found for a reference it did not settle. Ids are of single works, not yet canonical."""

    by_identifier: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    semantic: tuple[Candidate, ...] = ()


class Open(Entity):
    """A reference that the semantic step leaves to the lexical one. ``forbidden``: works that are no candidates."""

    reference: Reference
    found: Found = Found()
    forbidden: tuple[str, ...] = ()

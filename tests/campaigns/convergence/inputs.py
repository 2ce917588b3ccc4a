"""Random input: papers, works and overrides in any order, and a model of the state that they lead to."""

from __future__ import annotations

from typing import Any, Final, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import rule

from reflink.entities import Paper, Work
from schemas import OverrideEvent
from tests.campaigns.convergence import library
from tests.campaigns.convergence.library import Chance
from workers.papers.stage import PaperVersion

ACTIONS: Final = ("pin", "nothing", "forbid")
#: Targets of overrides: ids of works and papers, an identifier, and a work that never arrives.
TARGETS: Final = (*library.SLOTS, *library.PAPERS, "pmid:7", "doi:10.1000/nowhere")
#: Reference ids for overrides; the references may not exist yet.
_REFERENCES: Final = st.builds(lambda paper, place: f"{paper}#B{place}", st.sampled_from(library.PAPERS), st.integers(1, 4))


class Destination(Protocol):
    """Receives the input, in memory or on Kafka."""

    def publish(self, citing: str, version: int, paper: Paper | None) -> PaperVersion:
        """Publish a version of a paper, None to withdraw it; return the version as the parser reads it."""

    def load(self, work: Work) -> None:
        """Publish the current state of a work to the catalog."""

    def withdraw_work(self, work_id: str) -> None:
        """Publish a withdrawal and a tombstone of a work."""

    def override(self, reference: str, event: OverrideEvent | None) -> None:
        """Publish an override; None lifts it."""


class Inputs:
    """Sends random input, and keeps a model of it: the newest version of each paper, the newest works, and the overrides.

    The methods are rules of a state machine of Hypothesis, and work without one too.
    """

    destination: Destination

    def __init__(self) -> None:
        super().__init__()
        self.history: list[str] = []
        self.versions: dict[str, PaperVersion] = {}
        self.works: dict[str, Work] = {}
        self.overrides: dict[str, OverrideEvent] = {}
        #: Identifiers and entries of the newest version of each paper, by the paper's number.
        self.entries: dict[int, tuple[tuple[str, ...], tuple[library.Cited, ...]]] = {}
        self._number = 100

    def record(self, line: str) -> None:
        """Add a line to the history."""
        self.history.append(line)

    def _next(self) -> int:
        """Return a larger version of papers and overrides; the gaps are for versions that come late."""
        self._number += 10
        return self._number

    # Papers

    @rule(chance=library.chances)
    def paper(self, chance: Chance) -> None:
        """Publish a new version of any paper."""
        number, keys, entries = chance.paper()
        self._publish_newest(number, keys, entries)

    @rule(chance=library.chances)
    def revise(self, chance: Chance) -> None:
        """Publish a new version that differs little from the last one."""
        if self.entries:
            number = chance.one_of(sorted(self.entries))
            keys, entries = self.entries[number]
            self._publish_newest(number, keys, chance.revised(entries))

    @rule(chance=library.chances, near=st.booleans())
    def late_paper(self, chance: Chance, near: bool) -> None:
        """Publish a version that is older than the newest one and was not published before."""
        number, keys, entries = chance.paper()
        if (known := self.versions.get(library.PAPERS[number])) is not None:
            if near and number in self.entries:
                keys, entries = self.entries[number][0], chance.revised(self.entries[number][1])
            self._publish(known.citing, known.version - 5, library.paper(number, keys, entries))

    @rule(paper=st.sampled_from(library.PAPERS), late=st.booleans())
    def withdraw_paper(self, paper: str, late: bool) -> None:
        """Withdraw a paper by a new version, or by a version that is older than the newest one."""
        known = self.versions.get(paper)
        if known is not None:
            self._publish(paper, known.version - 7 if late else self._next(), None)

    def _publish_newest(self, number: int, keys: tuple[str, ...], entries: tuple[library.Cited, ...]) -> None:
        self.entries[number] = keys, entries
        self._publish(library.PAPERS[number], self._next(), library.paper(number, keys, entries))

    def _publish(self, citing: str, version: int, paper: Paper | None) -> None:
        content = "withdrawn" if paper is None else ", ".join(
            f"{each.id.partition('#')[2]}: {each.raw_text!r} {list(each.ids.keys())} {list(each.ids_weak.keys())}"
            for each in paper.references
        )  # fmt: skip
        own = "" if paper is None or len(paper.ids.keys()) == 1 else f" (also {paper.ids.keys()[1:]})"
        self.record(f"paper {citing} version {version}{own}: {content or 'without references'}")
        published = self.destination.publish(citing, version, paper)
        known = self.versions.get(citing)
        if known is None or known.version < version:
            self.versions[citing] = published

    # Works

    def load(self, work: Work) -> None:
        """Send the current state of a work."""
        self.record(f"work {work.to_json().decode()}")
        self.destination.load(work)
        self.works[work.id] = work

    @rule(chance=library.chances)
    def new_work(self, chance: Chance) -> None:
        """Load a work under any of the ids."""
        self.load(chance.work())

    @rule(chance=library.chances)
    def correct(self, chance: Chance) -> None:
        """Replace one field of a work by the field of any publication."""
        if work := self._some(chance):
            field = chance.one_of(("title", "year", "authors", "fpage"))
            self.load(work.model_copy(update={field: getattr(chance.one_of(library.ALL), field)}))

    @rule(chance=library.chances)
    def withdraw_work(self, chance: Chance) -> None:
        """Withdraw a work."""
        if work := self._some(chance):
            self.record(f"work {work.id} is withdrawn")
            self.destination.withdraw_work(work.id)
            del self.works[work.id]

    @rule(chance=library.chances)
    def merge(self, chance: Chance) -> None:
        """Give two works the same identifier, except a work that already has an identifier of this kind."""
        key = chance.one_of(library.SHARED)
        kind = key.partition(":")[0]
        for each in (self._some(chance), self._some(chance)):
            if each is not None and getattr(each.ids, kind) is None:
                self.load(each.model_copy(update={"ids": library.ids_of((*each.ids.keys(), key))}))

    @rule(chance=library.chances)
    def split(self, chance: Chance) -> None:
        """Leave a work only the identifier in its id."""
        if (work := self._some(chance)) and work.ids != (own := library.ids_of((work.id,))):
            self.load(work.model_copy(update={"ids": own}))

    @rule(chance=library.chances)
    def retract(self, chance: Chance) -> None:
        """Retract a work, or undo its retraction."""
        if work := self._some(chance):
            self.load(work.model_copy(update={"status": None if work.status else "retracted"}))

    def _some(self, chance: Chance) -> Work | None:
        return self.works[chance.one_of(sorted(self.works))] if self.works else None

    # Overrides

    @rule(reference=_REFERENCES, action=st.sampled_from(ACTIONS), work=st.sampled_from(TARGETS))
    def override(self, reference: str, action: str, work: str) -> None:
        """Pin a reference to a work, forbid the work, or decide that nothing in the catalog is cited."""
        match action:
            case "pin":
                self.decide(reference, pinned=work)
            case "forbid":
                self.decide(reference, forbidden=(work,))
            case _:
                self.decide(reference, nothing=True)

    @rule(chance=library.chances)
    def lift(self, chance: Chance) -> None:
        """Lift any override."""
        if self.overrides:
            reference = chance.one_of(sorted(self.overrides))
            self.record(f"override {reference}: lifted")
            self.destination.override(reference, None)
            del self.overrides[reference]

    def decide(self, reference: str, **decision: Any) -> None:
        """Send an override with these fields."""
        number = self._next()
        event = OverrideEvent(schema_version=1, reference=reference, reason=f"reason {number}", at=number, **decision)
        self.record(f"override {reference}: {decision}")
        self.destination.override(reference, event)
        self.overrides[reference] = event

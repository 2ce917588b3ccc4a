"""What comes in, by chance: papers, works and overrides, in any order, and what is true at the end of it."""

from __future__ import annotations

from typing import Final

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from reflink.entities import Paper, Work
from schemas import OverrideEvent
from tests.convergence import library
from tests.convergence.library import Chance
from tests.convergence.pipeline import Pipeline
from tests.convergence.replicas import WordEncoder
from workers.parser import PaperVersion

#: References that overrides speak of, whether they are there yet or not.
_REFERENCES: Final = st.builds(lambda paper, place: f"{paper}#B{place}", st.sampled_from(library.PAPERS), st.integers(1, 4))
#: What may be pinned or forbidden: works, papers, an identifier, and what never comes.
_TARGETS: Final = st.sampled_from((*library.SLOTS, *library.PAPERS, "pmid:7", "doi:10.1000/nowhere"))


class Arrivals(RuleBasedStateMachine):
    """A pipeline, and beside it what is true: the newest version of each paper, the works as last told, the overrides."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        self.versions: dict[str, PaperVersion] = {}
        self.works: dict[str, Work] = {}
        self.overrides: dict[str, OverrideEvent] = {}
        #: Of the papers by number, what the newest version was made of.
        self.entries: dict[int, tuple[tuple[str, ...], tuple[library.Cited, ...]]] = {}
        self._next = 100
        #: Whether a sweep may have helped before the end.
        self.swept = False

    @initialize(
        semantic=st.booleans(),
        offered=st.booleans(),
        wakes=st.sampled_from((1.0, 5.0, 500.0)),
        chance=library.chances,
        works=st.integers(1, 6),
        papers=st.integers(1, 3),
    )
    def begin(self, semantic: bool, offered: bool, wakes: float, chance: Chance, works: int, papers: int) -> None:
        self.encoder = WordEncoder() if semantic else None
        self.pipeline = Pipeline(encoder=self.encoder, offered=offered, wakes_per_s=wakes)
        stages = "with a semantic stage" if semantic else "without a semantic stage"
        self.tell(f"{stages}; papers are {'' if offered else 'no '}works; {wakes:g} references are woken a second")
        for _ in range(works):
            self.loaded(chance.work())
        for _ in range(papers):
            self.paper(chance)

    def tell(self, line: str) -> None:
        self.told.append(line)
        note(line)

    # Papers

    @rule(chance=library.chances)
    def paper(self, chance: Chance) -> None:
        number, keys, entries = chance.paper()
        self._say(number, self._version(), keys, entries)

    @rule(chance=library.chances)
    def revise(self, chance: Chance) -> None:
        """A new version that differs little."""
        if self.entries:
            number = chance.one_of(sorted(self.entries))
            keys, entries = self.entries[number]
            self._say(number, self._version(), keys, chance.revised(entries))

    @rule(chance=library.chances, near=st.booleans())
    def late_paper(self, chance: Chance, near: bool) -> None:
        """A version that is older than the newest one, and was not seen before."""
        number, keys, entries = chance.paper()
        if (known := self.versions.get(library.PAPERS[number])) is not None:
            if near and number in self.entries:
                keys, entries = self.entries[number][0], chance.revised(self.entries[number][1])
            self._publish(known.citing, known.version - 5, library.paper(number, keys, entries))

    def _say(self, number: int, version: int, keys: tuple[str, ...], entries: tuple[library.Cited, ...]) -> None:
        self.entries[number] = keys, entries
        self._publish(library.PAPERS[number], version, library.paper(number, keys, entries))

    @rule(paper=st.sampled_from(library.PAPERS), late=st.booleans())
    def withdraw_paper(self, paper: str, late: bool) -> None:
        known = self.versions.get(paper)
        if known is not None:
            self._publish(paper, known.version - 7 if late else self._version(), None)

    @rule(paper=st.sampled_from(library.PAPERS))
    def paper_comes_twice(self, paper: str) -> None:
        if (known := self.versions.get(paper)) is not None:
            self.tell(f"paper {paper} version {known.version} comes once more")
            self.pipeline.publish(known)

    def _version(self) -> int:
        self._next += 10
        return self._next

    def _publish(self, citing: str, version: int, paper: Paper | None) -> None:
        made = PaperVersion(citing, version, self.pipeline.clock.ms, paper)
        what = "withdrawn" if paper is None else ", ".join(
            f"{each.id.partition('#')[2]}: {each.raw_text!r} {list(each.ids.keys())} {list(each.ids_weak.keys())}"
            for each in paper.references
        )  # fmt: skip
        own = "" if paper is None or len(paper.ids.keys()) == 1 else f" (also {paper.ids.keys()[1:]})"
        self.tell(f"paper {citing} version {version}{own}: {what or 'without references'}")
        self.pipeline.publish(made)
        known = self.versions.get(citing)
        if known is None or known.version < version:
            self.versions[citing] = made

    # Works

    def loaded(self, work: Work) -> None:
        self.tell(f"work {work.to_json().decode()}")
        self.pipeline.load(work)
        self.works[work.id] = work

    @rule(chance=library.chances)
    def load(self, chance: Chance) -> None:
        self.loaded(chance.work())

    @rule(chance=library.chances)
    def correct(self, chance: Chance) -> None:
        if work := self._some(chance):
            field = chance.one_of(("title", "year", "authors", "fpage"))
            self.loaded(work.model_copy(update={field: getattr(chance.one_of(library.ALL), field)}))

    @rule(chance=library.chances)
    def withdraw_work(self, chance: Chance) -> None:
        if work := self._some(chance):
            self.tell(f"work {work.id} is withdrawn")
            self.pipeline.withdraw_work(work.id)
            del self.works[work.id]

    @rule(chance=library.chances)
    def merge(self, chance: Chance) -> None:
        """Two come to bear an identifier, unless they bear another of its kind."""
        key = chance.one_of(library.SHARED)
        kind = key.partition(":")[0]
        for each in (self._some(chance), self._some(chance)):
            if each is not None and getattr(each.ids, kind) is None:
                self.loaded(each.model_copy(update={"ids": library.ids_of((*each.ids.keys(), key))}))

    @rule(chance=library.chances)
    def split(self, chance: Chance) -> None:
        if (work := self._some(chance)) and work.ids != (own := library.ids_of((work.id,))):
            self.loaded(work.model_copy(update={"ids": own}))

    @rule(chance=library.chances)
    def retract(self, chance: Chance) -> None:
        if work := self._some(chance):
            self.loaded(work.model_copy(update={"status": None if work.status else "retracted"}))

    @rule(chance=library.chances)
    def work_comes_twice(self, chance: Chance) -> None:
        if work := self._some(chance):
            self.loaded(work)

    def _some(self, chance: Chance) -> Work | None:
        return self.works[chance.one_of(sorted(self.works))] if self.works else None

    # Overrides

    @rule(reference=_REFERENCES, action=st.sampled_from(("pin", "nothing", "forbid")), work=_TARGETS)
    def override(self, reference: str, action: str, work: str) -> None:
        self._next += 1
        said_ = {"pin": {"pinned": work}, "nothing": {"nothing": True}, "forbid": {"forbidden": (work,)}}[action]
        made = OverrideEvent(schema_version=1, reference=reference, reason=f"reason {self._next}", at=self._next, **said_)
        self._override(reference, made, f"override {reference}: {action} {'' if action == 'nothing' else work}")

    @rule(chance=library.chances)
    def forbid_what_is_linked(self, chance: Chance) -> None:
        linked = sorted((key, link.link.cited) for key, link in self.pipeline.links().items() if link.link.cited)
        if linked:
            reference, cited = chance.one_of(linked)
            before = self.overrides.get(reference)
            more = before.forbidden if before is not None else ()
            self._next += 1
            made = OverrideEvent(
                schema_version=1, reference=reference, reason=f"reason {self._next}", at=self._next,
                forbidden=tuple(dict.fromkeys((*more, cited or ""))),
            )  # fmt: skip
            self._override(reference, made, f"override {reference}: forbid {made.forbidden}")

    @rule(chance=library.chances)
    def lift(self, chance: Chance) -> None:
        if self.overrides:
            reference = chance.one_of(sorted(self.overrides))
            self._override(reference, None, f"override {reference}: lifted")

    def _override(self, reference: str, made: OverrideEvent | None, line: str) -> None:
        self.tell(line)
        self.pipeline.override(reference, made)
        if made is None:
            self.overrides.pop(reference, None)
        else:
            self.overrides[reference] = made

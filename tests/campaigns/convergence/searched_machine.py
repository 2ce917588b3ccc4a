"""Random histories with candidates from a search engine, whose index lags, gets ahead, fails, disappears and is built again."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.campaigns.convergence import library
from tests.campaigns.convergence.engine import Fate
from tests.campaigns.convergence.library import Chance
from tests.campaigns.convergence.machine import Histories
from tests.campaigns.convergence.pipeline import Pipeline
from tests.campaigns.convergence.searched import Searching
from tests.campaigns.convergence.tally import SEARCHED, Tally
from tests.campaigns.convergence.topics import PARTITIONS

#: What is late when the references are linked after the last change of the catalog: nothing, the index, the records of
#: linkers and fallbacks, or one of two indexers.
Late = Literal["nothing", "index", "records", "indexer"]
_LAST_CHANGES: Final = 10
_INDEXERS: Final = st.integers(0, 1)
_LIMIT: Final = st.sampled_from((0, 1, 2, 5, None))
_FATES: Final = st.lists(
    st.sampled_from(("answered", "answered", "fails", "fails late", "kills", "kills late")), min_size=1, max_size=4
)
#: Faults of searches: only an indexer may be killed, since linkers and fallbacks are killed by their own rules.
_SEARCH_FATES: Final = st.lists(st.sampled_from(("answered", "fails")), min_size=1, max_size=3)


def _records(limit: int | None) -> str:
    return "all" if limit is None else str(limit)


class SearchedHistories(Histories):
    """Histories of a pipeline whose linkers and fallbacks search in a search engine."""

    tally: ClassVar[Tally] = SEARCHED

    @initialize(
        hits=st.sampled_from((2, 20)),
        offered=st.booleans(),
        wakes=st.sampled_from((1.0, 5.0, 500.0)),
        chance=library.chances,
        works=st.integers(1, 6),
        papers=st.integers(1, 3),
        ending=st.sampled_from(("nothing", "index", "records", "indexer")),
    )
    def begin(self, hits: int, offered: bool, wakes: float, chance: Chance, works: int, papers: int, ending: Late) -> None:
        self.encoder = None
        self.destination = self.pipeline = Pipeline(offered=offered, wakes_per_s=wakes, hits=hits)
        self.swept = False
        #: What is late at the end, and what happens there.
        self.ending, self.chance = ending, chance
        offer = "" if offered else "not "
        self.record(f"searches for {hits} works; papers are {offer}works; {wakes:g} re-evaluations a second")
        for _ in range(works):
            self.load(chance.work())
        for _ in range(papers):
            self.paper(chance)
        for _ in range(3):  # an index serves, so that most workers do not wait for one
            self.pipeline.index(0)

    @property
    def searching(self) -> Searching:
        """The search engine and the indexers."""
        assert self.pipeline.searching is not None
        return self.pipeline.searching

    @rule(indexer=_INDEXERS, limit=_LIMIT, turns=st.integers(1, 4))
    def index(self, indexer: int, limit: int | None, turns: int) -> None:
        for _ in range(turns):
            self.searching.work(indexer, limit)
        self.record(f"indexer {indexer}: {turns} turns of {_records(limit)}; {self.searching.version()}")

    @rule(indexer=_INDEXERS, limit=_LIMIT, turns=st.integers(1, 4), fates=_FATES)
    def index_with_faults(self, indexer: int, limit: int | None, turns: int, fates: list[Fate]) -> None:
        self.searching.engine.fates = list(fates)
        for _ in range(turns):
            self.searching.work(indexer, limit)
        self.searching.engine.fates = []
        self.record(f"indexer {indexer}: {turns} turns, requests {', '.join(fates)}; {self.searching.version()}")

    @rule(worker=st.integers(0, 1), fates=_SEARCH_FATES)
    def searches_fail(self, worker: int, fates: list[Fate]) -> None:
        self.record(f"linker and fallback {worker} link, requests {', '.join(fates)}")
        for topic in ("references", "retries"):
            self.searching.engine.fates = list(fates)
            self.pipeline.link(worker, (topic, worker))
        self.searching.engine.fates = list(fates)
        self.pipeline.fall_back(worker, ("fallback", worker))
        self.searching.engine.fates = []

    @rule(indexer=_INDEXERS, limit=_LIMIT, deleted=st.integers(0, 3) | st.none())
    def index_changes_between_version_and_search(self, indexer: int, limit: int | None, deleted: int | None) -> None:
        """Let the next search find another index than the one whose version its worker has read."""

        def meanwhile() -> None:
            if deleted is not None:
                self.searching.delete_index(deleted)
            self.searching.work(indexer, limit)
            self.searching.work(indexer, limit)

        self.record(f"before the next search: deletion of {deleted}, then indexer {indexer}: {_records(limit)}")
        self.searching.engine.meanwhile = meanwhile

    @rule()
    def engine_refreshes(self) -> None:
        self.searching.engine.refresh()

    @rule(away=st.booleans())
    def engine_goes_away(self, away: bool) -> None:
        self.record("no node answers" if away else "the nodes answer")
        self.searching.engine.away = away

    @rule(number=st.integers(0, 3))
    def index_deleted(self, number: int) -> None:
        if name := self.searching.delete_index(number):
            self.record(f"index {name} is deleted")

    @rule(turns=st.integers(1, 5), fates=st.none() | _FATES)
    def rebuild(self, turns: int, fates: list[Fate] | None) -> None:
        self.searching.engine.fates = list(fates or ())
        self.searching.rebuild(turns)
        self.searching.engine.fates = []
        self.record(f"reindex: {turns} turns, {fates or 'without faults'}; {self.searching.version()}")

    @rule()
    def drain(self) -> None:
        self.searching.engine.away = False
        super().drain()

    def settle(self) -> None:
        self.searching.engine.away, self.searching.engine.meanwhile = False, None
        if self.ending != "nothing":
            self.end_late()
        super().settle()

    def end_late(self) -> None:
        """Change the catalog for the last time, and link all references at a moment at which something lacks the changes.

        No later change leads to a re-evaluation of what was linked wrongly then, unless its offset says that it was early.
        """
        self.record(f"the last changes of the catalog; late: {self.ending}")
        self.pipeline.drain()
        for _ in range(_LAST_CHANGES):
            self.chance.one_of((self.new_work, self.new_work, self.correct, self.correct, self.withdraw_work))(self.chance)
        self.pipeline.replay()
        workers = (*self.pipeline.linkers, *self.pipeline.fallbacks)
        if self.ending != "records":
            for each in workers:
                each.replica.follow()
        if self.ending != "index":
            self.searching.work(0)
        if self.ending == "indexer":
            self.searching.work(1, self.chance.one_of((1, 2, 3)))
        for partition in range(PARTITIONS):
            self.pipeline.link(partition, ("references", partition))
            self.pipeline.link(partition, ("retries", partition))
        for partition in range(PARTITIONS):
            self.pipeline.fall_back(partition, ("fallback", partition))
            self.pipeline.ledger_of(partition).take(partition)

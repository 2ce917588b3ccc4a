"""The real stages over topics in memory, on one thread: nothing happens unless the caller requests the step."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reflink.entities import Paper, Work
from schemas import SCHEMA_VERSION, CatalogEvent, LinkEvent, OverrideEvent, ReferenceEvent
from tests.campaigns.convergence.ledgers import Fate, LedgerProcess
from tests.campaigns.convergence.replicas import CATALOG, Replica, WordEncoder
from tests.campaigns.convergence.searched import Searching
from tests.campaigns.convergence.topics import PARTITIONS, Topics
from tests.workers.ledger.changelogs import MemoryChangeLog
from workers.config.settings import FallbackSettings, LinkerSettings, ParserSettings
from workers.engine.errors import EngineUnavailable
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage
from workers.papers.stage import PaperVersion, ParserStage
from workers.records import Message, Partition
from workers.stage import Stage

# Read once: reading the environment takes longer than a history.
_LINKER, _FALLBACK = LinkerSettings(), FallbackSettings()
_PARSERS = {offered: ParserSettings(offer_papers=offered) for offered in (True, False)}

#: Rounds without work after which none will follow. Fewer are not enough: rate limits may delay the ledger's work.
_QUIET_ROUNDS = 4
#: Maximum number of rounds. A few rounds are enough, unless the stages cause work for each other forever.
_MAX_ROUNDS = 2000


@dataclass
class Clock:
    """A simulated clock, in seconds since 1970."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        """Return the time in seconds since 1970."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds

    @property
    def ms(self) -> int:
        """The time in milliseconds, as in records."""
        return int(self.now * 1000)


@dataclass
class Replicated:
    """One linker or fallback worker: its stage and its replica of the catalog."""

    stage: Any
    replica: Replica
    searching: Searching | None = None

    def start(self) -> None:
        """Give the stage the catalog of the replica and, with a search engine, a source of candidates, as ``warm`` does."""
        self.stage.follower, self.stage.catalog = self.replica, self.replica.catalog
        if self.searching is not None:
            self.stage._engine = self.searching.source(self.replica.catalog)


@dataclass
class Pipeline:
    """One parser and two of each other worker. Any linker or fallback may take any partition next, as after a rebalance."""

    clock: Clock = field(default_factory=Clock)
    #: None: no semantic stage.
    encoder: WordEncoder | None = None
    #: Whether papers are also works.
    offered: bool = True
    #: References per second that each ledger may re-evaluate.
    wakes_per_s: float = 5.0
    #: Offsets of the catalog that the ledgers' logs of changes hold, and the logs.
    window: int = 1_000_000
    log: Callable[[], Any] = MemoryChangeLog
    #: Works that a search in the search engine returns. None: no search engine.
    hits: int | None = None

    def __post_init__(self) -> None:
        """Create empty topics and the workers."""
        self.topics = Topics()
        self.papers: list[PaperVersion] = []
        self._parsed = 0
        self.parser = ParserStage(_PARSERS[self.offered])
        self.searching = None if self.hits is None else Searching(self.topics, self.clock, self.hits)
        self.linkers = [self._linker() for _ in range(2)]
        self.fallbacks = [self._fallback() for _ in range(2)]
        self.ledgers = [self._ledger() for _ in range(2)]
        for partition in range(PARTITIONS):
            self.ledgers[partition % 2].assign(partition)

    def _linker(self) -> Replicated:
        stage = LinkerStage(_LINKER, self.clock)
        replica = Replica(self.topics, vectors=self.searching is None, trigrams=False, encoder=self.encoder)
        stage.encoder = self.encoder or WordEncoder()  # type: ignore[assignment]
        return self._joined(stage, replica)

    def _ledger(self) -> LedgerProcess:
        return LedgerProcess(self.topics, self.clock, self.wakes_per_s, log=self.log, window=self.window)

    def _fallback(self) -> Replicated:
        replica = Replica(self.topics, vectors=False, trigrams=self.searching is None, encoder=None)
        return self._joined(FallbackStage(_FALLBACK, self.clock), replica)

    def _joined(self, stage: Any, replica: Replica) -> Replicated:
        worker = Replicated(stage, replica, self.searching)
        worker.start()
        return worker

    # Input

    def publish(self, citing: str, version: int, paper: Paper | None) -> PaperVersion:
        """Publish a version of a paper, None to withdraw it; return the version."""
        self.papers.append(PaperVersion(citing, version, self.clock.ms, paper))
        return self.papers[-1]

    def load(self, work: Work) -> None:
        """Publish the current state of a work to the catalog."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=work)
        self.topics.commit([Message("catalog", work.id.encode(), event.to_json())], self.clock.ms)

    def withdraw_work(self, work_id: str) -> None:
        """Publish a withdrawal and a tombstone of a work."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew it")
        key = work_id.encode()
        self.topics.commit([Message("catalog", key, event.to_json()), Message("catalog", key, None)], self.clock.ms)

    def override(self, reference: str, event: OverrideEvent | None) -> None:
        """Publish an override; None lifts it."""
        citing = reference.partition("#")[0].encode()
        value = None if event is None else event.to_json()
        self.topics.commit([Message("overrides", reference.encode(), value, partition_key=citing)], self.clock.ms)

    def replay(self) -> int:
        """Send every published reference to re-evaluation. Return their number."""
        messages = []
        for link in self.links().values():
            event = ReferenceEvent(
                schema_version=SCHEMA_VERSION, citing=link.citing, paper_version=link.paper_version, arrived=link.arrived,
                live=False, reference=link.reference,
            )  # fmt: skip
            messages.append(Message("retries", link.citing.encode(), event.to_json()))
        self.topics.commit(messages, self.clock.ms)
        return len(messages)

    # Steps

    def parse(self, limit: int | None = None, fate: Fate = "commits") -> bool:
        """Let the parser handle at most ``limit`` papers. Return whether there were any."""
        end = len(self.papers) if limit is None else min(len(self.papers), self._parsed + limit)
        batch = self.papers[self._parsed : end]
        if not batch:
            return False
        papers = [(each,) for each in batch]
        output = self.parser.handle(papers, self.parser.view(papers))
        if fate == "commits":
            self.topics.commit(output.messages, self.clock.ms)
            self._parsed = end
        return True

    def link(self, worker: int, place: Partition, limit: int | None = None, fate: Fate = "commits") -> bool:
        """Let a linker handle at most ``limit`` records of ``references`` or ``retries``. Return whether there were any."""
        return self._take(self.linkers[worker], place, limit, fate)

    def fall_back(self, worker: int, place: Partition, limit: int | None = None, fate: Fate = "commits") -> bool:
        """Let a fallback worker handle at most ``limit`` records. Return whether there were any."""
        return self._take(self.fallbacks[worker], place, limit, fate)

    def _take(self, worker: Replicated, place: Partition, limit: int | None, fate: Fate) -> bool:
        stage: Stage[Any, Any] = worker.stage
        records = self.topics.waiting(stage.name, place, limit)
        if not records:
            return False
        events = [stage.decode(record) for record in records]
        try:
            output = stage.handle(events, stage.view(events))
        except EngineUnavailable:  # the runtime tries the batch again
            return False
        if fate == "commits":
            self.topics.commit(output.messages, self.clock.ms, stage.name, {place: records[-1].offset + 1})
        else:
            worker.replica.reset()
            worker.start()
        return True

    def index(self, indexer: int, limit: int | None = None) -> bool:
        """Let an indexer take a turn. Return whether the index lacked records or did not serve, before it or after it."""
        if self.searching is None:
            return False
        complete = self.searching.complete()
        self.searching.work(indexer, limit)
        return not (complete and self.searching.complete())

    def ledger_of(self, partition: int) -> LedgerProcess:
        """Return the ledger that owns the partition."""
        return next(each for each in self.ledgers if partition in each.stage.stores)

    def move(self, partition: int) -> None:
        """Move the partition to the other ledger, which may have an older store of it."""
        owner = self.ledger_of(partition)
        owner.release(partition)
        self.ledgers[1 - self.ledgers.index(owner)].assign(partition)

    def sweep(self, on: bool) -> None:
        """Set whether sweeps may begin."""
        for ledger in self.ledgers:
            ledger.sweep(on)

    def compact(self) -> int:
        """Compact all compacted topics as far as allowed. Return the number of removed records."""
        offsets = [each.replica.catalog.offset for each in (*self.linkers, *self.fallbacks)]
        removed = self.topics.compact(CATALOG, min([*offsets, *(each.stage.catalog.offset for each in self.ledgers)]))
        for topic in ("links", "manifests", "overrides"):
            for place in self.topics.places(topic):
                removed += self.topics.compact(place, min(each.seen(place) for each in self.ledgers))
        return removed

    # To the end

    def follow_all(self) -> None:
        """Let all workers read the catalog, and the ledgers the overrides, to the end."""
        for worker in (*self.linkers, *self.fallbacks):
            worker.replica.follow()
        for ledger in self.ledgers:
            ledger.follow()
            ledger.read_overrides()

    def drain(self) -> None:
        """Let all workers work until none has anything to do. Raises AssertionError if that does not end."""
        quiet = 0
        for _ in range(_MAX_ROUNDS):
            busy = self.parse() | self.index(0) | self.index(1)
            for worker in (*self.linkers, *self.fallbacks):
                busy |= worker.replica.follow()
            for topic, partition in itertools.product(("references", "retries"), range(PARTITIONS)):
                busy |= self.link(partition % 2, (topic, partition))
            for partition in range(PARTITIONS):
                busy |= self.fall_back(partition % 2, ("fallback", partition))
            for ledger in self.ledgers:
                busy |= ledger.work_off()
            self.clock.advance(1.0)
            quiet = 0 if busy else quiet + 1
            if quiet >= _QUIET_ROUNDS:
                return
        raise AssertionError(f"workers still cause work for each other after {_MAX_ROUNDS} rounds")

    @property
    def published(self) -> list[tuple[bytes | None, bytes | None]]:
        """Key and value of every record ever written to ``links``, compacted or not, in order of writing per partition."""
        return self.topics.written["links"]

    def links(self) -> dict[str, LinkEvent]:
        """Return the current link of each reference, as a reader of ``links`` sees it."""
        return {key: LinkEvent.from_json(record.value or b"") for key, record in self.topics.newest("links").items()}

    def catalog(self) -> dict[str, Work]:
        """Return the current works by id, as a reader of ``catalog`` sees them."""
        read = {key: CatalogEvent.from_json(record.value or b"").work for key, record in self.topics.newest("catalog").items()}
        return {key: work for key, work in read.items() if work is not None}

"""The real stages over topics in memory, on one thread: every step is one that somebody asks for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from reflink.entities import Work
from schemas import SCHEMA_VERSION, CatalogEvent, LinkEvent, OverrideEvent, ReferenceEvent
from tests.convergence.ledgers import Fate, LedgerProcess
from tests.convergence.replicas import CATALOG, Replica, WordEncoder
from tests.convergence.topics import PARTITIONS, Topics
from workers.fallback import FallbackStage
from workers.linker import LinkerStage
from workers.parser import PaperVersion, ParserStage
from workers.settings import FallbackSettings, LinkerSettings, ParserSettings
from workers.stage import Message, Place, Stage

# Reading the environment takes longer than what a history does with it.
_LINKER, _FALLBACK = LinkerSettings(), FallbackSettings()
_PARSERS = {offered: ParserSettings(offer_papers=offered) for offered in (True, False)}

#: Rounds without any work after which nothing more will come. Budgets of so many a second may hold the ledger up.
_QUIET_ROUNDS = 4
#: An end is a matter of a few rounds; a circle never ends.
_MOST_ROUNDS = 2000


@dataclass
class Clock:
    """Seconds since 1970, as they are made to pass."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        """The time."""
        return self.now

    def pass_(self, seconds: float) -> None:
        """Later."""
        self.now += seconds

    @property
    def ms(self) -> int:
        """The time as records have it."""
        return int(self.now * 1000)


@dataclass
class Replicated:
    """One linker or fallback: its stage and the catalog that it has."""

    stage: Any
    replica: Replica


@dataclass
class Pipeline:
    """Two of each worker. Any of them may take any partition next, as after a rebalance."""

    clock: Clock = field(default_factory=Clock)
    #: None: no semantic stage.
    encoder: WordEncoder | None = None
    #: Whether papers are works too.
    offered: bool = True
    #: How many references a second each ledger may wake.
    wakes_per_s: float = 5.0

    def __post_init__(self) -> None:
        """Everything empty."""
        self.topics = Topics()
        self.papers: list[PaperVersion] = []
        self._parsed = 0
        self.parser = ParserStage(_PARSERS[self.offered])
        self.linkers = [self._linker() for _ in range(2)]
        self.fallbacks = [self._fallback() for _ in range(2)]
        self.ledgers = [LedgerProcess(self.topics, self.clock, self.wakes_per_s) for _ in range(2)]
        for partition in range(PARTITIONS):
            self.ledgers[partition % 2].assign(partition)

    def _linker(self) -> Replicated:
        stage = LinkerStage(_LINKER, self.clock)
        replica = Replica(self.topics, vectors=True, trigrams=False, encoder=self.encoder)
        stage.encoder = self.encoder or WordEncoder()  # type: ignore[assignment]
        return _joined(stage, replica)

    def _fallback(self) -> Replicated:
        return _joined(FallbackStage(_FALLBACK, self.clock), Replica(self.topics, vectors=False, trigrams=True, encoder=None))

    # What comes in

    def publish(self, paper: PaperVersion) -> None:
        """A version of a paper."""
        self.papers.append(paper)

    def load(self, work: Work) -> None:
        """A work's present state into the catalog."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=work)
        self.topics.commit([Message("catalog", work.id.encode(), event.to_json())], self.clock.ms)

    def withdraw_work(self, work_id: str) -> None:
        """A withdrawal and a tombstone."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew it")
        key = work_id.encode()
        self.topics.commit([Message("catalog", key, event.to_json()), Message("catalog", key, None)], self.clock.ms)

    def override(self, reference: str, event: OverrideEvent | None) -> None:
        """A curator's word; None: it is lifted."""
        citing = reference.partition("#")[0].encode()
        value = None if event is None else event.to_json()
        self.topics.commit([Message("overrides", reference.encode(), value, partition_key=citing)], self.clock.ms)

    def replay(self) -> int:
        """Every published reference to be judged again. How many."""
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

    def parse(self, most: int | None = None, fate: Fate = "lives") -> bool:
        """The parser takes so many papers. Whether there were any."""
        end = len(self.papers) if most is None else min(len(self.papers), self._parsed + most)
        batch = self.papers[self._parsed : end]
        if not batch:
            return False
        output = self.parser.handle(batch, self.parser.view(batch))
        if fate == "lives":
            self.topics.commit(output.messages, self.clock.ms)
            self._parsed = end
        return True

    def link(self, worker: int, place: Place, most: int | None = None, fate: Fate = "lives") -> bool:
        """A linker takes so many records of ``references`` or ``retries``."""
        return self._take(self.linkers[worker], place, most, fate)

    def fall_back(self, worker: int, place: Place, most: int | None = None, fate: Fate = "lives") -> bool:
        """A fallback takes so many records."""
        return self._take(self.fallbacks[worker], place, most, fate)

    def _take(self, worker: Replicated, place: Place, most: int | None, fate: Fate) -> bool:
        stage: Stage[Any, Any] = worker.stage
        records = self.topics.waiting(stage.name, place, most)
        if not records:
            return False
        events = [stage.decode(record) for record in records]
        output = stage.handle(events, stage.view(events))
        if fate == "lives":
            self.topics.commit(output.messages, self.clock.ms, stage.name, {place: records[-1].offset + 1})
        else:
            worker.replica.begin_anew()
            worker.stage.catalog = worker.replica.catalog
        return True

    def ledger_of(self, partition: int) -> LedgerProcess:
        """Whose partition it is."""
        return next(each for each in self.ledgers if partition in each.stage.stores)

    def move(self, partition: int) -> None:
        """To the other ledger, which may have an older store of it."""
        owner = self.ledger_of(partition)
        owner.release(partition)
        self.ledgers[1 - self.ledgers.index(owner)].assign(partition)

    def sweep(self, on: bool) -> None:
        """Whether sweeps may begin."""
        for ledger in self.ledgers:
            ledger.sweep(on)

    def compact(self) -> int:
        """All compacted topics, as far as compaction may go. How many records went."""
        gone = 0
        replicas = [each.replica for each in (*self.linkers, *self.fallbacks)]
        gone += self.topics.compact(
            CATALOG, min([replica.catalog.offset for replica in replicas] + [each.stage.works.offset for each in self.ledgers])
        )
        for topic in ("links", "manifests", "overrides"):
            for place in self.topics.places(topic):
                gone += self.topics.compact(place, min(each.seen(place) for each in self.ledgers))
        return gone

    # To the end

    def follow_all(self) -> None:
        """Everybody has read the catalog and heard the overrides."""
        for worker in (*self.linkers, *self.fallbacks):
            worker.replica.follow()
        for ledger in self.ledgers:
            ledger.follow()
            ledger.hear()

    def drain(self) -> None:
        """Everybody works until nobody has anything to do."""
        quiet = 0
        for _ in range(_MOST_ROUNDS):
            busy = self.parse()
            for worker in (*self.linkers, *self.fallbacks):
                busy |= worker.replica.follow()
            for topic, partition in itertools.product(("references", "retries"), range(PARTITIONS)):
                busy |= self.link(partition % 2, (topic, partition))
            for partition in range(PARTITIONS):
                busy |= self.fall_back(partition % 2, ("fallback", partition))
            for ledger in self.ledgers:
                busy |= ledger.work_off()
            self.clock.pass_(1.0)
            quiet = 0 if busy else quiet + 1
            if quiet >= _QUIET_ROUNDS:
                return
        raise AssertionError(f"after {_MOST_ROUNDS} rounds there is still work: something goes round in a circle")

    @property
    def published(self) -> list[tuple[bytes | None, bytes | None]]:
        """Every record of ``links``, in order of writing within a partition, those that compaction took included."""
        return self.topics.written["links"]

    def links(self) -> dict[str, LinkEvent]:
        """What a reader of ``links`` ends up with."""
        return {key: LinkEvent.from_json(record.value or b"") for key, record in self.topics.newest("links").items()}

    def catalog(self) -> dict[str, Work]:
        """What a reader of ``catalog`` ends up with."""
        read = {key: CatalogEvent.from_json(record.value or b"").work for key, record in self.topics.newest("catalog").items()}
        return {key: work for key, work in read.items() if work is not None}


def _joined(stage: Any, replica: Replica) -> Replicated:
    stage.follower, stage.catalog = replica, replica.catalog
    return Replicated(stage, replica)

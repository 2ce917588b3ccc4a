"""Random histories through real worker processes on a real Kafka; the ledger is killed on the way."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from reflink import jats
from reflink.entities import Ids, Paper, Reference, Work
from schemas import SCHEMA_VERSION, CatalogEvent, LinkEvent, OverrideEvent
from tests.convergence import library
from tests.convergence.comparison import Difference, differences, fresh_run
from tests.convergence.library import Chance
from tests.convergence.replicas import WordEncoder
from tests.kafka import create_topics, iterate, lag, new_prefix
from workers.local.broker import Broker
from workers.local.pipeline import WORKERS, NotReady, Pipeline, WorkerDied
from workers.local.ports import free_port
from workers.parser import PaperVersion
from workers.publishing import publish, record_of
from workers.sending import Sender
from workers.settings import KafkaSettings
from workers.topics import partition_of

#: What may come in, and how often each.
_EVENTS: Final = ("paper",) * 4 + ("revise",) * 3 + ("late", "withdraw paper", "load", "load", "load", "correct", "correct")
_MORE_EVENTS: Final = (*_EVENTS, "withdraw work", "merge", "merge", "split", "retract", "pin", "forbid", "nothing", "lift")
_LENGTH: Final = 40
_PARTITIONS: Final = 3
_PATIENCE_S: Final = 120.0
#: What each worker reads.
_READ: Final = (
    ("parser", "papers"), ("linker", "references"), ("linker", "retries"), ("fallback", "fallback"), ("ledger", "outcomes"),
)  # fmt: skip


class History:
    """What is sent, and beside it what is true."""

    def __init__(self, seed: int, sender: Sender) -> None:
        self.chance, self.pick, self.sender = Chance(seed), random.Random(seed), sender
        self.told: list[str] = []
        self.versions: dict[str, PaperVersion] = {}
        self.entries: dict[int, tuple[tuple[str, ...], tuple[library.Cited, ...]]] = {}
        self.works: dict[str, Work] = {}
        self.overrides: dict[str, OverrideEvent] = {}
        self._number = 100

    def step(self) -> None:
        """One thing comes in."""
        chance, event = self.chance, self.pick.choice(_MORE_EVENTS)
        self._number += 10
        work = self.works[chance.one_of(sorted(self.works))] if self.works else None
        match event:
            case "paper":
                self._paper(*chance.paper(), self._number)
            case "revise" if self.entries:
                number = chance.one_of(sorted(self.entries))
                keys, entries = self.entries[number]
                self._paper(number, keys, chance.revised(entries), self._number)
            case "late" if self.versions:
                number, keys, entries = chance.paper()
                if (known := self.versions.get(library.PAPERS[number])) is not None:
                    self._paper(number, keys, entries, known.version - 5)
            case "withdraw paper" if self.versions:
                self._publish(chance.one_of(sorted(self.versions)), self._number, None)
            case "load":
                self.load(chance.work())
            case "correct" if work is not None:
                field = chance.one_of(("title", "year", "authors", "fpage"))
                self.load(work.model_copy(update={field: getattr(chance.one_of(library.ALL), field)}))
            case "merge" if work is not None:
                key = chance.one_of(library.SHARED)
                if getattr(work.ids, key.partition(":")[0]) is None:
                    self.load(work.model_copy(update={"ids": library.ids_of((*work.ids.keys(), key))}))
            case "split" if work is not None:
                self.load(work.model_copy(update={"ids": library.ids_of((work.id,))}))
            case "retract" if work is not None:
                self.load(work.model_copy(update={"status": None if work.status else "retracted"}))
            case "withdraw work" if work is not None:
                self._withdraw(work.id)
            case "pin" | "forbid" | "nothing":
                self._override(event)
            case "lift" if self.overrides:
                self._say(chance.one_of(sorted(self.overrides)), None)

    def load(self, work: Work) -> None:
        """A work's present state."""
        self.told.append(f"work {work.to_json().decode()}")
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=work)
        self.sender.send("catalog", work.id.encode(), event.to_json(), partition=0)
        self.works[work.id] = work

    def _withdraw(self, work_id: str) -> None:
        self.told.append(f"work {work_id} is withdrawn")
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew it")
        for value in (event.to_json(), None):
            self.sender.send("catalog", work_id.encode(), value, partition=0)
        del self.works[work_id]

    def _override(self, action: str) -> None:
        # The parser names a reference by its XML id and its place within the entry.
        reference = f"{self.chance.one_of(library.PAPERS)}#B{self.pick.randint(1, 4)}.1"
        work = self.chance.one_of((*library.SLOTS, *library.PAPERS))
        said: dict[str, Any] = {"pin": {"pinned": work}, "nothing": {"nothing": True}, "forbid": {"forbidden": (work,)}}[action]
        self._say(reference, OverrideEvent(schema_version=1, reference=reference, reason="said so", at=self._number, **said))

    def _say(self, reference: str, event: OverrideEvent | None) -> None:
        self.told.append(f"override {reference}: {'lifted' if event is None else event.to_json().decode()}")
        partition = partition_of(reference.partition("#")[0].encode(), _PARTITIONS)
        self.sender.send("overrides", reference.encode(), None if event is None else event.to_json(), partition=partition)
        if event is None:
            del self.overrides[reference]
        else:
            self.overrides[reference] = event

    def _paper(self, number: int, keys: tuple[str, ...], entries: tuple[library.Cited, ...], version: int) -> None:
        citing = library.PAPERS[number]
        if (known := self.versions.get(citing)) is None or known.version < version:
            self.entries[number] = keys, entries
        self._publish(citing, version, jats_of(library.paper(number, keys, entries)))

    def _publish(self, citing: str, version: int, data: bytes | None) -> None:
        self.told.append(f"paper {citing} version {version}: {'withdrawn' if data is None else data.decode()}")
        if data is None:
            self.sender.send("papers", citing.encode(), None, headers=(("reflink-version", b"%d" % version),))
        else:
            publish([record_of(citing, data, version=version)], self.sender)
        known = self.versions.get(citing)
        if known is None or known.version < version:
            paper = None if data is None else jats.parse(data, source=citing)
            self.versions[citing] = PaperVersion(citing, version, 0, paper)


def jats_of(paper: Paper) -> bytes:
    """The paper as its publisher would have it."""
    ids = "".join(f'<article-id pub-id-type="{kind}">{value}</article-id>' for kind, value in _named(paper.ids))
    authors = "".join(
        f"<contrib contrib-type='author'><name><surname>{name}</surname></name></contrib>" for name in paper.authors
    )
    references = "".join(map(_ref, paper.references))
    return (
        f"<article><front><journal-meta><journal-title>{paper.venue}</journal-title></journal-meta><article-meta>{ids}"
        f"<title-group><article-title>{escape(paper.title or '')}</article-title></title-group>"
        f"<contrib-group>{authors}</contrib-group>"
        f"<pub-date><year>{paper.year}</year></pub-date><volume>{paper.volume}</volume><fpage>{paper.fpage}</fpage></article-meta>"
        f"</front><back><ref-list>{references}</ref-list></back></article>"
    ).encode()


def _named(ids: Ids) -> list[tuple[str, str]]:
    return [(kind, value) for kind, value in ids.to_dict().items()]


def _ref(reference: Reference) -> str:
    names = "".join(f"<name><surname>{name}</surname></name>" for name in reference.last_names)
    said = (
        ("article-title", reference.title), ("source", reference.venue), ("year", reference.year),
        ("volume", reference.volume), ("fpage", reference.first_page),
    )  # fmt: skip
    fields = "".join(f"<{tag}>{escape(str(value))}</{tag}>" for tag, value in said if value is not None)
    keys = (*_named(reference.ids), *_named(reference.ids_weak))
    ids = "".join(f'<pub-id pub-id-type="{kind}">{value}</pub-id>' for kind, value in keys)
    name = reference.id.partition("#")[2]
    return (
        f'<ref id="{name}"><element-citation publication-type="journal"><person-group person-group-type="author">{names}'
        f"</person-group>{fields}{ids}</element-citation></ref>"
    )


def run_history(address: str, folder: Path, seed: int) -> str | None:
    """One history; what differs from the fresh run at its end, None when nothing does."""
    kafka = create_topics(address, new_prefix(), partitions=_PARTITIONS)
    pick = random.Random(seed)
    settings = {
        "kafka_bootstrap_servers": address, "topic_prefix": kafka.topic_prefix, "precision": "fp32", "query_precision": "fp32",
        "session_timeout_s": 6, "revocation_deadline_s": 2, "batch_records": 4, "idle_commit_s": 0.2, "lag_interval_s": 0.3,
        "sweep_every_h": 0, "sweep_per_s": 500,
    }  # fmt: skip
    with Pipeline(folder, program=(sys.executable, "-m", "tests.convergence.worker"), **settings) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        (ledger,) = pipeline.of("ledger")
        with Sender(kafka) as sender:
            history, kill = History(seed, sender), pick.randrange(_LENGTH)
            for number in range(_LENGTH):
                history.step()
                if number == kill:
                    history.told.append("the ledger is killed")
                    sender.flush()
                    ledger.kill()
                    ledger.restart()
                if pick.random() < 0.2:
                    _until(lambda: lag(kafka, "linker", "references") == 0 and lag(kafka, "ledger", "outcomes") == 0, pipeline)
        right = fresh_run(
            list(history.versions.values()), list(history.works.values()), history.overrides, WordEncoder()
        ).links()
        _until(lambda: _quiet(kafka, pipeline), pipeline)
        # The sweep goes on behind everything else; what it has judged again is compared when it comes.
        found: list[Difference] = []

        def equal() -> bool:
            found[:] = differences(links(kafka), right)
            return not found and _quiet(kafka, pipeline)

        with suppress(AssertionError):
            _until(equal, pipeline)
    if not found:
        return None
    head = f"history {seed}: {len(found)} references are not as in a fresh run:"
    return "\n".join([head, *map(str, found), "the history:", *history.told])


def links(kafka: KafkaSettings) -> dict[str, LinkEvent]:
    """What a reader of ``links`` ends up with."""
    found: dict[str, LinkEvent] = {}
    for record in iterate(kafka, "links"):
        key = (record.key or b"").decode()
        found.pop(key, None)
        if record.value is not None:
            found[key] = LinkEvent.from_json(record.value)
    return found


def _quiet(kafka: KafkaSettings, pipeline: Pipeline) -> bool:
    """Whether everything that was sent has been read, and the ledger has compared its references with the whole catalog."""
    if any(lag(kafka, worker, topic) for worker, topic in _READ):
        return False
    (ledger,) = pipeline.of("ledger")
    try:
        return ledger.metrics().sum("reflink_ledger_changes_behind_records") == 0
    except (NotReady, WorkerDied):
        return False


def _until(condition: Callable[[], bool], pipeline: Pipeline) -> None:
    """Raises AssertionError when it does not come to pass."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        pipeline.check()
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.3)


def run_histories(number: int, seed: int, told: dict[str, Any]) -> str | None:
    """So many on a broker of their own. The first that does not converge, as text."""
    from tests.data import CACHE

    began, failure, done = time.monotonic(), None, 0
    with Broker.start(port=free_port(), cache=CACHE) as broker:
        while done < number and failure is None:
            with tempfile.TemporaryDirectory() as folder:
                failure = run_history(broker.address, Path(folder), seed * 1000 + done)
            done += 1
            print(f"{done} of {number} histories on Kafka in {time.monotonic() - began:.0f} s", flush=True)
    told["on Kafka"] = {"histories": done, "ledgers killed": done, "seconds": round(time.monotonic() - began, 1)}
    return failure

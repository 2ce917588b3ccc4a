"""Random histories through real worker processes on a real Kafka; the ledger is killed once per history.

With a search engine, an indexer keeps an index for each history, and each history also has faults of the engine: the indexer is
killed, the index is deleted, a node is killed, or a node is paused.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from reflink import jats
from reflink.entities import Paper, Reference, Work
from schemas import SCHEMA_VERSION, CatalogEvent, LinkEvent, OverrideEvent
from tests.campaigns.convergence import library
from tests.campaigns.convergence.comparison import Difference, differences, fresh_run
from tests.campaigns.convergence.engine_faults import KINDS, EngineFaults
from tests.campaigns.convergence.inputs import ACTIONS, TARGETS, Inputs
from tests.campaigns.convergence.library import Chance
from tests.campaigns.convergence.replicas import WordEncoder
from tests.data import CACHE
from tests.kafka import create_topics, iterate, lag, new_prefix
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.devkit.ports import free_port
from workers.devkit.processes import WORKERS, NotReady, Pipeline, WorkerDied
from workers.devkit.search_engine import SearchEngine
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import partition_of
from workers.papers.publishing import publish, record_of
from workers.papers.stage import PaperVersion

#: Rules of Inputs, repeated by weight.
_RULES: Final = (
    *["paper"] * 4, *["revise"] * 3, "late_paper", "withdraw_paper", *["new_work"] * 3, *["correct"] * 2, "withdraw_work",
    *["merge"] * 2, "split", "retract", *["override"] * 3, "lift",
)  # fmt: skip
_LENGTH: Final = 40
_PARTITIONS: Final = 3
_PATIENCE_S: Final = 120.0
#: Works that a search returns by default: more than a history has.
_HITS: Final = 20
#: The topics that each worker reads.
_READ: Final = (
    ("parser", "papers"), ("linker", "references"), ("linker", "retries"), ("fallback", "fallback"), ("ledger", "outcomes"),
)  # fmt: skip


class KafkaDestination:
    """Sends the input to the topics of a run."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def publish(self, citing: str, version: int, paper: Paper | None) -> PaperVersion:
        """Publish a version of a paper as JATS, None to withdraw it; return the version as the parser reads it."""
        if paper is None:
            self._sender.send("papers", citing.encode(), None, headers=(("reflink-version", b"%d" % version),))
            return PaperVersion(citing, version, 0, None)
        data = jats_of(paper)
        publish([record_of(citing, data, version=version)], self._sender)
        return PaperVersion(citing, version, 0, jats.parse(data, source=citing))

    def load(self, work: Work) -> None:
        """Publish the current state of a work to the catalog."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=work)
        self._sender.send("catalog", work.id.encode(), event.to_json(), partition=0)

    def withdraw_work(self, work_id: str) -> None:
        """Publish a withdrawal and a tombstone of a work."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew it")
        for value in (event.to_json(), None):
            self._sender.send("catalog", work_id.encode(), value, partition=0)

    def override(self, reference: str, event: OverrideEvent | None) -> None:
        """Publish an override; None lifts it."""
        partition = partition_of(reference.partition("#")[0].encode(), _PARTITIONS)
        value = None if event is None else event.to_json()
        self._sender.send("overrides", reference.encode(), value, partition=partition)


class History(Inputs):
    """Random input to Kafka."""

    def __init__(self, seed: int, sender: Sender) -> None:
        super().__init__()
        self.destination = KafkaDestination(sender)
        self._chance, self._pick = Chance(seed), random.Random(seed)

    def step(self) -> None:
        """Send one random input."""
        chance, pick = self._chance, self._pick
        match pick.choice(_RULES):
            case "late_paper":
                self.late_paper(chance, near=False)
            case "withdraw_paper":
                self.withdraw_paper(pick.choice(library.PAPERS), late=False)
            case "override":
                # The parser names a reference by its XML id and its position within the entry.
                reference = f"{pick.choice(library.PAPERS)}#B{pick.randint(1, 4)}.1"
                self.override(reference, pick.choice(ACTIONS), pick.choice(TARGETS))
            case name:
                getattr(self, name)(chance)


def jats_of(paper: Paper) -> bytes:
    """Return the paper as a JATS article."""
    ids = "".join(f'<article-id pub-id-type="{kind}">{value}</article-id>' for kind, value in paper.ids.to_dict().items())
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


def _ref(reference: Reference) -> str:
    names = "".join(f"<name><surname>{name}</surname></name>" for name in reference.last_names)
    values = (
        ("article-title", reference.title), ("source", reference.venue), ("year", reference.year),
        ("volume", reference.volume), ("fpage", reference.first_page),
    )  # fmt: skip
    fields = "".join(f"<{tag}>{escape(str(value))}</{tag}>" for tag, value in values if value is not None)
    keys = (*reference.ids.to_dict().items(), *reference.ids_weak.to_dict().items())
    ids = "".join(f'<pub-id pub-id-type="{kind}">{value}</pub-id>' for kind, value in keys)
    name = reference.id.partition("#")[2]
    return (
        f'<ref id="{name}"><element-citation publication-type="journal"><person-group person-group-type="author">{names}'
        f"</person-group>{fields}{ids}</element-citation></ref>"
    )


def run_history(
    address: str, folder: Path, seed: int, engine: SearchEngine | None = None, counts: Counter[str] | None = None
) -> str | None:
    """Run one history; return its final differences from a fresh run as text, or None if there are none.

    ``engine``: candidates come from an index of this history. The fresh run has candidates of the same kind from an index in
    memory: both find every work with enough words of the reference, because a history has fewer works than a search returns.
    ``counts`` receives the faults that took effect.
    """
    kafka = create_topics(address, new_prefix(), partitions=_PARTITIONS)
    pick = random.Random(seed)
    settings = {
        "kafka_bootstrap_servers": address, "topic_prefix": kafka.topic_prefix, "precision": "fp32", "query_precision": "fp32",
        "session_timeout_s": 6, "revocation_deadline_s": 2, "transaction_timeout_s": 60, "batch_records": 4,
        "idle_commit_s": 0.2, "lag_interval_s": 0.3, "sweep_every_h": 0, "sweep_per_s": 500,
    }  # fmt: skip
    alias, counts = f"{kafka.topic_prefix.rstrip('.')}-catalog", Counter() if counts is None else counts
    if engine is not None:
        settings |= {"engine": "opensearch", "engine_urls": engine.urls[0], "engine_index": alias, "engine_timeout_s": 4}
        settings["engine_replicas"] = 0
    with Pipeline(folder, program=(sys.executable, "-m", "tests.campaigns.convergence.worker"), **settings) as pipeline:
        for worker in WORKERS if engine is None else ("indexer", *WORKERS):
            pipeline.start(worker)
        pipeline.wait_ready()
        (ledger,) = pipeline.of("ledger")
        faults = None if engine is None else EngineFaults(engine, pipeline, alias, pick.sample(range(_LENGTH), len(KINDS)))
        with Sender(kafka) as sender:
            history, kill = History(seed, sender), pick.randrange(_LENGTH)
            for number in range(_LENGTH):
                history.step()
                if faults is not None:
                    faults.step(number, history.record)
                if number == kill:
                    history.record("the ledger is killed")
                    sender.flush()
                    ledger.kill()
                    ledger.restart()
                if pick.random() < 0.2:
                    _until(lambda: lag(kafka, "linker", "references") == 0 and lag(kafka, "ledger", "outcomes") == 0, pipeline)
        fresh = fresh_run(
            list(history.versions.values()),
            list(history.works.values()),
            history.overrides,
            WordEncoder() if engine is None else None,
            hits=None if engine is None else _HITS,
        ).links()
        _until(lambda: _quiet(kafka, pipeline), pipeline)
        # The sweep runs in the background: compare repeatedly until its re-evaluations have arrived.
        found: list[Difference] = []

        def equal() -> bool:
            found[:] = differences(links(kafka), fresh)
            return not found and _quiet(kafka, pipeline)

        with suppress(AssertionError):
            _until(equal, pipeline)
        if faults is not None:
            counts += faults.counts
    counts["the ledger is killed"] += 1
    if not found:
        return None
    head = f"history {seed}: {len(found)} references differ from a fresh run:"
    return "\n".join([head, *map(str, found), "the history:", *history.history])


def links(kafka: KafkaSettings) -> dict[str, LinkEvent]:
    """Return the current link of each reference, as a reader of ``links`` sees it."""
    found: dict[str, LinkEvent] = {}
    for record in iterate(kafka, "links"):
        key = (record.key or b"").decode()
        found.pop(key, None)
        if record.value is not None:
            found[key] = LinkEvent.from_json(record.value)
    return found


def _quiet(kafka: KafkaSettings, pipeline: Pipeline) -> bool:
    """Return whether all input has been read and the ledger has compared its references with the whole catalog."""
    if any(lag(kafka, worker, topic) for worker, topic in _READ):
        return False
    (ledger,) = pipeline.of("ledger")
    try:
        return ledger.metrics().sum("reflink_ledger_changes_behind_records") == 0
    except (NotReady, WorkerDied):
        return False


def _until(condition: Callable[[], bool], pipeline: Pipeline) -> None:
    """Wait for the condition. Raises AssertionError after the deadline."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        pipeline.check()
        assert time.monotonic() < deadline, f"the condition did not hold within {_PATIENCE_S:g} s"
        time.sleep(0.3)


def run_histories(number: int, seed: int, report: dict[str, Any], *, searched: bool = False) -> str | None:
    """Run ``number`` histories on their own broker; return the first one that does not converge, as text, or None.

    ``searched``: with candidates from a node of OpenSearch.
    """
    began, failure, done, counts = time.monotonic(), None, 0, Counter[str]()
    with (
        Broker.start(port=free_port(), cache=CACHE) as broker,
        SearchEngine.start(cache=CACHE) if searched else nullcontext() as engine,
    ):
        while done < number and failure is None:
            with tempfile.TemporaryDirectory() as folder:
                failure = run_history(broker.address, Path(folder), seed * 1000 + done, engine, counts)
            done += 1
            print(f"{done} of {number} histories on Kafka in {time.monotonic() - began:.0f} s", flush=True)
    report["on Kafka"] = {"histories": done, "faults": dict(counts), "seconds": round(time.monotonic() - began, 1)}
    return failure

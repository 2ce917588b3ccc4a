"""One run of the demo: a broker, a catalog, four workers, papers in waves, and what came out."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from reflink.errors import NotAPaper, ReflinkError
from workers import settings as configuration
from workers.clients import end_of
from workers.local import catalogs, summary
from workers.local.broker import Broker, default_cache, jars
from workers.local.display import Display, State
from workers.local.outcomes import OutcomeReader, Outcomes
from workers.local.papers import Published, expect_papers, publish_wave, waves
from workers.local.pipeline import WORKERS, Pipeline
from workers.sending import Sender
from workers.settings import FallbackSettings, KafkaSettings, LinkerSettings
from workers.topics import TOPICS, TopicAdmin

#: Nothing new for so long means that nothing will come.
PATIENCE_S: Final = 120.0
PARTITIONS: Final = 6
SLOT: Final = "demo"
_TICK_S: Final = 0.2
#: After a failure nothing of the workers' is kept: they get little time to leave.
_HURRY_S: Final = 3.0
#: Longer than a session (10 s) lasts.
_GROUPS_S: Final = 15.0
_FOLLOWERS: Final = ("linker", "fallback", "ledger")


class NoProgress(ReflinkError):
    """The pipeline stands still; the message says what is not done and where the logs are."""


@dataclass(frozen=True)
class Demonstration:
    """What to run. ``brokers`` None: a broker of its own is started; else its topics are made there and deleted at the end."""

    papers: Path
    catalog: Path
    expected: Path | None = None
    snapshot: Path | None = None
    profile: str | None = None
    keep: Path | None = None
    json: Path | None = None
    brokers: str | None = None

    def run(self) -> int:
        """Returns 0, or 1 when the outcomes are not as expected. Raises ReflinkError; everything is stopped in any case."""
        expected = None if self.expected is None else summary.Expected.read(self.expected)
        display, papers = Display(), waves(self.papers)
        expect_papers(papers)
        with ExitStack() as stack:
            folder = stack.enter_context(workspace(self.keep, display))
            kafka = stack.enter_context(self._kafka(folder, display))
            with display.step("topics"), TopicAdmin(kafka) as admin:
                admin.create(PARTITIONS, -1)
            works, snapshot = self._load(kafka, folder, display)
            pipeline = stack.enter_context(self._pipeline(kafka, folder, snapshot, display))
            reader = stack.enter_context(OutcomeReader(kafka))
            run = Run(kafka, pipeline, reader, display, folder / "pointers")
            run.publish_and_wait(papers)
            outcomes, published = reader.outcomes, run.published
            result = summary.summarise(outcomes, published, seconds=run.seconds, works=works, busy=busy(pipeline))
            examples = summary.choose(outcomes)
            cited = catalogs.find_works(kafka, {each.link.cited for each in examples if each.link.cited is not None})
        found = None if expected is None else summary.differences(expected, outcomes, published)
        console = Console() if sys.stdout.isatty() else Console(width=160)
        console.print()
        summary.show(result, examples, cited, console)
        if expected is not None and found is not None and self.expected is not None:
            summary.show_differences(found, expected, self.expected, console)
        if self.json is not None:
            self.json.write_bytes(result.to_json(found, self.expected))
        return 1 if found else 0

    @contextmanager
    def _kafka(self, folder: Path, display: Display) -> Iterator[KafkaSettings]:
        if self.brokers is not None:
            prefix = f"reflink-demo-{uuid.uuid4().hex[:8]}."
            kafka = configuration.read(KafkaSettings, kafka_bootstrap_servers=self.brokers, topic_prefix=prefix)
            with TopicAdmin(kafka) as admin:  # raises when nobody answers: nothing is to be deleted then
                display.say(f"Kafka cluster {admin.cluster_id()} at {self.brokers}")
            try:
                yield kafka
            finally:
                delete_topics(kafka, display)
            return
        if not jars_are_here():
            with display.step("bringing Kafka by Maven, once"):
                jars()
        with display.step("Kafka"):
            broker = Broker.start(folder / "kafka")
        broker.owns_folder = self.keep is None
        with broker:
            display.say(f"Kafka listens on {broker.address}")
            yield configuration.read(KafkaSettings, kafka_bootstrap_servers=broker.address, kafka_security_protocol="PLAINTEXT")

    def _load(self, kafka: KafkaSettings, folder: Path, display: Display) -> tuple[int, Path | None]:
        """How many works the topic then has, and the snapshot that workers start from; none for a small catalog."""
        source = self.snapshot
        if source is None and not catalogs.is_small(self.catalog):
            source = catalogs.build(
                self.catalog,
                default_cache(),
                configuration.read(LinkerSettings),
                configuration.read(FallbackSettings),
                display.say,
            )
        snapshot = None if source is None else catalogs.linked_copy(source, folder / "catalog")
        with display.counting("works into the catalog topic") as progress:
            count = catalogs.fill(self.catalog, kafka, progress, bound_to=snapshot)
        display.say(f"{count:,} works are in the catalog")
        return count, snapshot

    @contextmanager
    def _pipeline(self, kafka: KafkaSettings, folder: Path, snapshot: Path | None, display: Display) -> Iterator[Pipeline]:
        chosen: dict[str, Any] = {"catalog_snapshot": snapshot, "profile": self.profile}
        pipeline = Pipeline(
            folder,
            kafka_bootstrap_servers=kafka.kafka_bootstrap_servers,
            kafka_security_protocol=kafka.kafka_security_protocol,
            topic_prefix=kafka.topic_prefix,
            pointer_root=folder / "pointers",
            **{name: value for name, value in chosen.items() if value is not None},
        )
        try:
            with display.step(f"workers: {', '.join(WORKERS)}"):
                for worker in WORKERS:
                    pipeline.start(worker, SLOT)
                pipeline.wait_ready()
            yield pipeline
        except BaseException:
            pipeline.stop(_HURRY_S)
            raise
        with display.step("stopping the workers"):
            pipeline.stop()


@dataclass
class Run:
    """Papers on their way through a running pipeline."""

    kafka: KafkaSettings
    pipeline: Pipeline
    reader: OutcomeReader
    display: Display
    pointer_root: Path

    def __post_init__(self) -> None:
        self.published = Published()
        self._started = time.monotonic()
        self.seconds = 0.0
        self._progress: tuple[object, float] = (None, self._started)

    def publish_and_wait(self, waves: list[Path]) -> None:
        """Publishes one wave after the other, each once the one before is done.

        Raises NoProgress, WorkerDied, NotSent, and NotAPaper when there was nothing to publish.
        """
        self._started = time.monotonic()
        for number, wave in enumerate(waves, start=1):
            if number > 1:
                # A reference to a paper that comes later stays unresolved until late arrivals are woken: so the works that
                # the papers of a wave are must have reached everybody who looks works up before the next wave cites them.
                with self.display.step("the workers take the papers in as works"):
                    self._wait_for_catalog()
            title = wave.name if len(waves) > 1 else "papers"
            with self.display.progress(title) as draw, Sender(self.kafka) as sender:
                looked = time.monotonic()
                for _ in publish_wave(wave, sender, self.published, pointer_root=self.pointer_root):
                    if time.monotonic() - looked > _TICK_S:
                        self._look(0.0)
                        draw(self._state())
                        looked = time.monotonic()
                sender.flush()
                while self.published.settle(self.reader.outcomes):
                    self._look(_TICK_S)
                    draw(self._state())
                draw(self._state())
        if not self.published.versions:
            raise NotAPaper("; ".join(message for _, message in self.published.refused) or "there is no paper to publish")
        self.seconds = time.monotonic() - self._started

    def _wait_for_catalog(self) -> None:
        end = end_of(self.kafka, "catalog")
        followers = [each for each in self.pipeline.processes if each.worker in _FOLLOWERS]
        while (offsets := [each.metrics().sum("reflink_catalog_offset") for each in followers]) and min(offsets) < end:
            self._expect_progress(offsets, "the workers follow the catalog no more")
            time.sleep(_TICK_S)

    def _look(self, seconds: float) -> None:
        outcomes = self.reader.outcomes
        # All that is there: one poll brings one topic's records.
        while self.reader.read(seconds):
            seconds = 0.0
        self._expect_progress((outcomes.changes, len(self.published)), "no outcome came")

    def _expect_progress(self, state: object, what: str) -> None:
        self.pipeline.check()
        if state != self._progress[0]:
            self._progress = (state, time.monotonic())
        elif time.monotonic() - self._progress[1] > PATIENCE_S:
            raise NoProgress(
                f"{what} for {PATIENCE_S:g} s; {self._state().line()}; not done: {', '.join(self.published.waiting(5))}; "
                f"the workers' logs: {self.pipeline.logs}"
            )

    def _state(self) -> State:
        outcomes: Outcomes = self.reader.outcomes
        return State(
            papers=len(self.published.versions),
            parsed=len(outcomes.papers) + len(outcomes.dead_papers),
            references=sum(len(paper.references) for paper in outcomes.papers.values()),
            linked=outcomes.linked,
            unresolved=len(outcomes.references) - outcomes.linked,
            dead_letters=len(outcomes.dead_letters),
            seconds=time.monotonic() - self._started,
        )


def busy(pipeline: Pipeline) -> dict[str, dict[str, float]]:
    """Seconds of each worker in each step of its batches."""
    name = "reflink_stage_seconds_sum"
    return {
        each.worker: {sample.labels["step"]: round(sample.value, 3) for sample in each.metrics().find(name)}
        for each in pipeline.processes
    }


def jars_are_here() -> bool:
    """Whether Maven has brought Kafka before."""
    return any(default_cache().glob("kafka-*"))


@contextmanager
def workspace(keep: Path | None, display: Display) -> Iterator[Path]:
    """A folder for data, state and logs: the one to keep, or one that goes at the end, but for the logs of a failed run."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        display.say(f"data, state and logs are kept in {keep}")
        return
    folder = Path(tempfile.mkdtemp(prefix="reflink-demo-"))
    try:
        yield folder
    except Exception:
        for each in folder.iterdir():
            if each.name != "logs":
                shutil.rmtree(each, ignore_errors=True)
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
    except BaseException:  # interrupted: nobody asks why
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def delete_topics(kafka: KafkaSettings, display: Display) -> None:
    """Takes the run's topics and groups off a broker that is not ours."""
    try:
        with TopicAdmin(kafka) as admin:
            admin.admin.delete_topics([kafka.topic(name) for name in admin.find(TOPICS)])
            groups, deadline = [kafka.topic(worker) for worker in WORKERS], time.monotonic() + _GROUPS_S
            while groups and time.monotonic() < deadline:
                # A group cannot go while a member that was killed is still waited for.
                answers = dict(admin.admin.delete_groups(groups))
                groups = [group for group in groups if answers.get(group) == "NonEmptyGroupError"]
                time.sleep(0.5 if groups else 0.0)
            if groups:
                display.say(f"consumer groups that could not be deleted: {', '.join(groups)}")
    except Exception as error:  # the run's own end matters more
        display.say(f"topics {kafka.topic_prefix}* could not be deleted: {type(error).__name__}: {error}")

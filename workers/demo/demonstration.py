"""One run of the demo: start a broker and four workers, load a catalog, publish papers in waves, then play the second act."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reflink.terminal import Terminal
from workers.config import settings as configuration
from workers.config.settings import FallbackSettings, KafkaSettings, LinkerSettings
from workers.demo import catalogs, second_act, summary
from workers.demo.display import Display
from workers.demo.engine import engine
from workers.demo.first_act import FirstAct
from workers.demo.outcomes import OutcomeReader
from workers.demo.papers import expect_papers, waves
from workers.demo.rest import Rest
from workers.demo.scenes import read_scenes
from workers.devkit.broker import Broker
from workers.devkit.jars import KAFKA, default_cache, jars
from workers.devkit.processes import WORKERS, Pipeline, Worker
from workers.kafka.topics import TOPICS, TopicAdmin

PARTITIONS: Final = 6
SLOT: Final = "demo"
#: After a failure the demo keeps no state of the workers, so it gives them little time to drain.
_HURRY_S: Final = 3.0
#: Longer than a consumer session (10 s).
_GROUPS_S: Final = 15.0
#: Interval between commits of an idle worker. It is shorter than the default, so that the end of input shows sooner.
_IDLE_COMMIT_S: Final = 0.3


@dataclass(frozen=True)
class Demonstration:
    """The inputs and options of a run.

    ``engine``: the kind of search engine to run with; None: the catalog's own indexes.
    ``brokers`` None: the run starts its own broker; else it creates its topics on these brokers and deletes them at the end.
    ``second_act``: a folder of scenes to play after the papers; None: papers only.
    """

    papers: Path
    catalog: Path
    expected: Path | None = None
    snapshot: Path | None = None
    profile: str | None = None
    engine: str | None = None
    keep: Path | None = None
    json: Path | None = None
    brokers: str | None = None
    second_act: Path | None = None
    follow_links: bool = False

    def run(self) -> int:
        """Return 0, or 1 if outcomes or scenes are not as expected. Raises ReflinkError; stops everything in any case."""
        expected = None if self.expected is None else summary.Expected.read(self.expected)
        scenes = [] if self.second_act is None else read_scenes(self.second_act)
        display, papers = Display(), waves(self.papers, follow_links=self.follow_links)
        expect_papers(papers, follow_links=self.follow_links)
        console = Terminal() if sys.stdout.isatty() else Terminal(width=160)
        played: list[second_act.Played] = []
        with ExitStack() as stack:
            folder = stack.enter_context(workspace(self.keep, display))
            kafka = stack.enter_context(self._kafka(folder, display))
            with display.step("topics"), TopicAdmin(kafka) as admin:
                admin.create(PARTITIONS, -1)
            works, snapshot = self._load(kafka, folder, display)
            searched = {} if self.engine is None else stack.enter_context(engine(folder, display))
            pipeline = stack.enter_context(self._pipeline(kafka, folder, snapshot, searched, display))
            reader = stack.enter_context(OutcomeReader(kafka))
            rest = stack.enter_context(Rest(kafka, pipeline))
            act = FirstAct(kafka, pipeline, reader, rest, display, folder / "pointers", self.follow_links)
            act.publish_and_wait(papers)
            outcomes, published = reader.outcomes, act.published
            result = summary.summarise(outcomes, published, seconds=act.seconds, works=works, busy=busy(pipeline))
            examples = summary.choose(outcomes)
            cited = catalogs.find_works(kafka, {each.link.cited for each in examples if each.link.cited is not None})
            found = None if expected is None else summary.differences(expected, outcomes, published)
            console.print()
            summary.show(result, examples, cited, console)
            if expected is not None and found is not None and self.expected is not None:
                summary.show_differences(found, expected, self.expected, console)
            if self.second_act is not None:
                played = second_act.SecondAct(kafka, PARTITIONS, reader, rest, console).play(scenes, self.second_act)
                second_act.show(played, scenes, console)
        if self.json is not None:
            self.json.write_bytes(result.to_json(found, self.expected, played))
        return 1 if found or any(each.problems for each in played) else 0

    @contextmanager
    def _kafka(self, folder: Path, display: Display) -> Iterator[KafkaSettings]:
        if self.brokers is not None:
            prefix = f"reflink-demo-{uuid.uuid4().hex[:8]}."
            kafka = configuration.read(KafkaSettings, kafka_bootstrap_servers=self.brokers, topic_prefix=prefix)
            with TopicAdmin(kafka) as admin:  # raises if no broker answers: there is nothing to delete then
                display.print(f"Kafka cluster {admin.cluster_id()} at {self.brokers}")
            try:
                yield kafka
            finally:
                delete_topics(kafka, display)
            return
        if not jars_are_here():
            with display.step("downloading Kafka with Maven, once"):
                jars(KAFKA)
        with display.step("Kafka"):
            broker = Broker.start(folder / "kafka")
        broker.owns_folder = self.keep is None
        with broker:
            display.print(f"Kafka listens on {broker.address}")
            yield configuration.read(KafkaSettings, kafka_bootstrap_servers=broker.address, kafka_security_protocol="PLAINTEXT")

    def _load(self, kafka: KafkaSettings, folder: Path, display: Display) -> tuple[int, Path | None]:
        """Load the catalog; return its number of works and the snapshot for the workers, None for a small catalog."""
        source = self.snapshot
        if source is None and not catalogs.is_small(self.catalog):
            source = catalogs.build(
                self.catalog,
                default_cache(),
                configuration.read(LinkerSettings),
                configuration.read(FallbackSettings),
                display.print,
                indexes=self.engine is None,
            )
        snapshot = None if source is None else catalogs.linked_copy(source, folder / "catalog")
        with display.counting("works into the catalog topic") as progress:
            count = catalogs.fill(self.catalog, kafka, progress, bound_to=snapshot)
        display.print(f"{count:,} works in the catalog")
        return count, snapshot

    @contextmanager
    def _pipeline(
        self, kafka: KafkaSettings, folder: Path, snapshot: Path | None, searched: Mapping[str, Any], display: Display
    ) -> Iterator[Pipeline]:
        chosen: dict[str, Any] = {"catalog_snapshot": snapshot, "profile": self.profile, **searched}
        workers: tuple[Worker, ...] = ("indexer", *WORKERS) if searched else WORKERS
        pipeline = Pipeline(
            folder,
            kafka_bootstrap_servers=kafka.kafka_bootstrap_servers,
            kafka_security_protocol=kafka.kafka_security_protocol,
            topic_prefix=kafka.topic_prefix,
            pointer_root=folder / "pointers",
            idle_commit_s=_IDLE_COMMIT_S,
            **{name: value for name, value in chosen.items() if value is not None},
        )
        try:
            with display.step(f"workers: {', '.join(workers)}"):
                for worker in workers:
                    pipeline.start(worker, SLOT)
                pipeline.wait_ready()
            yield pipeline
        except BaseException:
            pipeline.stop(_HURRY_S)
            raise
        with display.step("stopping the workers"):
            pipeline.stop()


def busy(pipeline: Pipeline) -> dict[str, dict[str, float]]:
    """Return the seconds that each worker spent in each step of its batches."""
    name = "reflink_stage_seconds_sum"
    return {
        each.worker: {sample.labels["step"]: round(sample.value, 3) for sample in each.metrics().find(name)}
        for each in pipeline.processes
    }


def jars_are_here() -> bool:
    """Return whether Maven has downloaded Kafka before."""
    return any(default_cache().glob("kafka-*"))


@contextmanager
def workspace(keep: Path | None, display: Display) -> Iterator[Path]:
    """Yield a folder for data, state and logs: ``keep``, or a temporary one.

    The temporary folder is deleted at the end; after a failure its logs remain.
    """
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        display.print(f"data, state and logs are kept in {keep}")
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
    except BaseException:  # interrupted: the logs are not needed
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def delete_topics(kafka: KafkaSettings, display: Display) -> None:
    """Delete the run's topics and consumer groups from a broker that the demo did not start."""
    try:
        with TopicAdmin(kafka) as admin:
            admin.admin.delete_topics([kafka.topic(name) for name in admin.find(TOPICS)])
            groups, deadline = [kafka.topic(worker) for worker in WORKERS], time.monotonic() + _GROUPS_S
            while groups and time.monotonic() < deadline:
                # A group can be deleted only after the session of a killed member has expired.
                answers = dict(admin.admin.delete_groups(groups))
                groups = [group for group in groups if answers.get(group) == "NonEmptyGroupError"]
                time.sleep(0.5 if groups else 0.0)
            if groups:
                display.print(f"consumer groups that could not be deleted: {', '.join(groups)}")
    except Exception as error:  # the result of the run matters more
        display.print(f"topics {kafka.topic_prefix}* could not be deleted: {type(error).__name__}: {error}")

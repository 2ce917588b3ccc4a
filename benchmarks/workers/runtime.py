"""Compare the runtime with a bare kafka-python loop in one run: consume, produce and commit in a transaction.

    python -m benchmarks.workers.runtime [--references 40000] [--rounds 3] [--json FILE]

Input is one record per reference, forty to a paper. Measured, each over the same records:

- bare:    poll, one record out per record in, offsets in the transaction; no decoding, no batching by paper
- runtime: a stage that only repeats its batch, one record per paper and batch
- typed:   the same through the contracts: every reference decoded and validated, every outcome encoded
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata

from benchmarks import harness
from benchmarks.machine import describe, spread
from benchmarks.workers.broker import broker_with_topics
from reflink.entities import Ids, Link, Reference
from schemas import SCHEMA_VERSION, Outcome, ReferenceEvent
from workers.config.settings import KafkaSettings, WorkerSettings
from workers.kafka.bulk_producer import Sender
from workers.linking.events import JudgedBy, add_outcomes
from workers.records import Message, Received
from workers.runtime.runtime import Runtime
from workers.stage import NoView, Output, Stage
from workers.telemetry.metrics import RECORDS_IN

REFERENCES_PER_PAPER = 40


def an_event(paper: int, position: int) -> tuple[bytes, bytes]:
    """Return a reference event of the usual size, about 650 bytes."""
    citing = f"doi:10.5555/bench.{paper:06d}"
    reference = Reference(
        id=f"{citing}#B{position}.1",
        citing=citing,
        position=position,
        raw_text=f"Author AB, Writer CD, Third EF ({1990 + position}) A title as long as titles are in the life sciences, "
        f"with a colon: and a number {paper}. J Bench Mark 12: 345-356. doi:10.1000/jbm.{paper}.{position}",
        title="A title as long as titles are in the life sciences, with a colon: and a number",
        last_names=("Author", "Writer", "Third"),
        venue="J Bench Mark",
        year=1990 + position,
        volume="12",
        first_page="345",
        ids=Ids(doi=f"10.1000/jbm.{paper}.{position}"),
    )
    event = ReferenceEvent(schema_version=SCHEMA_VERSION, citing=citing, paper_version=1, arrived=0, reference=reference)
    return citing.encode(), event.to_json()


class Repeat(Stage[Received, NoView]):
    """A stage that repeats its batch, one record per paper."""

    name = "repeat"
    inputs = ("references",)
    outputs = ("outcomes",)

    def decode(self, record: Received) -> Received:
        """Return the value unchanged."""
        return record

    def view(self, batch: Sequence[Received]) -> NoView:
        """Return nothing: the stage has no view."""
        return NoView()

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        """Join the records of each paper."""
        papers: dict[bytes, list[bytes]] = {}
        for record in batch:
            papers.setdefault(record.key or b"", []).append(record.value or b"")
        return Output([Message("outcomes", key, b"\n".join(values)) for key, values in papers.items()])


class Typed(Repeat):
    """A stage that decodes and validates references, and encodes outcomes."""

    name = "typed"

    def decode(self, record: Received) -> ReferenceEvent:
        """Decode the event."""
        return ReferenceEvent.from_json(record.value or b"")

    def handle(self, batch: Sequence[ReferenceEvent], view: NoView) -> Output:
        """Return an outcome without a link for each reference."""
        output, outcomes = Output(), []
        for event in batch:
            link = Link(reference=event.reference.id, citing=event.citing, cited=None, unresolved="no-candidate")
            outcomes.append((event, Outcome(reference=event.reference, link=link)))
        add_outcomes(output, outcomes, 0, 0, JudgedBy(None, None))
        return output


def bare(kafka: KafkaSettings, count: int, group: str) -> float:
    """Return the seconds of the simplest loop with the same guarantee."""
    consumer = KafkaConsumer(
        kafka.topic("references"),
        bootstrap_servers=kafka.kafka_bootstrap_servers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        max_poll_records=512,
    )
    producer = KafkaProducer(
        bootstrap_servers=kafka.kafka_bootstrap_servers, transactional_id=group, acks="all", linger_ms=5, batch_size=500_000
    )
    producer.init_transactions()
    while not (polled := consumer.poll(timeout_ms=1000)):
        pass
    started, done = time.perf_counter(), 0
    while True:
        if polled:
            producer.begin_transaction()
            for records in polled.values():
                for record in records:
                    producer.send(kafka.topic("outcomes"), key=record.key, value=record.value)
            producer.send_offsets_to_transaction(
                {place: OffsetAndMetadata(records[-1].offset + 1, "", -1) for place, records in polled.items()},
                consumer.group_metadata(),
            )
            producer.commit_transaction()
            done += sum(map(len, polled.values()))
        if done >= count:
            break
        polled = consumer.poll(timeout_ms=1000)
    seconds = time.perf_counter() - started
    consumer.close()
    producer.close()
    return seconds


def through_runtime(stage: Stage, kafka: KafkaSettings, count: int, folder: Path) -> float:
    """Return the seconds from the first batch to the commit of the last record."""
    settings = WorkerSettings(
        kafka_bootstrap_servers=kafka.kafka_bootstrap_servers,
        topic_prefix=kafka.topic_prefix,
        state_dir=folder,
        slot=stage.name,
        flood_window=1000,
    )
    runtime = Runtime(stage, settings)
    before = _records_in()
    done: Callable[[], float] = lambda: _records_in() - before
    thread = threading.Thread(target=runtime.run, daemon=True)
    thread.start()
    while not runtime.flow.partitions.owned() or not runtime.flow.queued().live:
        time.sleep(0.001)
    started = time.perf_counter()
    while done() < count:
        time.sleep(0.002)
    seconds = time.perf_counter() - started
    runtime.stop()
    thread.join()
    return seconds


def _records_in() -> float:
    """Return the records that the runtimes of this process have committed."""
    return sum(each.value for each in RECORDS_IN.collect()[0].samples if each.name.endswith("_total"))


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table and return exit code 0."""
    parser = harness.parser(__doc__)
    parser.add_argument("--references", type=int, default=40_000, help="records per measurement")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements of each, in turn")
    arguments = parser.parse_args(argv)
    count, rates = arguments.references, {"bare": [], "runtime": [], "typed": []}
    with broker_with_topics() as kafka, tempfile.TemporaryDirectory() as folder:
        with Sender(kafka) as sender:
            for number in range(count):
                key, value = an_event(number // REFERENCES_PER_PAPER, number % REFERENCES_PER_PAPER + 1)
                sender.send("references", key, value)
        for round_ in range(arguments.rounds):
            rates["bare"].append(count / bare(kafka, count, f"bare-{round_}"))
            for stage_class in (Repeat, Typed):
                stage = stage_class()
                kind = "runtime" if stage_class is Repeat else "typed"
                stage.name = f"{stage.name}-{round_}"  # a new group, so that everything is read again
                rates[kind].append(count / through_runtime(stage, kafka, count, Path(folder)))
    print(describe())
    print(f"{count} references, medians of {arguments.rounds} rounds (range)\n")
    for kind, values in rates.items():
        ratio = statistics.median(value / base for value, base in zip(values, rates["bare"], strict=True))
        print(f"{kind:8} {spread(values):>24} references/s   {ratio:5.2f} of bare")
    harness.save(arguments.json, {"references": count, "rates": rates})
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tests.chaos.checker BROKER PREFIX --papers N``: reads the topics and says whether anything is lost or doubled.

It knows nothing of the workers, and no code of theirs: a consumer of its own, JSON, and the papers that were sent. With
``--like PREFIX`` the links and dead letters must also equal those of another run, event for event, but for times and
catalog offsets.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition

from tests.chaos.papers import POISON_EVERY, REFERENCES, citing

#: Of an event: when, and at which version of the catalog, which a fault may change and must not matter.
TIMES: Final = ("arrived", "judged", "catalog_offset", "paper_version", "live", "woken")
#: An encoder's last digits depend on what shares its batch.
_TOLERANCE: Final = 1e-3
_SHOWN: Final = 5


def main(arguments: list[str] | None = None) -> int:
    """0: all is as it should be. 1: something is not; the report says what."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.checker", description=__doc__)
    parser.add_argument("broker")
    parser.add_argument("prefix")
    parser.add_argument("--papers", type=int, required=True, help="how many were sent")
    parser.add_argument("--like", metavar="PREFIX", help="the undisturbed run")
    options = parser.parse_args(arguments)
    run = Run(options.broker, options.prefix)
    problems = [*run.problems(options.papers)]
    if options.like:
        problems += run.differences(Run(options.broker, options.like))
    print(json.dumps({"papers": options.papers, "counts": run.counts, "problems": problems[:50]}, indent=1))
    return 1 if problems else 0


def expected(papers: int) -> Iterator[tuple[str, str]]:
    """Paper and reference ids of all that were sent, poison aside."""
    for number in range(papers):
        if number % POISON_EVERY:
            for position in range(1, REFERENCES + 1):
                yield citing(number), f"{citing(number)}#r{position}.1"


class Run:
    """What a reader of committed records finds in one run's topics."""

    def __init__(self, broker: str, prefix: str) -> None:
        self._broker, self._prefix = broker, prefix
        self.links = list(self._read("links"))
        self.dead = [record for record in self._read("dead-letters") if record.value is not None]
        self.references = Counter(json.loads(record.value)["reference"]["id"] for record in self._read("references"))
        #: How often each was asked for again, as the catalog grew.
        self.again = Counter(json.loads(record.value)["reference"]["id"] for record in self._read("retries"))
        self.judged: Counter[str] = Counter()
        self.manifests: Counter[str] = Counter()
        for record in self._read("outcomes"):
            event = json.loads(record.value)
            if event["kind"] == "manifest":
                self.manifests[event["citing"]] += 1
            else:
                self.judged.update(item["reference"]["id"] for item in event["items"])
        self.counts = {
            "links": len(self.links),
            "linked": sum(_event(record)["link"].get("cited") is not None for record in self.links if record.value),
            "dead letters": len(self.dead),
            "references": self.references.total(),
            "judged again": self.again.total(),
            "outcomes": self.judged.total(),
        }

    def problems(self, papers: int) -> Iterator[str]:
        """What is lost, doubled, or of nowhere."""
        wanted = Counter(reference for _, reference in expected(papers))
        sound = Counter({paper: 1 for paper, _ in expected(papers)})
        asked = Counter({reference: 1 + self.again[reference] for reference in wanted})
        current: dict[str, Any] = {}
        published: Counter[str] = Counter()
        for record in self.links:
            key = record.key.decode()
            published[key] += 1
            current[key] = record.value
        yield from _compare("references", self.references, wanted)
        yield from _compare("retries", self.again, asked, least=0)
        yield from _compare("outcomes", self.judged, asked)
        yield from _compare("manifests in outcomes", self.manifests, sound)
        # What is judged again is published again when it is another.
        yield from _compare("links", published, asked, least=1)
        yield from _some("links: tombstones of", [key for key, value in current.items() if value is None])
        poison = Counter(record.key.decode() for record in self.dead)
        names = Counter(f"paper-{number}" for number in range(0, papers, POISON_EVERY))
        yield from _compare("dead letters", poison, names)

    def differences(self, other: Run) -> Iterator[str]:
        """Where links and dead letters are not those of the other run."""
        mine, theirs = _by_key(self.links), _by_key(other.links)
        for key in sorted(mine.keys() | theirs.keys()):
            one, two = ([_event(each) for each in side.get(key, [])] for side in (mine, theirs))
            if len(one) != len(two) or not all(_alike(a, b) for a, b in zip(one, two, strict=True)):
                yield f"links {key}: {json.dumps(one)[:600]} and undisturbed {json.dumps(two)[:600]}"
        one_dead, two_dead = ([_dead(each) for each in run.dead] for run in (self, other))
        yield from _some("dead letters only here:", list((Counter(one_dead) - Counter(two_dead)).elements()))
        yield from _some("dead letters only undisturbed:", list((Counter(two_dead) - Counter(one_dead)).elements()))

    def _read(self, topic: str) -> Iterator[Any]:
        consumer = KafkaConsumer(
            bootstrap_servers=self._broker, isolation_level="read_committed", enable_auto_commit=False, max_poll_records=5000
        )
        try:
            name = self._prefix + topic
            places = [TopicPartition(name, partition) for partition in sorted(consumer.partitions_for_topic(name))]
            ends = consumer.end_offsets(places)
            for place in places:
                consumer.assign([place])
                consumer.seek(place, 0)
                while consumer.position(place) < ends[place]:
                    for records in consumer.poll(timeout_ms=500).values():
                        yield from records
        finally:
            consumer.close()


def _compare(what: str, found: Counter[str], wanted: Counter[str], *, least: int | None = None) -> Iterator[str]:
    """Each as often as wanted, or at ``least`` so often."""
    yield from _some(
        f"{what}: lost", [key for key, count in wanted.items() if found[key] < (count if least is None else least)]
    )
    yield from _some(f"{what}: doubled", [key for key, count in found.items() if count > wanted[key] > 0])
    yield from _some(f"{what}: of nowhere", [key for key in found if key not in wanted])


def _some(what: str, keys: list[Any]) -> Iterator[str]:
    if keys:
        yield f"{what} {len(keys)}: {', '.join(map(str, sorted(keys)[:_SHOWN]))}"


def _by_key(records: Iterable[Any]) -> dict[str, list[Any]]:
    found = defaultdict(list)
    for record in records:
        found[record.key.decode()].append(record)
    return found


def _event(record: Any) -> Any:
    event = json.loads(record.value) if record.value is not None else {}
    return {name: value for name, value in event.items() if name not in TIMES}


def _alike(one: Any, two: Any) -> bool:
    """Equal, numbers with a fraction nearly so."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_alike(one[name], two[name]) for name in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_alike, one, two))
    if isinstance(one, float) and isinstance(two, int | float):
        return abs(one - two) <= _TOLERANCE
    return bool(one == two)


def _dead(record: Any) -> tuple[str, str, str]:
    reason = next(value.decode() for name, value in record.headers if name == "reflink-exception")
    return record.key.decode(), record.value.decode("utf-8", "replace"), reason


if __name__ == "__main__":
    sys.exit(main())

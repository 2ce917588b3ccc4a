"""``python -m tests.campaigns.chaos.checker BROKER PREFIX --papers N``: report lost or duplicated records.

The checker shares no code with the workers: it uses its own consumer, JSON, and the papers that were sent. With
``--like PREFIX`` the links and dead letters must also equal those of another run of at least these papers, event for event,
except for times and catalog offsets. With ``--beyond PREFIX`` this run had all works of the other run from the start and more
works later, so it never publishes that the catalog lacks a work that the other run linked.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition

from tests.campaigns.chaos.papers import POISON_EVERY, REFERENCES, citing, number_of

#: Event fields that a fault may change without being wrong, such as times and catalog offsets. The comparison ignores them.
TIMES: Final = ("arrived", "judged", "catalog_offset", "paper_version", "live", "woken")
#: Maximum difference of two numbers: the last digits of an encoder's output depend on the other texts in its batch.
_TOLERANCE: Final = 1e-3
_SHOWN: Final = 5
#: Reasons that say that the catalog lacks the cited work.
_ABSENT: Final = ("no-candidate", "not-in-catalog")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 without problems, 1 with problems, which the report lists."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.chaos.checker", description=__doc__)
    parser.add_argument("broker")
    parser.add_argument("prefix")
    parser.add_argument("--papers", type=int, required=True, help="number of papers that were sent")
    parser.add_argument("--like", metavar="PREFIX", help="topic prefix of the undisturbed run")
    parser.add_argument("--beyond", metavar="PREFIX", help="topic prefix of an undisturbed run with fewer works")
    options = parser.parse_args(arguments)
    run = Run(options.broker, options.prefix)
    problems = [*run.problems(options.papers)]
    if options.like:
        problems += run.differences(Run(options.broker, options.like), options.papers)
    if options.beyond:
        problems += run.missing(Run(options.broker, options.beyond))
    print(json.dumps({"papers": options.papers, "counts": run.counts, "problems": problems[:50]}, indent=1))
    return 1 if problems else 0


def check(
    broker: str, prefix: str, papers: int, like: str | None = None, beyond: str | None = None
) -> tuple[dict[str, int], list[str]]:
    """Run this command in a separate process; return the counts and the problems."""
    command = [sys.executable, "-m", "tests.campaigns.chaos.checker", broker, prefix, "--papers", str(papers)]
    others = [*(["--like", like] if like else []), *(["--beyond", beyond] if beyond else [])]
    done = subprocess.run([*command, *others], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        return {}, [f"the checker failed: {done.stderr[-500:]}"]
    report = json.loads(done.stdout)
    return report["counts"], report["problems"]


def expected(papers: int) -> Iterator[tuple[str, str]]:
    """Yield the paper id and reference id of each reference that was sent, except those of poison."""
    for number in range(papers):
        if number % POISON_EVERY:
            for position in range(1, REFERENCES + 1):
                yield citing(number), f"{citing(number)}#r{position}.1"


class Run:
    """The committed records in one run's topics."""

    def __init__(self, broker: str, prefix: str) -> None:
        self._broker, self._prefix = broker, prefix
        self.links = list(self._read("links"))
        self.dead = [record for record in self._read("dead-letters") if record.value is not None]
        self.references = Counter(json.loads(record.value)["reference"]["id"] for record in self._read("references"))
        #: Re-evaluations of each reference, caused by the growing catalog.
        self.reevaluated = Counter(json.loads(record.value)["reference"]["id"] for record in self._read("retries"))
        self.decided: Counter[str] = Counter()
        self.manifests: Counter[str] = Counter()
        for record in self._read("outcomes"):
            event = json.loads(record.value)
            if event["kind"] == "manifest":
                self.manifests[event["citing"]] += 1
            else:
                self.decided.update(item["reference"]["id"] for item in event["items"])
        self.counts = {
            "links": len(self.links),
            "linked": sum(_event(record)["link"].get("cited") is not None for record in self.links if record.value),
            "dead letters": len(self.dead),
            "references": self.references.total(),
            "re-evaluated": self.reevaluated.total(),
            "outcomes": self.decided.total(),
        }

    def problems(self, papers: int) -> Iterator[str]:
        """Yield the records that are lost, duplicated, or of unknown origin."""
        wanted = Counter(reference for _, reference in expected(papers))
        sound = Counter({paper: 1 for paper, _ in expected(papers)})
        allowed = Counter({reference: 1 + self.reevaluated[reference] for reference in wanted})
        current: dict[str, Any] = {}
        published: Counter[str] = Counter()
        for record in self.links:
            key = record.key.decode()
            published[key] += 1
            current[key] = record.value
        yield from _compare("references", self.references, wanted)
        yield from _compare("retries", self.reevaluated, allowed, minimum=0)
        yield from _compare("outcomes", self.decided, allowed)
        yield from _compare("manifests in outcomes", self.manifests, sound)
        # The ledger publishes a re-evaluated outcome only if it differs.
        yield from _compare("links", published, allowed, minimum=1)
        yield from _some("links: tombstones of", [key for key, value in current.items() if value is None])
        poison = Counter(record.key.decode() for record in self.dead)
        names = Counter(f"paper-{number}" for number in range(0, papers, POISON_EVERY))
        yield from _compare("dead letters", poison, names)

    def differences(self, other: Run, papers: int) -> Iterator[str]:
        """Yield differences of links and dead letters from the other run, which may have had more papers."""
        mine, theirs = _by_key(self.links), _by_key(other.links)
        beyond = {key for key in theirs.keys() - mine.keys() if number_of(key.partition("#")[0]) >= papers}
        theirs = {key: records for key, records in theirs.items() if key not in beyond}
        for key in sorted(mine.keys() | theirs.keys()):
            one, two = ([_event(each) for each in side.get(key, [])] for side in (mine, theirs))
            if len(one) != len(two) or not all(_alike(a, b) for a, b in zip(one, two, strict=True)):
                yield f"links {key}: {json.dumps(one)[:600]} and undisturbed {json.dumps(two)[:600]}"
        names = {f"paper-{number}" for number in range(0, papers, POISON_EVERY)}
        one_dead = [_dead(each) for each in self.dead]
        two_dead = [dead for dead in map(_dead, other.dead) if dead[0] in names]
        yield from _some("dead letters only here:", list((Counter(one_dead) - Counter(two_dead)).elements()))
        yield from _some("dead letters only undisturbed:", list((Counter(two_dead) - Counter(one_dead)).elements()))

    def missing(self, other: Run) -> Iterator[str]:
        """Yield references that this run published as without a work although the other run, with fewer works, linked them."""
        linked = {key for key, records in _by_key(other.links).items() if _event(records[-1])["link"].get("cited")}
        absent = [
            f"{record.key.decode()} ({link['unresolved']})"
            for record in self.links
            if record.value is not None
            and record.key.decode() in linked
            and (link := _event(record)["link"]).get("unresolved") in _ABSENT
        ]
        yield from _some("links: the catalog has the work of", absent)

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
                following = 0
                while consumer.position(place) < ends[place]:
                    for record in chain.from_iterable(consumer.poll(timeout_ms=500).values()):
                        # kafka-python goes back by itself if it takes a log for truncated.
                        if record.offset >= following:
                            following = record.offset + 1
                            yield record
        finally:
            consumer.close()


def _compare(what: str, found: Counter[str], wanted: Counter[str], *, minimum: int | None = None) -> Iterator[str]:
    """Yield keys not found exactly as often as ``wanted``; with ``minimum``, from ``minimum`` to ``wanted`` times."""
    yield from _some(
        f"{what}: lost", [key for key, count in wanted.items() if found[key] < (count if minimum is None else minimum)]
    )
    yield from _some(f"{what}: doubled", [key for key, count in found.items() if count > wanted[key] > 0])
    yield from _some(f"{what}: of unknown origin", [key for key in found if key not in wanted])


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
    """Return whether two JSON values are equal, floating-point numbers up to the tolerance."""
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

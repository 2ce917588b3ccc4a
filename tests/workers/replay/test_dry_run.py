"""A dry run reports what a re-evaluation would change, and changes nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from reflink.catalog import Catalog
from reflink.entities import Link, Reference, Work
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy
from reflink.semantic import Encoder
from schemas import OverrideEvent
from tests.kafka import read_all
from tests.workers.commands import Command
from tests.workers.corpus import example_papers, loaded, parsed
from tests.workers.links import PARTITIONS, link, publish
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import TOPICS, partition_of
from workers.replay.diff import KINDS

OTHER = "doi:10.5555/a-work-that-nothing-here-cites"
EXPECTED = {"relinked": 3, "unlinked": 3, "linked": 3, "reason": 2}
#: More than any link of the demo has.
SURER = "0.9999999"


@pytest.fixture(scope="module")
def decided(encoder: Encoder, snapshot: Path) -> list[tuple[Reference, Link]]:
    """Return the references of the demo and their links, decided as in a worker."""
    references = [reference for paper in parsed(example_papers()) for reference in paper.references]
    references = list({reference.id: reference for reference in references}.values())
    links = Linker(Catalog.open(snapshot), encoder, Policy()).link(references)
    return list(zip(references, links, strict=True))


@pytest.fixture
def dry_run(
    bound: KafkaSettings, works: list[Work], snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> Any:
    """Return a function that makes a dry run with the settings of workers, and returns the exit code and standard output."""
    snapshot = loaded(works, snapshot, bound, tmp_path)
    options = {"CATALOG_SNAPSHOT": snapshot, "DEVICE": "cpu", "PRECISION": "fp32", "QUERY_PRECISION": "fp32"}
    for name, value in options.items():
        monkeypatch.setenv(f"REFLINK_{name}", str(value))
    return lambda *arguments: command("replay", "--dry-run", *arguments)[:2]


def altered(decided: list[tuple[Reference, Link]]) -> tuple[dict[str, Link], dict[str, str]]:
    """Return the links, some of them altered, and the kind of change that re-evaluating each altered link makes."""
    links, kinds = dict[str, Link](), dict[str, str]()
    left = Counter(EXPECTED)
    for _, right in decided:
        given: dict[str, Any] = {}
        if right.cited is not None:
            if left["relinked"]:
                kinds[right.reference], given = "relinked", {"cited": OTHER}
            elif left["linked"]:
                kinds[right.reference], given = "linked", {"cited": None, "unresolved": "no-candidate"}
        elif left["unlinked"]:
            kinds[right.reference], given = "unlinked", {"cited": OTHER, "unresolved": None}
        elif left["reason"]:
            kinds[right.reference], given = "reason", {"unresolved": "below-threshold"}
        left[kinds.get(right.reference, "")] -= 1
        links[right.reference] = right.model_copy(update=given)
    assert Counter(kinds.values()) == EXPECTED, "the demo's papers have too few references for this test"
    return links, kinds


def publish_links(kafka: KafkaSettings, decided: list[tuple[Reference, Link]], links: dict[str, Link]) -> None:
    events = [
        link(reference.id).model_copy(update={"link": links[reference.id], "reference": reference}) for reference, _ in decided
    ]
    publish(kafka, *events)


def test_changes_are_counted_by_kind_and_nothing_is_sent(
    kafka: KafkaSettings, decided: list[tuple[Reference, Link]], dry_run: Any, tmp_path: Path
):
    links, kinds = altered(decided)
    publish_links(kafka, decided, links)
    before = {topic: len(read_all(kafka, topic)) for topic in TOPICS}
    code, out = dry_run("--json", "--examples", "1", "--changes", str(tmp_path / "changes.jsonl"))
    assert code == 0
    report = orjson.loads(out)
    assert {kind: report["changes"][kind]["count"] for kind in KINDS} == {
        **EXPECTED,
        "unchanged": len(decided) - sum(EXPECTED.values()),
        "failed": 0,
    }
    assert (report["judged"], report["selected"]) == (len(decided), len(decided))
    assert "share_95" not in report["changes"]["relinked"]
    assert {kind: len(examples) for kind, examples in report["examples"].items()} == dict.fromkeys(EXPECTED, 1)
    changes = [orjson.loads(line) for line in (tmp_path / "changes.jsonl").read_bytes().splitlines()]
    assert {change["reference"]: change["kind"] for change in changes} == kinds
    right = {reference.id: outcome.cited for reference, outcome in decided}
    assert all(change["after"].get("cited") == right[change["reference"]] for change in changes)
    assert all(change["before"].get("cited") == links[change["reference"]].cited for change in changes)
    assert {topic: len(read_all(kafka, topic)) for topic in TOPICS} == before


def test_the_intervals_of_a_sample_contain_the_true_counts(
    kafka: KafkaSettings, decided: list[tuple[Reference, Link]], dry_run: Any
):
    links, _ = altered(decided)
    publish_links(kafka, decided, links)
    code, out = dry_run("--json", "--sample", "12", "--seed", "3")
    report = orjson.loads(out)
    assert (code, report["judged"], report["selected"]) == (0, 12, len(decided))
    assert sum(report["changes"][kind]["count"] for kind in KINDS) == 12
    for kind, count in EXPECTED.items():
        least, most = report["changes"][kind]["of_all_95"]
        assert least <= count <= most, kind
    assert dry_run("--json", "--sample", "12", "--seed", "3")[1] == out
    assert "95%: " in dry_run("--sample", "12")[1]


def test_a_dry_run_applies_another_threshold_and_overrides(
    kafka: KafkaSettings, decided: list[tuple[Reference, Link]], dry_run: Any, monkeypatch: pytest.MonkeyPatch
):
    linked = [(reference, right) for reference, right in decided if right.cited is not None]
    publish_links(kafka, linked, {right.reference: right for _, right in linked})
    (_, forbidden), (_, pinned), *rest = linked
    fields: Any = {"schema_version": 1, "reason": "because", "at": 1}
    with Sender(kafka) as sender:
        for event in (
            OverrideEvent(reference=forbidden.reference, forbidden=(str(forbidden.cited),), **fields),
            OverrideEvent(reference=pinned.reference, pinned=OTHER, **fields),
        ):
            partition = partition_of(event.citing.encode(), PARTITIONS)
            sender.send("overrides", event.reference.encode(), event.to_json(), partition=partition)
    code, out = dry_run("--json")
    report = orjson.loads(out)
    changed = report["changes"]["relinked"]["count"] + report["changes"]["unlinked"]["count"]
    assert (code, changed, report["pinned"], report["judged"]) == (0, 1, 1, len(linked) - 1)
    (example,) = (each for kept in report["examples"].values() for each in kept)
    assert example["reference"] == forbidden.reference
    assert example["after"].get("cited") != forbidden.cited
    monkeypatch.setenv("REFLINK_MIN_PROBABILITY", SURER)
    surer = orjson.loads(dry_run("--json")[1])
    sure = sum(float(right.probability or 0) >= float(SURER) for _, right in rest)
    assert sure < len(rest)
    assert surer["changes"]["unlinked"]["count"] >= len(rest) - sure
    assert (surer["policy"] != report["policy"], surer["model"]) == (True, report["model"])
    out = dry_run("--citing", forbidden.citing)[1]
    assert "linked, now not linked: " in out
    assert "excluded: decided by a curator" in out or pinned.citing != forbidden.citing

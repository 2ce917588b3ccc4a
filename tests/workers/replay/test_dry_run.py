"""A dry run says exactly what another judgement would change, and changes nothing."""

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
from tests.workers.corpus import example_papers, loaded, parsed
from tests.workers.links import PARTITIONS, link, publish
from workers.cli import main
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import TOPICS, partition_of
from workers.replay.diff import KINDS

OTHER = "doi:10.5555/a-work-that-nothing-here-cites"
EXPECTED = {"relinked": 3, "unlinked": 3, "linked": 3, "reason": 2}
#: More than any link of the demo has.
SURER = "0.9999999"


@pytest.fixture(scope="module")
def judged(encoder: Encoder, snapshot: Path) -> list[tuple[Reference, Link]]:
    """The demo's references and what they link to, judged as in a worker."""
    references = [reference for paper in parsed(example_papers()) for reference in paper.references]
    references = list({reference.id: reference for reference in references}.values())
    links = Linker(Catalog.open(snapshot), encoder, Policy()).link(references)
    return list(zip(references, links, strict=True))


@pytest.fixture
def command(
    kafka: KafkaSettings, works: list[Work], snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> Any:
    """Runs a dry run with the settings of workers; gives the exit code and what it printed."""
    settings = {
        "KAFKA_BOOTSTRAP_SERVERS": kafka.kafka_bootstrap_servers,
        "TOPIC_PREFIX": kafka.topic_prefix,
        "CATALOG_SNAPSHOT": loaded(works, snapshot, kafka, tmp_path),
        "DEVICE": "cpu",
        "PRECISION": "fp32",
        "QUERY_PRECISION": "fp32",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"REFLINK_{name}", str(value))

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["replay", "--dry-run", *arguments])
        told = capsys.readouterr()
        return code, told.out

    return run


def spoilt(judged: list[tuple[Reference, Link]]) -> tuple[dict[str, Link], dict[str, str]]:
    """The links with some of them made wrong, and what judging those again changes."""
    links, kinds = dict[str, Link](), dict[str, str]()
    left = Counter(EXPECTED)
    for _, right in judged:
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


def publish_links(kafka: KafkaSettings, judged: list[tuple[Reference, Link]], links: dict[str, Link]) -> None:
    events = [
        link(reference.id).model_copy(update={"link": links[reference.id], "reference": reference}) for reference, _ in judged
    ]
    publish(kafka, *events)


def test_changes_are_told_by_kind_and_nothing_is_sent(
    kafka: KafkaSettings, judged: list[tuple[Reference, Link]], command: Any, tmp_path: Path
):
    links, kinds = spoilt(judged)
    publish_links(kafka, judged, links)
    before = {topic: len(read_all(kafka, topic)) for topic in TOPICS}
    code, out = command("--json", "--examples", "1", "--changes", str(tmp_path / "changes.jsonl"))
    assert code == 0
    told = orjson.loads(out)
    assert {kind: told["changes"][kind]["count"] for kind in KINDS} == {
        **EXPECTED,
        "unchanged": len(judged) - sum(EXPECTED.values()),
        "failed": 0,
    }
    assert (told["judged"], told["selected"]) == (len(judged), len(judged))
    assert "share_95" not in told["changes"]["relinked"]
    assert {kind: len(examples) for kind, examples in told["examples"].items()} == dict.fromkeys(EXPECTED, 1)
    changes = [orjson.loads(line) for line in (tmp_path / "changes.jsonl").read_bytes().splitlines()]
    assert {change["reference"]: change["kind"] for change in changes} == kinds
    right = {reference.id: outcome.cited for reference, outcome in judged}
    assert all(change["after"].get("cited") == right[change["reference"]] for change in changes)
    assert all(change["before"].get("cited") == links[change["reference"]].cited for change in changes)
    assert {topic: len(read_all(kafka, topic)) for topic in TOPICS} == before


def test_a_sample_comes_with_intervals_that_hold_what_is_so(
    kafka: KafkaSettings, judged: list[tuple[Reference, Link]], command: Any
):
    links, _ = spoilt(judged)
    publish_links(kafka, judged, links)
    code, out = command("--json", "--sample", "12", "--seed", "3")
    told = orjson.loads(out)
    assert (code, told["judged"], told["selected"]) == (0, 12, len(judged))
    assert sum(told["changes"][kind]["count"] for kind in KINDS) == 12
    for kind, count in EXPECTED.items():
        least, most = told["changes"][kind]["of_all_95"]
        assert least <= count <= most, kind
    assert command("--json", "--sample", "12", "--seed", "3")[1] == out
    assert "95%: " in command("--sample", "12")[1]


def test_another_threshold_and_a_curators_word_show_before_they_are_deployed(
    kafka: KafkaSettings, judged: list[tuple[Reference, Link]], command: Any, monkeypatch: pytest.MonkeyPatch
):
    linked = [(reference, right) for reference, right in judged if right.cited is not None]
    publish_links(kafka, linked, {right.reference: right for _, right in linked})
    (_, forbidden), (_, pinned), *rest = linked
    said: Any = {"schema_version": 1, "reason": "because", "at": 1}
    with Sender(kafka) as sender:
        for event in (
            OverrideEvent(reference=forbidden.reference, forbidden=(str(forbidden.cited),), **said),
            OverrideEvent(reference=pinned.reference, pinned=OTHER, **said),
        ):
            partition = partition_of(event.citing.encode(), PARTITIONS)
            sender.send("overrides", event.reference.encode(), event.to_json(), partition=partition)
    code, out = command("--json")
    told = orjson.loads(out)
    changed = told["changes"]["relinked"]["count"] + told["changes"]["unlinked"]["count"]
    assert (code, changed, told["pinned"], told["judged"]) == (0, 1, 1, len(linked) - 1)
    (example,) = (each for kept in told["examples"].values() for each in kept)
    assert example["reference"] == forbidden.reference
    assert example["after"].get("cited") != forbidden.cited
    monkeypatch.setenv("REFLINK_MIN_PROBABILITY", SURER)
    surer = orjson.loads(command("--json")[1])
    sure = sum(float(right.probability or 0) >= float(SURER) for _, right in rest)
    assert sure < len(rest)
    assert surer["changes"]["unlinked"]["count"] >= len(rest) - sure
    assert (surer["policy"] != told["policy"], surer["model"]) == (True, told["model"])
    out = command("--citing", forbidden.citing)[1]
    assert "linked, now not linked: " in out
    assert "excluded: decided by a curator" in out or pinned.citing != forbidden.citing

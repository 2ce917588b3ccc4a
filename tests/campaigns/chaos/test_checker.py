"""The checker: it accepts correct records, and finds records that are lost, doubled, unknown or changed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.papers import PREFIX
from tests.campaigns.chaos.checker import Run, expected
from tests.data import ROOT
from tests.kafka import create_topics, new_prefix
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.kafka.bulk_producer import Sender

PAPERS = 3
#: Topic to records: key, value, headers.
Records = dict[str, list[tuple[str, Any, tuple[tuple[str, bytes], ...]]]]


def correct() -> Records:
    """Return the records that three papers lead to; the first paper is poison."""
    records: Records = {"references": [], "outcomes": [], "links": [], "dead-letters": []}
    for citing in dict.fromkeys(citing for citing, _ in expected(PAPERS)):
        records["outcomes"].append((citing, {"kind": "manifest", "citing": citing}, ()))
    for citing, reference in expected(PAPERS):
        records["references"].append((citing, {"reference": {"id": reference}}, ()))
        records["outcomes"].append((citing, {"kind": "outcomes", "items": [{"reference": {"id": reference}}]}, ()))
        link = {"citing": citing, "arrived": 1, "link": {"cited": "doi:10.1/a", "score": 0.5}}
        records["links"].append((reference, link, ()))
    records["dead-letters"].append(("paper-0", "<poison/>", (("reflink-exception", b"NotAPaper"),)))
    return records


def written(broker: Broker, records: Records) -> Run:
    kafka: KafkaSettings = create_topics(broker.address, new_prefix(), partitions=1)
    with Sender(kafka) as sender:
        for topic, entries in records.items():
            for key, value, headers in entries:
                data = None if value is None else json.dumps(value).encode()
                sender.send(topic, key.encode(), data, headers=headers)
    return Run(broker.address, kafka.topic_prefix)


def changed(change: Callable[[Records], None]) -> Records:
    records = correct()
    change(records)
    return records


def test_the_checker_imports_no_code_of_the_workers():
    code = "import sys, tests.campaigns.chaos.checker; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "kafka" in loaded
    assert not loaded & {"workers", "schemas"}


def test_correct_records_have_no_problems(broker: Broker):
    run = written(broker, correct())
    assert list(run.problems(PAPERS)) == []
    again = correct()
    again["links"].reverse()
    for _, link, _ in again["links"]:
        link["arrived"] = 2
        link["link"]["score"] += 1e-5
    assert list(run.differences(written(broker, again), PAPERS)) == []


@pytest.mark.parametrize("topic", ["references", "outcomes", "links", "dead-letters"])
@pytest.mark.parametrize("what", ["lost", "doubled"])
def test_lost_and_doubled_records_are_found(broker: Broker, topic: str, what: str):
    records = correct()
    *others, last = records[topic]
    records[topic] = others if what == "lost" else [*others, last, last]
    assert any(what in problem for problem in written(broker, records).problems(PAPERS))


def test_a_reevaluation_adds_one_outcome_and_at_most_one_link(broker: Broker):
    citing, key = next(iter(expected(PAPERS)))

    def reevaluated(records: Records, *, published: bool) -> None:
        records["retries"] = [(citing, {"reference": {"id": key}}, ())]
        records["outcomes"].append((citing, {"kind": "outcomes", "items": [{"reference": {"id": key}}]}, ()))
        if published:
            records["links"].append((key, {"citing": citing, "link": {"cited": "doi:10.1/b"}}, ()))

    for published in (True, False):
        run = written(broker, changed(lambda records, published=published: reevaluated(records, published=published)))
        assert list(run.problems(PAPERS)) == []
        assert run.counts["re-evaluated"] == 1

    def not_decided(records: Records) -> None:
        records["retries"] = [(citing, {"reference": {"id": key}}, ())]

    (problem,) = written(broker, changed(not_decided)).problems(PAPERS)
    assert problem.startswith("outcomes: lost")
    assert key in problem


def test_unknown_and_removed_links_are_found(broker: Broker):
    key = next(reference for _, reference in expected(PAPERS))

    def change(records: Records) -> None:
        records["links"].append((f"doi:{PREFIX}.99999#r1.1", {"citing": "x", "link": {}}, ()))
        records["links"] = [(name, None if name == key else value, headers) for name, value, headers in records["links"]]

    problems = list(written(broker, changed(change)).problems(PAPERS))
    assert any("of unknown origin" in problem for problem in problems)
    assert any("tombstones" in problem and key in problem for problem in problems)


def test_differences_from_the_undisturbed_run_are_found(broker: Broker):
    undisturbed = written(broker, correct())

    def other_reason(records: Records) -> None:
        records["dead-letters"][0] = ("paper-0", "<poison/>", (("reflink-exception", b"TooLarge"),))

    for change in (
        lambda records: records["links"][0][1]["link"].update(cited=None),
        lambda records: records["links"][0][1]["link"].update(score=0.6),
        other_reason,
    ):
        assert list(written(broker, changed(change)).differences(undisturbed, PAPERS))


def test_a_link_lost_although_the_catalog_only_grew_is_found(broker: Broker):
    fewer = written(broker, correct())
    key = next(reference for _, reference in expected(PAPERS))

    def moved(records: Records) -> None:
        records["links"][0][1]["link"].update(cited="doi:10.1/later")

    def absent(records: Records) -> None:
        records["links"][0][1]["link"].update(cited=None, unresolved="no-candidate")

    def uncertain(records: Records) -> None:
        records["links"][0][1]["link"].update(cited=None, unresolved="ambiguous")

    for change in (moved, uncertain):
        assert list(written(broker, changed(change)).missing(fewer)) == []
    (problem,) = written(broker, changed(absent)).missing(fewer)
    assert key in problem

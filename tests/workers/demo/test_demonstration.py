"""The whole demo: four worker processes on a real broker, the examples, both acts, and the cleanup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from reflink.errors import BadRecord, NotAPaper
from tests.workers.corpus import EXAMPLES
from tests.workers.echo import until
from workers.demo.demonstration import Demonstration
from workers.devkit.broker import Broker


def names_on(broker: Broker) -> set[str]:
    admin = KafkaAdminClient(bootstrap_servers=broker.address)
    try:
        groups = {str(group["group_id"]) for group in admin.list_groups()}
        return {name for name in {*admin.list_topics(), *groups} if name.startswith("reflink-demo-")}
    finally:
        admin.close()


def test_the_demo_has_the_expected_links_and_changes(
    broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFLINK_TRANSACTION_TIMEOUT_S", "60")  # nobody restarts a worker that the broker fences
    summary, expected = tmp_path / "summary.json", EXAMPLES / "expected.json"
    demonstration = Demonstration(
        papers=EXAMPLES / "papers",
        catalog=EXAMPLES / "works.jsonl",
        expected=expected,
        json=summary,
        brokers=broker.address,
        second_act=EXAMPLES / "second-act",
    )
    assert demonstration.run() == 0, capsys.readouterr().out
    shown = capsys.readouterr()
    assert f"all 514 references and 2 dead letters are as in {expected}" in shown.out
    assert "as expected: 7 scenes, and no other link has changed" in shown.out
    assert "2-second: papers 42/42 parsed, references 514/514 settled: 325 linked" in shown.err
    fields = json.loads(summary.read_text())
    assert (fields["papers"], fields["references"], sum(fields["linked"].values())) == (42, 514, 325)
    assert fields["differences"] == []
    assert fields["busy"].keys() == {"parser", "linker", "fallback", "ledger"}
    scenes = fields["second_act"]
    assert [each["problems"] for each in scenes] == [[]] * 7
    assert scenes[0]["changed"] == {"linked": 3, "new and linked": 4, "new and unresolved": 1}
    assert all(each["seconds"] > 0 for each in scenes)
    until(lambda: names_on(broker) == set())


def test_a_folder_without_papers_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "1-empty").mkdir()
    with pytest.raises(NotAPaper, match=r"1-empty: no paper in this folder"):
        Demonstration(papers=tmp_path, catalog=EXAMPLES / "works.jsonl", brokers="nobody.invalid:1").run()


def test_scenes_that_cannot_be_read_are_an_error_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match=r"scenes\.json: cannot be read"):
        Demonstration(
            papers=EXAMPLES / "papers", catalog=EXAMPLES / "works.jsonl", brokers="nobody.invalid:1", second_act=tmp_path
        ).run()

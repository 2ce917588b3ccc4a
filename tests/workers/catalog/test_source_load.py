"""Loading a state into the catalog topic: only changes are sent, a killed load continues, and too many removals are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reflink.entities import Work
from reflink.errors import BadDump
from reflink.updating import Input, Limits, State, update
from schemas import CatalogEvent
from tests.kafka import send
from tests.reflink.updating.sources import Lines, write
from workers.catalog.source_load import load_changes
from workers.config.settings import KafkaSettings
from workers.kafka.range_reader import Range

A = {"key": "a", "doi": "10.1000/a", "title": "Title of a"}
B = {"key": "b", "pmid": "2", "title": "Title of b"}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path / "state") as opened:
        yield opened


def read(state: State, folder: Path) -> None:
    update(state, [Input(Lines(), (folder,))], limits=Limits(max_removed=1.0))


def topic(kafka: KafkaSettings) -> list[tuple[str, str | None]]:
    """Return the key of each record of the topic, and the title of its work."""
    found: list[tuple[str, str | None]] = []
    with Range(kafka, "catalog", [0]) as records:
        for record in records:
            work = None if record.value is None else CatalogEvent.from_json(record.value).work
            found.append(((record.key or b"").decode(), work and work.title))
    return found


def test_a_load_sends_all_works_once_and_then_what_changed(kafka: KafkaSettings, state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    read(state, tmp_path / "in")
    assert load_changes(state, kafka) == (2, 0)
    assert topic(kafka) == [("doi:10.1000/a", "Title of a"), ("pmid:2", "Title of b")]
    assert load_changes(state, kafka) == (0, 0)
    write(tmp_path / "in/2.jsonl", B | {"title": "Second"}, {"key": "a", "withdrawn": True})
    read(state, tmp_path / "in")
    assert load_changes(state, kafka) == (1, 1)
    assert topic(kafka)[2:] == [("doi:10.1000/a", None), ("doi:10.1000/a", None), ("pmid:2", "Second")]


def test_works_that_the_topic_has_already_are_not_sent(kafka: KafkaSettings, state: State, tmp_path: Path):
    def event(**fields: Any) -> bytes:
        return CatalogEvent(schema_version=1, work=Work.from_dict(fields)).to_json()

    a = event(id="doi:10.1000/a", ids={"doi": "10.1000/a"}, title="Title of a")
    other = event(id="pmid:2", ids={"pmid": "2"}, title="Other")
    send(kafka, "catalog", [(b"doi:10.1000/a", other), (b"pmid:2", b"no event"), (b"doi:10.1000/a", a), (b"w", event(id="w"))])
    write(tmp_path / "in/1.jsonl", A, B)
    read(state, tmp_path / "in")
    assert load_changes(state, kafka) == (1, 0)
    with Range(kafka, "catalog", [0]) as records:
        assert [record.key for record in records][4:] == [b"pmid:2"]


def test_a_load_that_ends_between_sending_and_noting_sends_the_batch_again(
    kafka: KafkaSettings, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "in/1.jsonl", A, B)
    read(state, tmp_path / "in")
    with monkeypatch.context() as patch:
        patch.setattr("reflink.updating.output.published", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            load_changes(state, kafka)
    assert load_changes(state, kafka) == (2, 0)
    assert [key for key, _ in topic(kafka)] == ["doi:10.1000/a", "pmid:2"] * 2


def test_a_state_loaded_into_another_topic_is_compared_with_that_topic(kafka: KafkaSettings, state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    read(state, tmp_path / "in")
    load_changes(state, kafka)
    state.set_fact("topic", ["another cluster", "catalog", "id"])
    assert load_changes(state, kafka) == (0, 0)
    assert len(topic(kafka)) == 2


def test_a_load_that_would_remove_too_much_sends_nothing(kafka: KafkaSettings, state: State, tmp_path: Path):
    many = [{"key": f"m{n}", "doi": f"10.1000/m{n}", "title": "Title"} for n in range(8)]
    write(tmp_path / "in/1.jsonl", A, B, *many)
    read(state, tmp_path / "in")
    load_changes(state, kafka)
    write(tmp_path / "in/2.jsonl", {"key": "a", "withdrawn": True}, B | {"doi": "10.1000/b"})
    read(state, tmp_path / "in")
    with pytest.raises(BadDump, match="1 of 10 works would be removed"):
        load_changes(state, kafka, max_removed=0.05)
    assert len(topic(kafka)) == 10
    assert load_changes(state, kafka, max_removed=0.1) == (1, 2)

"""Playing scenes with invented links. test_demonstration.py plays the scenes of the examples on a real pipeline."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflink.terminal import Terminal
from tests.kafka import read_all
from tests.workers.links import link as event_of
from workers.config.settings import KafkaSettings
from workers.demo.outcomes import Outcomes
from workers.demo.scenes import Scene
from workers.demo.second_act import SecondAct, show

CITING = "doi:10.5555/p"


def link(name: str, cited: str | None) -> bytes:
    return event_of(f"{CITING}#{name}", cited).to_json()


class Pipeline:
    """The reader and the detector of rest: it delivers one given record at each call of ``read``, and is then at rest."""

    def __init__(self, *records: tuple[str, bytes | None]) -> None:
        self.outcomes = Outcomes()
        self.left = list(records)

    def read(self, seconds: float) -> bool:
        if not self.left:
            return False
        name, value = self.left.pop(0)
        self.outcomes.take_link(f"{CITING}#{name}", value, 5)
        return True

    def finish(self) -> None:
        pass

    def reached(self) -> bool:
        return not self.left


@pytest.fixture
def console() -> Terminal:
    return Terminal(file=io.StringIO(), width=200)


@pytest.fixture
def act(kafka: KafkaSettings, console: Terminal) -> Callable[..., tuple[SecondAct, Pipeline]]:
    def made(*records: tuple[str, bytes | None], deadline_s: float = 60.0) -> tuple[SecondAct, Pipeline]:
        pipeline = Pipeline(*records)
        pipeline.outcomes.take_link(f"{CITING}#r1", link("r1", "pmid:1"), 1)
        pipeline.outcomes.take_link(f"{CITING}#r2", link("r2", None), 1)
        return SecondAct(kafka, 3, pipeline, pipeline, console, deadline_s), pipeline

    return made


def scene(**fields: Any) -> Scene:
    return Scene.model_validate({"title": "a [scene]", "came": "a work", "works": [{"id": "pmid:2"}], **fields})


def shown(console: Terminal) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_scene_with_the_expected_result_is_counted_and_shown(
    kafka: KafkaSettings, act: Callable[..., tuple[SecondAct, Pipeline]], console: Terminal, tmp_path: Path
) -> None:
    playing, pipeline = act(("r2", link("r2", "pmid:2")), ("r1", None), ("r3", link("r3", None)))
    scenes = [scene(links={f"{CITING}#r2": "pmid:2", f"{CITING}#r3": None}, gone=[f"{CITING}#r1"], records=3)]
    (played,) = playing.play(scenes, tmp_path)
    assert played.problems == []
    assert played.changed == {"linked": 1, "gone": 1, "new and unresolved": 1}
    assert played.records == 3
    assert played.seconds is not None
    assert played.references[0] == f"{CITING}#r2 (text of {CITING}#r2): not-in-catalog → pmid:2"
    assert [record.key for record in read_all(kafka, "catalog")] == [b"pmid:2"]
    assert pipeline.outcomes.published is None
    show([played], scenes, console)
    assert "1. a [scene]" in shown(console)
    assert "as expected: 1 scenes, and no other link has changed" in shown(console)


@pytest.mark.parametrize(
    ("records", "wanted", "problem"),
    [
        ([], {"links": {"r2": "pmid:2"}}, "after 0.1 s {r2} is not-in-catalog, expected pmid:2"),
        ([("r2", "pmid:2"), ("r1", "pmid:2")], {"links": {"r2": "pmid:2"}}, "{r1} is pmid:2, but must not change"),
        ([("r2", "pmid:2")] * 2, {"links": {"r2": "pmid:2"}, "records": 1}, "2 records of links, expected 1"),
        ([("r2", "pmid:2"), ("r2", None)], {"links": {"r2": "pmid:2"}}, "after 0.1 s {r2} is not-in-catalog, expected pmid:2"),
    ],
)  # fmt: skip
def test_a_scene_with_another_result_ends_the_act_with_the_difference(
    act: Callable[..., tuple[SecondAct, Pipeline]],
    console: Terminal,
    tmp_path: Path,
    records: list[tuple[str, str | None]],
    wanted: dict[str, Any],
    problem: str,
) -> None:
    playing, _ = act(*((name, link(name, cited)) for name, cited in records), deadline_s=0.1)
    wanted = {**wanted, "links": {f"{CITING}#{name}": cited for name, cited in wanted["links"].items()}}
    scenes = [scene(**wanted), scene(links={})]
    (played,) = playing.play(scenes, tmp_path)
    assert played.problems == [problem.format(r1=f"{CITING}#r1", r2=f"{CITING}#r2")]
    show([played], scenes, console)
    assert f"not as expected: {played.problems[0]}" in shown(console)
    assert "scene 1 is not as expected; 1 more were not played" in shown(console)


def test_a_pipeline_that_does_not_come_to_rest_is_reported(
    act: Callable[..., tuple[SecondAct, Pipeline]], tmp_path: Path
) -> None:
    playing, pipeline = act(("r2", link("r2", "pmid:2")), deadline_s=0.1)
    pipeline.reached = lambda: False  # type: ignore[method-assign]
    (played,) = playing.play([scene(links={f"{CITING}#r2": "pmid:2"})], tmp_path)
    assert played.problems == ["after 0.1 s the pipeline is not at rest"]

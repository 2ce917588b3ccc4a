"""The scenes of the second act: reading, records, expectations, and the scenes of the examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from reflink import jats
from reflink.entities import Link, Work
from reflink.errors import BadRecord
from schemas import CatalogEvent, OverrideEvent
from schemas.links import Curated
from tests.workers.corpus import EXAMPLES, example_works
from workers.demo.outcomes import Settled
from workers.demo.scenes import SCENES, Scene, describe, read_scenes, records
from workers.kafka.topics import partition_of

CITING = "doi:10.5555/p"
REFERENCE = f"{CITING}#r1.1"


def scene(**fields: Any) -> Scene:
    return Scene.model_validate({"title": "t", "came": "c", **fields})


def settled(cited: str | None, *, curated: bool = False, **link: Any) -> Settled:
    fields = Curated(action="pinned", reason="r", by="ann", at=1) if curated else None
    return Settled(Link(reference=REFERENCE, citing=CITING, cited=cited, **link), "text", 0.1, curated=fields)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        ("{", "must be a list of scenes"),
        ("5", "must be a list of scenes"),
        ('[{"title": "t"}]', "scene 1: Scene: came"),
        ('[{"title": "t", "came": "c", "paper": "a.xml"}]', "scene 1: Scene: paper: Extra inputs"),
        ('[{"title": "t", "came": "c", "papers": ["a.xml"]}]', "scene 't': the folder has no paper a.xml"),
    ],
)
def test_an_invalid_list_of_scenes_is_refused_in_one_line(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / SCENES).write_text(content)
    with pytest.raises(BadRecord) as raised:
        read_scenes(tmp_path)
    assert message in str(raised.value)
    assert SCENES in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_scene_sends_records_that_the_workers_read(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(
        '<article><front><article-meta><article-id pub-id-type="doi">10.5555/p</article-id></article-meta></front></article>'
    )
    fields = {"reference": REFERENCE, "nothing": True, "reason": "a letter"}
    played = scene(
        works=[{"id": "pmid:1"}], withdrawn=["pmid:2"], papers=["p.xml"], overrides=[fields], lifted=[f"{CITING}#r2.1"]
    )
    work, withdrawal, tombstone, paper, override, lift = records(played, tmp_path, 6)
    assert CatalogEvent.from_json(work.value or b"").work == Work(id="pmid:1")
    assert CatalogEvent.from_json(withdrawal.value or b"").withdrawn
    assert (withdrawal.key, tombstone.key, tombstone.value) == (b"pmid:2", b"pmid:2", None)
    assert (paper.topic, paper.key) == ("papers", CITING.encode())
    assert OverrideEvent.from_json(override.value or b"").nothing
    assert (lift.key, lift.value) == (f"{CITING}#r2.1".encode(), None)
    assert {override.partition, lift.partition} == {partition_of(CITING.encode(), 6)}


LINKED = {"links": {REFERENCE: "pmid:1"}}
PINNED = {"reference": REFERENCE, "pinned": "pmid:1", "reason": "r"}


@pytest.mark.parametrize(
    ("wanted", "is_now", "missing"),
    [
        (LINKED, settled("pmid:1"), []),
        (LINKED, None, ["has no outcome, expected pmid:1"]),
        (LINKED, settled("pmid:2"), ["is pmid:2, expected pmid:1"]),
        ({"links": {REFERENCE: None}}, settled(None, unresolved="withdrawn"), ["is withdrawn, expected unresolved"]),
        ({"links": {REFERENCE: None}}, settled(None, unresolved="not-in-catalog"), []),
        ({"gone": [REFERENCE]}, None, []),
        ({"gone": [REFERENCE]}, settled("pmid:2"), ["is pmid:2, expected to be gone"]),
        ({**LINKED, "status": {REFERENCE: "retracted"}}, settled("pmid:1", status="retracted"), []),
        ({**LINKED, "status": {REFERENCE: "retracted"}}, settled("pmid:1"), ["has status None, expected retracted"]),
        ({**LINKED, "overrides": [PINNED]}, settled("pmid:1"), ["is pmid:1, expected an override"]),
        ({**LINKED, "lifted": [REFERENCE]}, settled("pmid:1"), []),
        (
            {**LINKED, "lifted": [REFERENCE]},
            settled("pmid:1", curated=True),
            ["is pmid:1, pinned by ann, expected no override"],
        ),
    ],
)
def test_differences_from_the_expected_state_are_named(
    wanted: dict[str, Any], is_now: Settled | None, missing: list[str]
) -> None:
    known = {} if is_now is None else {REFERENCE: is_now}
    assert list(scene(**wanted).not_yet(known)) == [f"{REFERENCE} {each}" for each in missing]


def test_an_outcome_is_described_in_a_few_words() -> None:
    assert describe(None) == "gone"
    assert describe(settled("pmid:1", status="retracted")) == "pmid:1, retracted"
    assert describe(settled(None, unresolved="no-candidate")) == "no-candidate"


def test_the_scenes_of_the_examples_refer_to_existing_works_and_references() -> None:
    folder = EXAMPLES / "second-act"
    scenes = read_scenes(folder)
    references = set(orjson.loads((EXAMPLES / "expected.json").read_bytes())["references"])
    works = {work.id for work in example_works()} | {each.partition("#")[0] for each in references}
    for each in scenes:
        assert each.concerns, f"{each.title}: nothing would be seen to change"
        assert each.status.keys() <= each.links.keys()
        works |= {work.id for work in each.works}
        for name in each.papers:
            paper = jats.parse((folder / name).read_bytes())
            works.add(paper.id)
            references |= {reference.id for reference in paper.references}
        assert each.concerns <= references, each.title
        assert {cited for cited in each.links.values() if cited is not None} <= works, each.title
        assert set(each.withdrawn) <= works, each.title
        assert {override.reference for override in each.overrides} | set(each.lifted) <= each.links.keys(), each.title
    assert {path.name for path in folder.glob("*.xml")} == {name for each in scenes for name in each.papers}

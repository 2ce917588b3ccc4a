"""The accuracy protocol on generated catalogs: its figures, and where links go that added works attract."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scale import accuracy
from benchmarks.scale.accuracy import Native, Origin, Task, by_kind, compare, figures, in_worlds, moved, read_origins, snapshot
from benchmarks.scale.near import KINDS
from benchmarks.scale.splicing import RECOMBINED
from benchmarks.scale.works import side_file, write
from reflink.catalog import Catalog
from reflink.entities import Link, Reference
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.measure import Outcome
from reflink.evaluation.records import read_queries, read_works
from reflink.evaluation.run import build_catalog, default_encoder, evaluate
from reflink.evaluation.worlds import Groups
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from tests.data import shared_data

ADDED = 20_000
#: One query of so many, and its target, one other work of so many.
QUERIES, OTHERS = 8, 20
#: Links to added works by world, as measured on 2026-11-25.
MEASURED = {"closed": 0, "open": 31}


def sample(folder: Path, queries: int, others: int) -> tuple[Path, Path]:
    """Write real queries, their targets with all ids of these, and other real works; return both files."""
    data = shared_data()
    references, works = folder / "references.jsonl.gz", folder / "works.jsonl.gz"
    kept = [query for number, query in enumerate(read_queries(data / "references_dev.jsonl.gz")) if number % queries == 0]
    rids, truths = {query.reference.id for query in kept}, {query.truth for query in kept}
    with gzip.open(data / "references_dev.jsonl.gz") as source, gzip.open(references, "wb") as file:
        file.writelines(line for line in source if json.loads(line)["rid"] in rids)
    with gzip.open(data / "works.jsonl.gz") as source:
        lines = [(json.loads(line), line) for line in source]
    groups = {record.get("title_group", record["id"]) for record, _ in lines if record["id"] in truths}
    with gzip.open(works, "wb") as file:
        file.writelines(
            line
            for number, (record, line) in enumerate(lines)
            if record.get("title_group", record["id"]) in groups or number % others == 0
        )
    return works, references


def size(works: Path) -> int:
    return sum(1 for _ in read_works(works))


class WithVectors:
    """Reflink's linker with vectors, as reflink.evaluation builds it."""

    def __init__(self, catalog: Catalog, encoder: Any) -> None:
        self.catalog, self.encoder = catalog, encoder

    def link(self, references: Sequence[Reference]) -> Sequence[Link]:
        return link_held_out(references, NativeCandidates(self.catalog, self.encoder), Policy(), HeldOut.shipped(), "linking")

    def remove(self, ids: Collection[str]) -> None:
        self.catalog.remove(ids)


def test_figures_without_added_works_are_those_of_the_evaluation(tmp_path: Path):
    works, references = sample(tmp_path, queries=40, others=400)
    task, encoder = Task.read(works, references), default_encoder(tmp_path)
    measured = evaluate(works, references, policy=Policy(), worlds=("closed", "open"), cache=tmp_path).to_dict()
    ours = {
        setting.name: figures(found)
        for setting, found in in_worlds(WithVectors(build_catalog(task.works, encoder), encoder), task)
    }
    assert len(task.queries) == measured["about"]["queries"] > 200
    assert 1 - ours["closed"]["recall"] == pytest.approx(measured["closed"]["error"], abs=1e-6)
    assert ours["closed"]["absent"] == 0
    shares = ("precision", "recall", "f1", "false_link")
    names = (*shares, *(f"{name}_interval" for name in shares), "queries", "present", "absent", "links", "right", "methods")
    for part, other in [
        (ours["open"], measured["open"]),
        *((ours["open"]["kinds"][kind], measured["open"]["kinds"][kind]) for kind in measured["open"]["kinds"]),
    ]:
        assert {name: part[name] for name in names} == {name: other[name] for name in names}


# Real works with added ones


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Real works, references, and a catalog with near-duplicates and recombined works in equal shares."""
    folder = tmp_path_factory.mktemp("scale")
    works, references = sample(folder, QUERIES, OTHERS)
    large = folder / "large.jsonl.gz"
    write(works, large, side_file(large), size(works) + ADDED, near=0.5)
    return works, references, large


@pytest.fixture(scope="module")
def compared(files: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    works, references, large = files
    folder = tmp_path_factory.mktemp("snapshots")
    real, added = (Native(snapshot(path, folder / name)) for path, name in ((works, "real"), (large, "large")))
    return compare(real, added, Task.read(works, references), read_origins(side_file(large)))


def test_every_added_work_is_counted_by_kind(compared: dict[str, Any]):
    for world in ("closed", "open"):
        kinds = compared[world]["by_kind"]
        assert set(kinds) - {accuracy.REAL} == {*KINDS, RECOMBINED}
        assert sum(each["works"] for each in kinds.values()) == ADDED
        assert all(kinds[kind]["near"] > 0 for kind in KINDS)
        assert all(kinds[kind]["near"] > kinds[kind]["absent"] for kind in KINDS)
        assert all((kinds[kind]["absent"] > 0) == (world == "open") for kind in KINDS)
        assert kinds[RECOMBINED]["near"] == 0


def test_errors_by_kind_add_up_to_those_of_the_figures(compared: dict[str, Any]):
    for world in ("closed", "open"):
        found = compared[world]
        large = found["large"]
        errors = sum(each["wrong"] + each["false"] for each in found["by_kind"].values())
        assert errors == large["links"] - large["right"]
        assert large["right"] - found["real"]["right"] == sum(found["gained"].values()) - sum(found["lost"].values())
        assert large["present"] == found["real"]["present"]


def test_added_works_attract_few_links(compared: dict[str, Any]):
    """The bounds are what was measured, so a change that makes them worse is seen."""
    attracted = {
        world: sum(compared[world]["by_kind"][kind][error] for kind in (*KINDS, RECOMBINED) for error in ("wrong", "false"))
        for world in ("closed", "open")
    }
    assert attracted["closed"] <= MEASURED["closed"], attracted
    assert attracted["open"] <= MEASURED["open"], attracted


def test_the_command_prints_and_saves_the_figures(
    files: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    works, references, _ = files
    few, catalog = tmp_path / "few.jsonl.gz", tmp_path / "catalog.jsonl.gz"
    with gzip.open(references) as source, gzip.open(few, "wb") as file:
        file.writelines(line for number, line in enumerate(source) if number < 40)
    write(works, catalog, side_file(catalog), size(works) + 50)
    options = ["--catalog", str(catalog), "--works", str(works), "--references", str(few)]
    assert accuracy.main([*options, "--json", str(tmp_path / "figures.json")]) == 0
    assert "where wrong links go" in capsys.readouterr().out
    saved = json.loads((tmp_path / "figures.json").read_bytes())
    assert saved["about"]["queries"] == 40
    assert saved["about"]["catalog"] == saved["about"]["works"] + 50
    assert saved["closed"]["large"]["queries"] == saved["open"]["real"]["queries"] == 40


# Counting


def outcome(truth: str, cited: str | None, *, present: bool = True, right: bool = False) -> Outcome:
    link = Link(reference=f"r:{truth}", citing="c", cited=cited, unresolved=None if cited else "other-version")
    return Outcome(link.reference, "front", present, right, link, truth=truth)


ORIGINS = {
    "e1": Origin("erratum", ("a2",)),
    "e2": Origin("erratum", ("b",)),
    "m": Origin(RECOMBINED, ("a1", "b", "b")),
}
GROUPS = Groups({"a1": "a1", "a2": "a1", "b": "b"}, {"a1": ["a1", "a2"], "b": ["b"]})


def test_wrong_links_are_counted_by_the_kind_of_the_linked_work():
    found = [
        outcome("a1", "e1"),
        outcome("a1", "e2"),
        outcome("b", "a1", present=False),
        outcome("b", "m", present=False),
        outcome("b", "b", right=True),
        outcome("b", None),
    ]
    assert by_kind(found, ORIGINS, GROUPS) == {
        "real": {"works": 0, "near": 0, "absent": 0, "wrong": 0, "false": 1, "own": 0},
        "erratum": {"works": 2, "near": 6, "absent": 2, "wrong": 2, "false": 0, "own": 1},
        "recombined": {"works": 1, "near": 0, "absent": 0, "wrong": 0, "false": 1, "own": 1},
    }


def test_queries_are_compared_between_two_catalogs():
    before = [
        outcome("a1", "a1", right=True),
        outcome("a1", "a1", right=True),
        outcome("b", None),
        outcome("b", None, present=False),
        outcome("b", "b", right=True),
    ]
    after = [
        outcome("a1", "e1"),
        outcome("a1", None),
        outcome("b", "b", right=True),
        outcome("b", "m", present=False),
        outcome("b", "b", right=True),
    ]
    assert moved(before, after, ORIGINS) == {
        "lost": {"erratum": 1, "other-version": 1},
        "gained": {"other-version": 1},
        "worse": {"recombined": 1},
    }

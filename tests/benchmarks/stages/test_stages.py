"""The cost of the stages: catalogs and references, bounds, places of labels, and the command at small sizes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.lexical import limits
from benchmarks.stages import bounds, measure
from benchmarks.stages.__main__ import main
from benchmarks.stages.bounds import Machine, bitmaps_added
from benchmarks.stages.catalogs import Protocol, digest, protocol, write
from benchmarks.stages.plot import draw, spread
from reflink.evaluation.records import read_works
from reflink.lexical.cpu.vectors import ROWS
from reflink.lexical.layout import BLOCK, Layout, build
from reflink.lexical.trigrams import trigram_sets
from reflink.text import work_text
from tests.data import ROOT

WORKS = ROOT / "examples" / "works.jsonl"
HELD_OUT = 40
MACHINE = Machine(stream=1e10, read=1e-7, multiply_adds=1e11, bitmap=5e-9)


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference to each of the first 200 works, with its identifiers and locator."""
    path = tmp_path_factory.mktemp("data") / "references.jsonl"
    with path.open("w") as file:
        for number, line in enumerate(WORKS.read_text().splitlines()[:200]):
            work = json.loads(line)
            reference = {
                "rid": f"r{number}", "citing": "doi:10.1000/x", "work": work["id"], "title": work["title"],
                "raw_text": f"{', '.join(work['authors'])} ({work.get('year')}). {work['title']}.",
                "last_names": work["authors"], "year": work.get("year"), "volume": work.get("volume"),
                "first_page": work.get("fpage"),
                "ids": work.get("ids") or {kind: work[kind] for kind in ("doi", "pmid") if kind in work},
            }  # fmt: skip
            file.write(json.dumps(reference) + "\n")
    return path


@pytest.fixture(scope="module")
def made(references: Path) -> Protocol:
    return protocol(WORKS, references, HELD_OUT)


@pytest.fixture(scope="module")
def layout() -> Layout:
    """The works four times: a catalog with bitmaps."""
    texts = [work_text(listing.work, "Raw", lexical=True) for listing in read_works(WORKS)]
    return build(*trigram_sets(texts * 4))[0]


# Catalogs


def test_works_of_references_held_out_are_in_no_catalog_and_the_other_cited_ones_come_first(made: Protocol, references: Path):
    truth = {line["rid"]: line["work"] for line in map(json.loads, references.read_text().splitlines())}
    ids = [work.id for work in made.works]
    assert len(made.absent) == HELD_OUT
    assert not {truth[reference.id] for reference in made.absent} & {*ids}
    cited = {truth[reference.id] for reference in made.present}
    assert {*ids[: len(cited)]} == cited


def test_a_catalog_is_the_beginning_of_a_larger_one(made: Protocol, tmp_path: Path):
    real = len(made.works)
    lines = {}
    for count in (100, real + 50, real + 200):
        write(made.works, count, tmp_path / "works.jsonl")
        lines[count] = (tmp_path / "works.jsonl").read_bytes().splitlines()
        assert len(lines[count]) == count
    for fewer, more in pairwise(lines.values()):
        assert more[: len(fewer)] == fewer


def test_catalogs_of_other_inputs_have_another_name(references: Path, tmp_path: Path):
    works, fewer = tmp_path / "works.jsonl", tmp_path / "references.jsonl"
    works.write_bytes(b"".join(WORKS.read_bytes().splitlines(keepends=True)[:-1]))
    fewer.write_bytes(b"".join(references.read_bytes().splitlines(keepends=True)[:-1]))
    names = [
        digest(WORKS, references, HELD_OUT), digest(WORKS, references, HELD_OUT + 1), digest(works, references, HELD_OUT),
        digest(WORKS, fewer, HELD_OUT),
    ]  # fmt: skip
    assert len({*names}) == 4
    works.write_bytes(WORKS.read_bytes())
    assert digest(works, references, HELD_OUT) == names[0], "the content counts, not the file's name"


# Bounds


def test_a_search_of_vectors_is_limited_by_reading_or_by_multiplying():
    alone, together = (MACHINE.vectors(1_000_000, 384, batch) for batch in (1, 64))
    assert alone == (pytest.approx(76_800), "reading the vectors")
    assert together == (pytest.approx(3_840), "multiply-adds")
    assert MACHINE.vectors(2_000_000, 384, 64).us == pytest.approx(2 * together.us)


def test_a_lookup_makes_random_reads():
    assert MACHINE.lookup().us == pytest.approx(bounds.READS * 0.1)


def test_a_random_read_takes_time():
    assert 0 < bounds.random_read(1 << 12) < 1e-3


def test_a_higher_score_needs_fewer_bitmaps(layout: Layout, made: Protocol):
    texts = [work_text(work, "Raw", lexical=True) for work in made.works[:20]]
    codes, offsets = trigram_sets(texts)
    counts = [bitmaps_added(layout, codes, offsets, np.full(len(texts), score)) for score in np.linspace(0, 1, 21)]
    blocks = -(-len(layout.sizes) // BLOCK)
    bitmaps = [len([code for code in part if layout.bitmap_of[code] >= 0]) for part in np.split(codes, offsets[1:-1])]
    assert counts[0].tolist() == [-(-number // ROWS) * ROWS * blocks for number in bitmaps]
    for lower, higher in pairwise(counts):
        assert (higher <= lower).all()
    assert counts[-1].sum() < counts[0].sum()
    assert not bitmaps_added(layout, codes, offsets, np.full(len(texts), 2.0)).any()


# The plot


@given(st.dictionaries(st.text(max_size=3), st.floats(0.01, 1e6), max_size=8))
def test_labels_do_not_meet_and_keep_the_order_of_the_lines(ends: dict[str, float]):
    places = spread(ends, 1.5)
    assert [ends[name] for name in places] == sorted(ends.values())
    assert all(places[name] >= end for name, end in ends.items())
    assert all(above >= 1.5 * below for below, above in pairwise(places.values()))


def test_the_same_figures_give_the_same_picture_with_all_stages(tmp_path: Path):
    stage = {"us": 2.0, "bound_us": 1.0, "bound": "reading"}
    sizes = [{"works": works, "stages": dict.fromkeys(measure.STAGES, stage)} for works in (100_000, 5_000_000)]
    for name in ("one.svg", "two.svg"):
        draw(sizes, tmp_path / name)
    content = (tmp_path / "one.svg").read_text()
    assert content == (tmp_path / "two.svg").read_text()
    assert all(name in content for name in (*measure.STAGES, "0.1 M", "5 M", "reading"))


# The command


def test_the_command_measures_every_stage_and_keeps_the_catalogs(
    references: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for module, name, small in ((limits, "STREAM_MIB", 4), (limits, "TURNS", 20), (bounds, "WORDS", 1 << 12)):
        monkeypatch.setattr(module, name, small)
    given = ["--works", str(WORKS), "--references", str(references), "--held-out", str(HELD_OUT), "--rounds", "1"]
    given += ["--sizes", "2600,300", "--keep", str(tmp_path / "kept"), "--json", str(tmp_path / "figures.json")]
    assert main([*given, "--plot", str(tmp_path / "plot.svg")]) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert [each["works"] for each in figures["sizes"]] == [300, 2600]
    for each in figures["sizes"]:
        stages = each["stages"]
        assert {*stages} == {*measure.STAGES}
        assert all(one["us"] > 0 for one in stages.values())
        assert [name for name, one in stages.items() if one["bound_us"] is None] == [measure.VERDICT]
        assert stages[measure.IDENTIFIER]["found"] == 1
        assert stages[measure.LOCATOR]["found"] > 0
        assert stages[measure.VERDICT]["candidates"] >= 1
    printed = capsys.readouterr().out
    assert all(stage in printed for stage in measure.STAGES)
    assert (tmp_path / "plot.svg").stat().st_size > 1000

    inputs = digest(WORKS, references, HELD_OUT)
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {f"300-{inputs}", f"2600-{inputs}"}
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*")}
    assert main(given) == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*")} == before

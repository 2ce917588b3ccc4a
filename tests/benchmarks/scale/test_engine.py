"""The two commands that compare the native search with a search engine, on a few works and a real node."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.scale import accuracy, speed
from benchmarks.scale.works import side_file, write
from tests.benchmarks.scale.test_accuracy import sample


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Some works, some references to them, and a catalog with added works."""
    folder = tmp_path_factory.mktemp("engine")
    works, references = sample(folder, 200, 2000)
    few, catalog = folder / "few.jsonl.gz", folder / "catalog.jsonl.gz"
    with gzip.open(references) as source, gzip.open(few, "wb") as file:
        file.writelines(line for number, line in enumerate(source) if number < 40)
    with gzip.open(works) as source:
        count = sum(1 for _ in source)
    write(works, catalog, side_file(catalog), count + 50)
    return works, few, catalog


def test_accuracy_of_both_sides_is_of_the_same_queries(files: tuple[Path, Path, Path], tmp_path: Path):
    works, references, catalog = files
    options = ["--catalog", str(catalog), "--works", str(works), "--references", str(references), "--engine"]
    assert accuracy.main([*options, "--json", str(tmp_path / "figures.json")]) == 0
    saved = json.loads((tmp_path / "figures.json").read_bytes())
    for world in ("closed", "open"):
        native, engine = saved[world]["native"], saved[world]["engine"]
        assert native["queries"] == engine["queries"] == 40
        assert engine["right"] > 0
        assert native["present"] == engine["present"]


def test_speed_prints_saves_and_draws_both_sides(
    files: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    works, references, catalog = files
    options = ["--catalog", str(catalog), "--works", str(works), "--references", str(references), "--sizes", "100,200"]
    small = ["--batch", "8", "--batches", "2", "--rounds", "1", "--keep", str(tmp_path / "kept")]
    outputs = ["--json", str(tmp_path / "figures.json"), "--plot", str(tmp_path / "plot.svg")]
    assert speed.main([*options, *small, *outputs]) == 0
    assert "references/s" in capsys.readouterr().out
    saved = json.loads((tmp_path / "figures.json").read_bytes())["sizes"]
    assert [each["works"] for each in saved] == [100, 200]
    assert all(each["without identifiers"][side]["per_s"] > 0 for each in saved for side in ("native", "engine"))
    assert (tmp_path / "plot.svg").stat().st_size > 1000
    assert (tmp_path / "kept" / "200" / "catalog").is_dir()


def test_more_works_than_the_catalog_has_are_refused(files: tuple[Path, Path, Path]):
    works, references, catalog = files
    options = ["--catalog", str(catalog), "--works", str(works), "--references", str(references), "--sizes", "100000"]
    with pytest.raises(SystemExit, match=r"not 100,000: choose smaller --sizes"):
        speed.main(options)

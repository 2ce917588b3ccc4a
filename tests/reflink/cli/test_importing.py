"""The commands ``reflink catalog import``, ``update``, ``provenance`` and ``sources``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from reflink.cli import main
from reflink.sources.registry import NAMES


def crossref(folder: Path, *works: dict[str, Any] | str) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [each if isinstance(each, str) else json.dumps({"type": "journal-article"} | each) for each in works]
    (folder / "works.jsonl").write_text("\n".join(lines))
    return folder


def article(number: int, title: str = "A study of one thing") -> dict[str, Any]:
    return {"DOI": f"10.1000/{number}", "title": [f"{title} {number}"]}


def read(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def test_works_are_imported_and_nothing_else_is_left(tmp_path: Path):
    source = crossref(tmp_path / "crossref", article(1), article(2))
    for name in ("works.jsonl", "works.jsonl.gz"):
        assert main(["catalog", "import", "crossref", str(source), "--out", str(tmp_path / name)]) == 0
        assert [work["id"] for work in read(tmp_path / name)] == ["doi:10.1000/1", "doi:10.1000/2"]
    assert {path.name for path in tmp_path.iterdir()} == {"crossref", "works.jsonl", "works.jsonl.gz"}


def test_a_bad_record_is_named_and_the_exit_code_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = crossref(tmp_path / "crossref", article(1), "{broken", article(2))
    assert main(["catalog", "import", "crossref", str(source), "--out", str(tmp_path / "works.jsonl"), "--jobs", "1"]) == 1
    assert len(read(tmp_path / "works.jsonl")) == 2
    shown = capsys.readouterr().err
    assert "works.jsonl:2" in shown
    assert "1 records and 0 files could not be read" in shown


def test_an_import_that_would_remove_many_works_keeps_the_old_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "works.jsonl.gz"
    source = crossref(tmp_path / "crossref", *map(article, range(20)))
    assert main(["catalog", "import", "crossref", str(source), "--out", str(out)]) == 0
    crossref(source, *map(article, range(10)))
    command = ["catalog", "import", "crossref", str(source), "--out", str(out)]
    assert main(command) == 2
    assert "10 of 20 works would be removed (50%)" in capsys.readouterr().err
    assert len(read(out)) == 20
    assert main([*command, "--allow-shrink"]) == 0
    assert len(read(out)) == 10


def test_missing_files_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["catalog", "import", "medline", str(tmp_path / "nowhere"), "--out", str(tmp_path / "works.jsonl")]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not (tmp_path / "works.jsonl").exists()


def test_filters_leave_works_out_and_say_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = crossref(tmp_path / "crossref", article(1), article(2, "Short"))
    command = ["catalog", "import", "crossref", str(source), "--out", str(tmp_path / "works.jsonl"), "--min-title", "12"]
    assert main(command) == 0
    assert [work["id"] for work in read(tmp_path / "works.jsonl")] == ["doi:10.1000/1"]
    assert "1 works left out: title" in capsys.readouterr().err


def test_an_update_writes_works_or_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    crossref(tmp_path / "crossref", article(1), article(2))
    config, state, out = tmp_path / "sources.toml", tmp_path / "state", tmp_path / "out.jsonl"
    config.write_text('[[sources]]\nname = "crossref"\npaths = ["crossref"]\n')
    update = ["catalog", "update", str(config), "--state", str(state)]
    assert main([*update, "--changes", str(out)]) == 0
    assert [work["id"] for work in read(out)] == ["doi:10.1000/1", "doi:10.1000/2"]
    crossref(tmp_path / "crossref", article(2, "Another title"), article(3))
    assert main([*update, "--changes", str(out), "--complete", "--allow-shrink"]) == 0
    one, two, three = read(out)
    assert one == {"id": "doi:10.1000/1", "removed": True}
    assert (two["title"], three["id"]) == ("Another title 2", "doi:10.1000/3")
    assert main([*update, "--changes", str(out), "--out", str(tmp_path / "all.jsonl"), "--json"]) == 0
    assert read(out) == []
    assert [work["id"] for work in read(tmp_path / "all.jsonl")] == ["doi:10.1000/2", "doi:10.1000/3"]
    capsys.readouterr()
    assert main(["catalog", "provenance", "doi:10.1000/3", "--state", str(state), "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["records"]) == ["crossref/10.1000/3"]
    assert main(["catalog", "provenance", "doi:10.1000/1", "--state", str(state)]) == 1


def test_each_source_says_what_it_reads(capsys: pytest.CaptureFixture[str]):
    assert main(["catalog", "sources"]) == 0
    shown = capsys.readouterr().out
    for name in NAMES:
        assert f"\n{name}" in shown


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (("--languages", "en,de"), {"1", "2"}),
        (("--types", "journal-article"), {"1", "3"}),
        (("--year-from", "2000"), {"1", "3"}),
        (("--year-from", "1990", "--year-to", "1999"), {"2", "3"}),
        (("--languages", "en", "--types", "book"), {"2"}),
    ],
)
def test_filters_by_language_type_and_year(tmp_path: Path, options: tuple[str, ...], kept: set[str]):
    works = (
        article(1) | {"language": "de", "published": {"date-parts": [[2001]]}},
        article(2) | {"language": "en", "type": "book", "published": {"date-parts": [[1995]]}},
        article(3) | {"language": "fr"},
    )
    source = crossref(tmp_path / "crossref", *works)
    assert main(["catalog", "import", "crossref", str(source), "--out", str(tmp_path / "works.jsonl"), *options]) == 0
    assert {work["id"].rpartition("/")[2] for work in read(tmp_path / "works.jsonl")} == kept


@pytest.mark.parametrize("options", [("--min-title", "many"), ("--languages", "klingonic"), ("--detect-language",)])
def test_wrong_filters_are_refused_in_one_line(tmp_path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]):
    source = crossref(tmp_path / "crossref", article(1))
    assert main(["catalog", "import", "crossref", str(source), "--out", str(tmp_path / "works.jsonl"), *options]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_interrupted_import_of_other_files_leaves_nothing(tmp_path: Path):
    one, two = crossref(tmp_path / "one", *map(article, range(20))), crossref(tmp_path / "two", article(77))
    out = tmp_path / "works.jsonl"
    assert main(["catalog", "import", "crossref", str(one), "--out", str(out)]) == 0
    crossref(one, article(1))
    assert main(["catalog", "import", "crossref", str(one), "--out", str(out)]) == 2  # its state remains
    assert main(["catalog", "import", "crossref", str(two), "--out", str(out), "--allow-shrink"]) == 0
    assert [work["id"] for work in read(out)] == ["doi:10.1000/77"]


def test_provenance_makes_no_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["catalog", "provenance", "pmid:1", "--state", str(tmp_path / "none")]) == 2
    assert "there is no state" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()

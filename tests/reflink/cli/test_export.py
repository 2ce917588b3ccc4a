"""``reflink export``: from the lines of ``reflink link --json``, or of an export, to the three formats."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.reflink.cli.conftest import Reflink


@pytest.fixture
def links(reflink: Reflink, paper: Path, catalog: Path, tmp_path: Path) -> Path:
    """The output of ``reflink link`` for the paper's two references."""
    path = tmp_path / "links.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in reflink("link", paper, "--catalog", catalog, "--json").json) + "\n")
    return path


def test_links_of_a_file_are_written_in_all_formats(reflink: Reflink, links: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph"
    (manifest,) = reflink("export", links, "--out", out, "--json").json
    assert (manifest["references"], manifest["linked"], manifest["source"]) == (2, 1, {"file": str(links), "lines": 2})
    written = [json.loads(line) for line in links.read_text().splitlines()]
    assert [json.loads(line) for line in (out / "links.jsonl").read_text().splitlines()] == written
    rows = pyarrow.parquet.read_table(out / "links.parquet").to_pylist()
    assert [(row["reference"], row["cited"], row["paper_version"], row["live"]) for row in rows] == [
        (link["reference"], link["cited"], None, None) for link in written
    ]
    assert (out / "citations.csv").read_text().splitlines()[1:] == [",doi:10.1000/citing,doi:10.1000/livak,,,,"]


def test_links_are_read_from_gzip_and_standard_input_and_a_cut_file_is_refused(
    reflink: Reflink, links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "links.jsonl.gz"
    packed.write_bytes(gzip.compress(links.read_bytes()))
    assert reflink("export", packed, "--out", tmp_path / "a", "--format", "jsonl").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(links.read_bytes())))
    assert reflink("export", "-", "--out", tmp_path / "b", "--format", "jsonl").code == 0
    assert (tmp_path / "a" / "links.jsonl").read_bytes() == (tmp_path / "b" / "links.jsonl").read_bytes()
    torn = tmp_path / "torn.gz"
    torn.write_bytes(packed.read_bytes()[:-9])
    answer = reflink("export", torn, "--out", tmp_path / "c", "--format", "jsonl")
    assert (answer.code, "cannot be decompressed after line" in answer.err) == (2, True)
    assert not (tmp_path / "c").exists()


def test_the_last_line_of_a_reference_counts_and_invalid_ones_are_reported(
    reflink: Reflink, links: Path, tmp_path: Path
) -> None:
    first = json.loads(links.read_text().splitlines()[0])
    with links.open("a") as file:
        file.write(json.dumps({**first, "cited": "pmid:1"}) + "\n\n" + '{"reference": "torn\n')
    answer = reflink("export", links, "--out", tmp_path / "graph", "--format", "csv")
    assert answer.code == 1
    assert "1 lines cannot be read" in answer.err
    assert (tmp_path / "graph" / "citations.csv").read_text().splitlines()[1:] == [",doi:10.1000/citing,pmid:1,,,,"]
    (refused,) = (tmp_path / "graph" / "unreadable.jsonl").read_text().splitlines()
    assert json.loads(refused)["line"] == 5


def test_an_existing_folder_is_refused(reflink: Reflink, links: Path, tmp_path: Path) -> None:
    answer = reflink("export", links, "--out", tmp_path)
    assert answer.code == 2
    assert "name a folder that is not there" in answer.err

"""Links of a file or an export's folder, and numbers of citation contexts."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from reflink.cli import main
from reflink.errors import BadRecord
from reflink.evaluation.citations import statistics
from reflink.graph.reading import mentions, newest_links


def line(reference: str, cited: str | None, citing: str = "c") -> bytes:
    return orjson.dumps({"reference": reference, "citing": citing, "cited": cited, "method": "lexical"}) + b"\n"


@pytest.mark.parametrize("packed", [False, True])
def test_of_several_lines_about_a_reference_the_last_counts(tmp_path: Path, packed: bool) -> None:
    data = line("b", "w") + line("a", "w") + b"\n" + line("b", "v") + line("a", None)
    path = tmp_path / "links"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert [(row.reference, row.cited) for row in newest_links(path)] == [("a", None), ("b", "v")]


def test_the_references_of_a_paper_are_adjacent_whatever_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_bytes(b"".join(line(f"r{n}", "w", citing) for n, citing in enumerate("ABABA")))
    assert [(row.citing, row.reference) for row in newest_links(path)] == [
        ("A", "r0"), ("A", "r2"), ("A", "r4"), ("B", "r1"), ("B", "r3"),
    ]  # fmt: skip
    found = statistics(newest_links(path), {})
    assert (found.papers, found.citing.counts) == (2, {2: 1})


def test_a_full_temporary_folder_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_bytes(b"".join(line(f"r{n}", "w" * 100) for n in range(3000)))
    code = f"""
import resource
from pathlib import Path
from reflink.errors import ExportFailed
from reflink.evaluation.citations import statistics
from reflink.graph.reading import newest_links
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    list(newest_links(Path({str(path)!r})))
except ExportFailed as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ": is the disk full?" in found.stdout
    assert "beside the export" not in found.stdout


def test_an_event_is_read_as_its_link(tmp_path: Path) -> None:
    event = {
        "schema_version": 1, "paper_version": 1, "catalog_offset": 5, "arrived": 1, "judged": 2,
        "link": orjson.loads(line("a", "w")),
    }  # fmt: skip
    path = tmp_path / "links.jsonl"
    path.write_bytes(orjson.dumps(event) + b"\n")
    (row,) = newest_links(path)
    assert (row.cited, row.catalog_offset) == ("w", 5)


def test_a_folder_of_an_export_is_read(tmp_path: Path) -> None:
    links = tmp_path / "links.jsonl"
    links.write_bytes(line("c#2", "w") + line("c#1", None))
    assert main(["export", str(links), "--out", str(tmp_path / "graph"), "--format", "jsonl"]) == 0
    assert [row.reference for row in newest_links(tmp_path / "graph")] == ["c#1", "c#2"]
    with pytest.raises(BadRecord, match=r"contexts.jsonl is missing: export with --format contexts"):
        mentions(tmp_path / "graph")
    assert main(["export", str(links), "--out", str(tmp_path / "csv"), "--format", "csv"]) == 0
    with pytest.raises(BadRecord, match=r"links.jsonl is missing: export with --format jsonl"):
        list(newest_links(tmp_path / "csv"))


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"reference": "a"}'])
def test_an_invalid_line_is_reported_by_its_number(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "links"
    path.write_bytes(line("a", "w") + bad + b"\n")
    with pytest.raises(BadRecord, match="line 2"):
        list(newest_links(path))
    with pytest.raises(BadRecord, match="line 1"):
        mentions(path)


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "links.gz"
    path.write_bytes(gzip.compress(line("a", "w") * 500)[:-9])
    with pytest.raises(BadRecord, match="cannot be decompressed"):
        list(newest_links(path))


def test_references_without_contexts_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "contexts.jsonl"
    found = {"a": [{}, {}], "b": [], "c": [{}]}
    path.write_bytes(b"".join(orjson.dumps({"reference": name, "contexts": each}) + b"\n" for name, each in found.items()))
    assert mentions(path) == {"a": 2, "c": 1}

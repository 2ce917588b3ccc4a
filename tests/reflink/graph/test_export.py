"""An export contains the newest record of each reference in every format, and its folder is complete or absent."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.errors import BadRecord, ExportFailed
from reflink.graph import FORMATS
from reflink.graph.export import MANIFEST, UNREADABLE, GraphExport
from reflink.graph.formats import WRITERS, OpenCitations
from reflink.graph.rows import NEWEST_EVENT, Row, read
from schemas import SCHEMA_VERSION
from tests.data import ROOT

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(0, 1) | st.none()
PAPERS = [f"doi:10.1/{name}" for name in ("a", "a.b", "é", 'q",\n')]


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    citing = draw(st.sampled_from(PAPERS))
    link: dict[str, Any] = {
        "reference": f"{citing}#b{draw(st.integers(1, 3))}.1",
        "citing": citing,
        "cited": draw(st.none() | st.sampled_from(["doi:10.2/x", "pmid:7", 'an id, with "quotes"'])),
        "method": draw(st.sampled_from([None, "identifier", "a method of tomorrow"])),
        "score": draw(NUMBERS),
        "probability": draw(NUMBERS),
        "reasons": draw(st.lists(TEXTS, max_size=2)),
        "runner_up": draw(st.none() | st.fixed_dictionaries({"cited": TEXTS, "score": NUMBERS})),
        "related": draw(st.none() | st.fixed_dictionaries({"work": TEXTS, "relation": TEXTS})),
    }
    whole = {name: draw(st.integers(-(2**53), 2**53)) for name in ("paper_version", "catalog_offset")}
    times = {name: draw(st.integers(0, 2**41)) for name in ("arrived", "judged")}
    live = {} if draw(st.booleans()) else {"live": False}
    return {"schema_version": 1, "citing": citing, **whole, **times, **live, "link": link, "of tomorrow": draw(TEXTS)}


def records() -> st.SearchStrategy[list[tuple[str, bytes | None]]]:
    """Records of a topic: keys with events, on one line or several, and with tombstones."""

    def record(event: dict[str, Any], indent: int | None, gone: bool) -> tuple[str, bytes | None]:
        return event["link"]["reference"], None if gone else json.dumps(event, indent=indent).encode()

    gone = st.sampled_from([False, False, False, True])
    return st.lists(st.builds(record, events(), st.sampled_from([None, None, 1]), gone), max_size=25)


def expected_row(event: dict[str, Any]) -> dict[str, Any]:
    link = event["link"]
    second = link["runner_up"] or {}
    return {
        **{name: link.get(name) for name in ("reference", "citing", "cited", "unresolved", "method", "status", "reasons")},
        "score": link["score"],
        "probability": link["probability"],
        "runner_up": second.get("cited"),
        "runner_up_score": second.get("score"),
        "runner_up_probability": None,
        **{name: event[name] for name in ("paper_version", "catalog_offset", "arrived", "judged")},
        "live": event.get("live", True),
        "related": (link.get("related") or {}).get("work"),
        "relation": (link.get("related") or {}).get("relation"),
    }


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    table = pyarrow.parquet.read_table(path)
    for name in ("arrived", "judged"):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast("int64"))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def exported(out: Path, rows: list[tuple[str, bytes | None]], formats: tuple[str, ...] = FORMATS) -> dict[str, Any]:
    with GraphExport(out, formats, places=("partition", "offset")) as graph:
        for number, (key, value) in enumerate(rows):
            graph.table.put(key.encode(), value, (3, number))
        return graph.finish({"file": "f"})


@given(records())
def test_every_format_contains_the_newest_record_of_each_key(rows: list[tuple[str, bytes | None]]):
    newest: dict[str, bytes] = {}
    for key, value in rows:
        newest.pop(key, None)
        if value is not None:
            newest[key] = value
    wanted = {key: json.loads(value) for key, value in newest.items()}
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "graph"
        manifest = exported(out, rows)
        lines = (out / "links.jsonl").read_bytes().splitlines()
        table = parquet_rows(out / "links.parquet")
        with (out / "citations.csv").open(newline="", encoding="utf-8") as file:
            citations = list(csv.DictReader(file))
    assert {event["link"]["reference"]: event for event in map(json.loads, lines)} == wanted
    assert len(lines) == len(wanted)
    assert set(lines) >= {value for value in newest.values() if b"\n" not in value}, "byte for byte"
    assert {row["reference"]: row for row in table} == {key: expected_row(event) for key, event in wanted.items()}
    assert len(table) == len(wanted)
    pairs = {(event["link"]["citing"], event["link"]["cited"]) for event in wanted.values() if event["link"]["cited"]}
    assert sorted((row["citing"], row["cited"]) for row in citations) == sorted(pairs), "each pair once"
    assert all(not row[name] for row in citations for name in OpenCitations.COLUMNS if name not in ("citing", "cited"))
    linked = sum(event["link"]["cited"] is not None for event in wanted.values())
    assert (manifest["references"], manifest["linked"]) == (len(wanted), linked)
    written = {"links.parquet": len(wanted), "citations.csv": len(pairs), "links.jsonl": len(wanted)}
    assert {name: file["rows"] for name, file in manifest["files"].items()} == written


GOOD: dict[str, Any] = {
    "schema_version": 1, "paper_version": 5, "catalog_offset": 1, "arrived": 1, "judged": 2,
    "link": {"reference": "doi:10.1/a#b1.1", "citing": "doi:10.1/a", "cited": "pmid:1"},
}  # fmt: skip


def changed(**fields: Any) -> bytes:
    return json.dumps({**GOOD, **fields}).encode()


def changed_link(**fields: Any) -> bytes:
    return changed(link={**GOOD["link"], **fields})


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b'{"schema_version": 1, "li', "not JSON"),
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (changed(schema_version=NEWEST_EVENT + 1), "is newer than 1, the newest that is read: upgrade reflink"),
        (changed(schema_version=True), "schema_version is True"),
        (changed(schema_version=None), "schema_version is None"),
        (changed(link=None), "link: an object is missing"),
        (changed(paper_version=2**64), "paper_version must be a whole number"),
        (changed(judged=None), "judged must be a whole number of at most 64 bits, and is missing"),
        (changed(live=1), "live must be true or false"),
        (changed_link(citing=None), "citing must be a text, and is missing"),
        (changed_link(score="high"), "score must be a number"),
        (changed_link(cited=7), "cited must be a text"),
        (changed_link(reasons="because"), "reasons must be texts"),
        (changed_link(runner_up=[1]), "runner_up must be an object"),
        (changed_link(related=[1]), "related must be an object"),
        (json.dumps({**GOOD, "link": {"reference": "r", "citing": "c"}}).encode(), "link.cited is missing"),
        (changed_link(reference="doi:10.1/a#b2.1"), "names another reference than its value, doi:10.1/a#b2.1"),
    ],
)
def test_an_unreadable_record_is_counted_and_listed_and_in_no_format(tmp_path: Path, value: bytes, why: str):
    key = GOOD["link"]["reference"]
    other = changed_link(reference="doi:10.1/z#b1.1")
    manifest = exported(tmp_path / "graph", [(key, changed()), ("doi:10.1/z#b1.1", other), (key, value)])
    assert (manifest["unreadable"], manifest["references"]) == (1, 1)
    (line,) = (tmp_path / "graph" / UNREADABLE).read_text().splitlines()
    listed = json.loads(line)
    assert why in listed.pop("why")
    assert listed == {"partition": 3, "offset": 2, "key": key}, "the older value of that key is not the newest"
    assert (tmp_path / "graph" / "links.jsonl").read_bytes() == other + b"\n"


def test_bare_links_are_read_only_on_request():
    line = json.dumps(GOOD["link"]).encode()
    assert read(line, bare=True)._asdict() == {**read(changed())._asdict(), **dict.fromkeys(Row._fields[-5:])}
    assert read(changed(), bare=True) == read(changed())
    with pytest.raises(BadRecord, match="schema_version"):
        read(line)


def test_the_newest_readable_event_is_of_the_current_contract():
    assert NEWEST_EVENT == SCHEMA_VERSION
    assert tuple(WRITERS) == FORMATS


def test_repeated_citations_of_a_work_by_a_paper_are_one_row(tmp_path: Path):
    rows = [
        (f"{citing}#b{number}.1", changed_link(reference=f"{citing}#b{number}.1", citing=citing, cited=cited))
        for citing in ("doi:10.1/a", "doi:10.1/b")
        for number, cited in enumerate(["pmid:1", "pmid:2", "pmid:1", None])
    ]
    exported(tmp_path / "graph", rows, ("csv",))
    assert (tmp_path / "graph" / "citations.csv").read_text().splitlines()[1:] == [
        f",{citing},{cited},,,," for citing in ("doi:10.1/a", "doi:10.1/b") for cited in ("pmid:1", "pmid:2")
    ]


def test_rows_are_complete_across_row_groups_and_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reflink.graph.formats._TOGETHER", 3)
    monkeypatch.setattr("reflink.graph.formats._GROUP", 6)
    keys = [f"doi:10.1/a#b{number:03}.1" for number in range(20)]
    exported(tmp_path / "graph", [(key, changed_link(reference=key)) for key in keys], ("parquet",))
    file = pyarrow.parquet.ParquetFile(tmp_path / "graph" / "links.parquet")
    assert file.metadata.num_row_groups == 4
    assert file.read()["reference"].to_pylist() == keys
    assert sorted(path.name for path in (tmp_path / "graph").iterdir()) == ["links.parquet", MANIFEST]


def test_an_existing_folder_is_refused_unless_it_is_empty(tmp_path: Path):
    out = tmp_path / "deep" / "graph"
    out.mkdir(parents=True)
    exported(out, [("doi:10.1/a#b1.1", changed())])
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(ExportFailed, match="exists: name a folder that is not there"):
        exported(out, [])
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportFailed, match="exists"):
        exported(tmp_path / "file", [])
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in out.parent.iterdir()] == ["graph"]


def test_an_unfinished_export_leaves_no_files(tmp_path: Path):
    with GraphExport(tmp_path / "graph", FORMATS, places=("partition", "offset")) as graph:
        graph.table.put(b"doi:10.1/a#b1.1", changed(), (0, 0))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_in_one_line_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ExportFailed, match="No space left on device: is the disk full"):
        exported(tmp_path / "graph", [("doi:10.1/a#b1.1", changed())])
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_the_other_formats_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExportFailed, match=r"pip install 'reflink-stream\[export\]'"):
        exported(tmp_path / "graph", [])
    assert list(tmp_path.iterdir()) == []
    assert exported(tmp_path / "graph", [], ("csv", "jsonl"))["references"] == 0


KILLED = """
import sys, time
from pathlib import Path
from reflink.graph.export import GraphExport
with GraphExport(Path(sys.argv[1]), ("csv", "jsonl"), places=("partition", "offset")) as graph:
    graph.table.put(b"doi:10.1/a#b1.1", b"{}", (0, 0))
    print("begun", flush=True)
    time.sleep(600)
"""


def test_the_next_export_removes_the_files_of_a_killed_one(tmp_path: Path):
    out = tmp_path / "graph"
    process = subprocess.Popen([sys.executable, "-c", KILLED, out], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".graph.")
    exported(tmp_path / "graph-2", [])
    with GraphExport(out, ("csv",), places=("partition", "offset")):
        assert left.exists(), "its process is alive"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not out.exists()
    exported(out, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph", "graph-2"]


MEMORY = """
import resource, sys
from pathlib import Path
from reflink.graph.export import GraphExport
def value(key):
    return ('{"schema_version":1,"paper_version":1,"catalog_offset":1,"arrived":1,"judged":1,"pad":"%s","link":'
            '{"reference":"%s","citing":"doi:10.1/a","cited":null}}' % ("x" * 1000, key)).encode()
def export(out, count):
    with GraphExport(Path(out), ("parquet", "csv", "jsonl"), places=("partition", "offset")) as graph:
        for number in range(count):
            key = f"doi:10.1/a#b{number:08}.1"
            graph.table.put(key.encode(), value(key), (0, number))
        assert graph.finish({})["references"] == count
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
small = export(sys.argv[1] + "/small", 50_000)
print(small, export(sys.argv[1] + "/large", 250_000))
"""


def test_memory_does_not_grow_with_the_links(tmp_path: Path):
    done = subprocess.run([sys.executable, "-c", MEMORY, tmp_path], capture_output=True, text=True, check=True, cwd=ROOT)
    small, large = map(float, done.stdout.split())
    # 200,000 more of 1.1 kB each are 220 MB; rows alone, as Python's, 150 MB. Measured: 25 MB.
    assert large - small < 100

"""``reflink-spark`` on a cluster of two workers on loopback, against the library's linker over the same works."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet
import pytest

from benchmarks.papers import real_references
from reflink.catalog import Catalog
from reflink.catalog.build import build
from reflink.cli.inputs import read_papers
from reflink.entities import Link, Paper, Reference
from reflink.linking.linker import Linker
from tests.data import ROOT, shared_data
from tests.spark import Cluster
from workers.backfill.deciding import COLUMNS, outcome

pytestmark = [pytest.mark.full, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog") / "catalog"
    build(ROOT / "examples/works.jsonl", folder, encoder=None)
    return folder


def outcomes(out: Path) -> dict[str, dict[str, Any]]:
    """Return the outcomes of a run by reference; each reference has one."""
    rows = pyarrow.parquet.read_table(out / "outcomes").to_pylist()
    assert len({row["reference"] for row in rows}) == len(rows)
    return {row["reference"]: row for row in rows}


def expected(links: Sequence[Link]) -> dict[str, dict[str, Any]]:
    return {link.reference: dict(zip(COLUMNS, outcome(link), strict=True)) for link in links}


def write_parquet(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write records, of which each may lack fields, as one table with all of them."""
    names = dict.fromkeys(name for record in records for name in record)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{name: each.get(name) for name in names} for each in records]), path)


def papers() -> list[Paper]:
    return [paper for _, paper in read_papers([str(ROOT / "examples/papers")]) if isinstance(paper, Paper)]


def distinct(papers: Sequence[Paper]) -> list[Reference]:
    return [*{each.id: each for paper in papers for each in paper.references}.values()]


def test_papers_and_a_snapshot_give_the_outcomes_of_the_linker(cluster: Cluster, catalog: Path, tmp_path: Path):
    out = tmp_path / "out"
    done = cluster.run(
        "link", "--papers", str(ROOT / "examples/papers"), "--catalog", str(catalog), "--out", str(out), "--json"
    )
    assert done.returncode == 1, done.stderr  # some of the papers are no papers
    found = outcomes(out)
    assert found == expected(Linker(Catalog.open(catalog)).link(distinct(papers())))
    assert {row["method"] for row in found.values()} >= {"identifier", "place", "lexical", None}
    rejected = [orjson.loads(line) for path in (out / "rejected").glob("*.json") for line in path.read_bytes().splitlines()]
    assert sorted(Path(each["source"]).name for each in rejected) == ["90-poison-other-xml.xml", "91-poison-not-xml.xml"]
    figures = orjson.loads(done.stdout)
    assert figures["rows"]["references"] == len(found)
    assert figures["rejected"] == len(rejected)


def test_the_last_of_records_with_one_id_counts_and_broken_lines_are_rejected(cluster: Cluster, tmp_path: Path):
    references, works, out = tmp_path / "parsed.jsonl.gz", tmp_path / "works.jsonl", tmp_path / "out"
    about = {"citing": "doi:10.1000/p", "position": 1}
    lines = [
        {"id": "p", "references": [{"id": "r1", **about, "ids": {"pmid": "1"}}, {"id": "r2", **about, "ids": {"pmid": "3"}}]},
        {"id": "r1", **about, "ids": {"pmid": "2"}},
    ]
    references.write_bytes(gzip.compress(b"\n".join(map(orjson.dumps, lines)) + b"\n{\n"))
    known = [
        {"pmid": "1", "title": "A work"}, {"pmid": "2", "title": "Another work"}, {"id": "x", "pmid": "3", "title": "Old"},
        {"id": "x", "pmid": "4", "title": "New"},
    ]  # fmt: skip
    works.write_bytes(b"\n".join(map(orjson.dumps, known)) + b"\n[]\n")
    done = cluster.run("link", "--references", str(references), "--works", str(works), "--out", str(out))
    assert done.returncode == 1, done.stderr
    assert "2 records rejected" in done.stderr
    found = outcomes(out)
    assert {name: row["cited"] for name, row in found.items()} == {"r1": "pmid:2", "r2": None}


def test_papers_and_works_may_be_parquet(cluster: Cluster, catalog: Path, tmp_path: Path):
    files = sorted((ROOT / "examples/papers/1-first").iterdir())
    write_parquet(tmp_path / "papers.parquet", [{"path": str(file), "content": file.read_bytes()} for file in files])
    write_parquet(tmp_path / "works.parquet", [work.to_dict() for work in Catalog.open(catalog)])
    given = ("--papers", str(tmp_path / "papers.parquet"), "--works", str(tmp_path / "works.parquet"))
    done = cluster.run("link", *given, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    read = [paper for _, paper in read_papers([str(file) for file in files]) if isinstance(paper, Paper)]
    whole = Catalog.open(catalog)
    plain = Catalog(whole.works, None, None, whole.manifest)  # a run with --works has neither texts nor a table of journals
    assert outcomes(tmp_path / "out") == expected(Linker(plain).link(distinct(read)))


def test_real_references_against_all_works(cluster: Cluster, tmp_path: Path):
    """3,000 real references, by identifier and locator, in Parquet, against all works of the shared data."""
    works = shared_data() / "works.jsonl.gz"
    sample = random.Random(1).sample([*{each.id: each for each in real_references()}.values()], 3000)
    references, out = tmp_path / "references.parquet", tmp_path / "out"
    write_parquet(references, [each.to_dict() for each in sample])
    done = cluster.run("link", "--references", str(references), "--works", str(works), "--out", str(out))
    assert done.returncode == 0, done.stderr
    build(works, tmp_path / "catalog", encoder=None, lexical_mode=None)
    whole = Catalog.open(tmp_path / "catalog")
    plain = Catalog(whole.works, None, None, whole.manifest)  # a run with --works has no table of journals
    found = outcomes(out)
    assert found == expected(Linker(plain).link(sample))
    assert sum(row["cited"] is not None for row in found.values()) > 1000


def test_errors_are_one_line(cluster: Cluster, catalog: Path, tmp_path: Path):
    (tmp_path / "out").mkdir()
    for out, papers, code, message in (
        ("out", "examples/papers", 2, "exists: name a folder that is not there"),
        ("new", "no/such/folder", 3, "Path does not exist"),
    ):
        arguments = ("--papers", papers, "--catalog", str(catalog), "--out", str(tmp_path / out))
        done = cluster.run("link", *arguments, "--quiet")
        assert done.returncode == code, done.stderr
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("reflink-spark: ")
        assert message in last

"""The command ``evaluate kdd``: from LaTeX sources, abstracts and edges to the table."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.reflink.cli.conftest import Reflink
from tests.reflink.evaluation.kdd.test_papers import BIBITEMS

_ABSTRACTS = {
    "9907233": "Title: Bosons\nAuthors: A. Meyer\nJournal-ref: Phys.Rev. D60 (1999) 094020\nDate: 5 Jul 1999",
    "9307001": "Title: Nucleons\nAuthors: B. Schulz\nJournal-ref: Z.Phys. C64 (1994) 275\nDate: 5 Jul 1993",
    "9912001": "Title: The decay of a boson\nAuthors: A. Meyer\nDate: 5 Dec 1999",
}


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[object, ...]:
    for name in ("papers", "abstracts"):
        (tmp_path / name).mkdir()
    (tmp_path / "papers" / "9912001").write_text(BIBITEMS)
    for number, text in _ABSTRACTS.items():
        (tmp_path / "abstracts" / f"{number}.abs").write_text(text)
    (tmp_path / "edges").write_text("# citing cited\n9912001 9907233\n9912001 9907233\n9912001 9301253\n")
    return "evaluate", "kdd", "--papers", tmp_path / "papers", "--edges", tmp_path / "edges", "--no-vectors"


def test_the_row_of_reflink_stands_beside_the_published_ones(
    reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path
) -> None:
    written = tmp_path / "deep" / "figures.json"
    answer = reflink(*inputs, "--metadata", tmp_path / "abstracts", "--json", written)
    assert answer.code == 0, answer.err
    measured = orjson.loads(written.read_bytes())
    row = measured["rows"][0]
    assert (row["approach"], row["right"], row["predicted"], row["true"]) == ("reflink", 1, 2, 2)
    assert (row["accuracy"], row["symmetric_difference"], row["recall_reachable"]) == (0.5, 2, 1.0)
    assert (measured["edges"], measured["edges_repeated"], measured["edges_loops"]) == (2, 1, 0)
    assert measured["vectors"] is False
    for text in ("285,064", "300,099", "94.97%", "151,549", "421,582", "538,013", "50.00% [", "\\begin{thebibliography}"):
        assert text in answer.out


def test_the_catalog_is_kept_where_it_is_wanted(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    assert reflink(*inputs, "--out", tmp_path / "catalog").code == 0
    assert reflink(*inputs, "--metadata", tmp_path / "abstracts", "--out", tmp_path / "catalog").code == 0
    answer = reflink("catalog", "find", tmp_path / "catalog", "--id", "arxiv:hep-ph/9307001", "--json")
    assert [each["title"] for each in answer.json] == ["Nucleons"]
    assert (tmp_path / "catalog.previous").is_dir(), "the replaced catalog is kept"


def test_the_papers_themselves_are_the_collection_without_metadata(reflink: Reflink, inputs: tuple[object, ...]) -> None:
    answer = reflink(*inputs)
    assert answer.code == 0
    assert "1 papers, 0 unread, 0 without references; 2 references, 1 papers in the collection" in answer.out


def test_unreadable_files_are_named_and_counted(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    (tmp_path / "papers" / "9912002").write_bytes(b"%PDF-1.4")
    (tmp_path / "abstracts" / "x.abs").write_text("nothing")
    answer = reflink(*inputs, "--metadata", tmp_path / "abstracts")
    assert answer.code == 1
    assert "9912002" in answer.err
    assert "x.abs" in answer.err
    assert "2 papers, 1 unread" in answer.out


def test_wrong_inputs_are_one_line(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    (tmp_path / "edges").write_text("9912001\n")
    answer = reflink(*inputs)
    assert answer.code == 2
    assert "edges:1" in answer.err
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "edges").write_text("")
    answer = reflink("evaluate", "kdd", "--papers", empty, "--edges", tmp_path / "edges", "--no-vectors")
    assert answer.code == 2
    assert "no paper in this folder" in answer.err
    assert reflink("evaluate", "kdd", "--papers", empty).code == 2

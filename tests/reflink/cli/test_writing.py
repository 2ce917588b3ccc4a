"""``reflink link --format`` writes papers again, with the links in their references."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink import jats
from tests.reflink.cli.conftest import PAPER, Reflink

TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><text><back><div type="references"><listBibl>
<biblStruct xml:id="b0"><analytic><title level="a" type="main">Analysis of relative gene expression data</title>
<author><persName><surname>Livak</surname></persName></author></analytic><monogr><title level="j">Methods</title>
<imprint><biblScope unit="volume">25</biblScope><biblScope unit="page" from="402"/><date type="published" when="2001"/>
</imprint></monogr></biblStruct></listBibl></div></back></text></TEI>"""


def test_the_links_are_in_the_paper_on_stdout(reflink: Reflink, paper: Path, catalog: Path):
    answer = reflink("link", paper, "--catalog", catalog, "--format", "jats")
    assert answer.code == 0
    first, second = jats.parse(answer.out.encode()).references
    assert first.ids.doi == "10.1000/livak"
    assert second.ids.keys() == ()
    assert "2 references" in answer.err


def test_several_papers_go_to_a_folder_under_their_names(reflink: Reflink, tmp_path: Path, catalog: Path):
    inputs = tmp_path / "in"
    inputs.mkdir()
    for name in ("a.tei.xml", "b.tei.xml"):
        (inputs / name).write_text(TEI)
    answer = reflink("link", inputs, "--catalog", catalog, "--format", "tei", "--out", tmp_path / "out")
    assert (answer.code, answer.out) == (0, "")
    written = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(written) == {"a.tei.xml", "b.tei.xml"}
    assert all("10.1000/livak" in text for text in written.values())


def test_several_papers_do_not_go_to_stdout(reflink: Reflink, tmp_path: Path, catalog: Path):
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text(TEI)
    answer = reflink("link", tmp_path / "a.xml", tmp_path / "b.xml", "--catalog", catalog, "--format", "tei")
    assert answer.code == 2
    assert "--out" in answer.err


def test_two_inputs_with_one_name_are_not_written_over_each_other(reflink: Reflink, tmp_path: Path, catalog: Path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.xml").write_text(PAPER)
    answer = reflink(
        "link", tmp_path / "x", tmp_path / "y", "--catalog", catalog, "--format", "jats", "--out", tmp_path / "out"
    )
    assert answer.code == 1
    assert "same name" in answer.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.xml"]


def test_a_paper_of_another_format_is_an_error(reflink: Reflink, paper: Path, catalog: Path):
    answer = reflink("link", paper, "--catalog", catalog, "--format", "tei")
    assert (answer.code, answer.out) == (1, "")


@pytest.mark.parametrize("wrong", [("--format", "latex"), ("--format", "jats", "--json"), ("--out", "folder")])
def test_wrong_usage_is_refused(reflink: Reflink, paper: Path, catalog: Path, wrong: tuple[str, ...]):
    assert reflink("link", paper, "--catalog", catalog, *wrong).code == 2


def test_an_input_is_not_replaced(reflink: Reflink, paper: Path, catalog: Path):
    before = paper.read_bytes()
    answer = reflink("link", paper, "--catalog", catalog, "--format", "jats", "--out", paper.parent)
    assert answer.code == 2
    assert "would be replaced" in answer.err
    assert paper.read_bytes() == before


def test_a_name_may_have_a_colon(reflink: Reflink, paper: Path, catalog: Path, tmp_path: Path):
    paper.rename(tmp_path / "PMC:1.xml")
    answer = reflink("link", tmp_path / "PMC:1.xml", "--catalog", catalog, "--format", "jats", "--out", tmp_path / "out")
    assert answer.code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["PMC:1.xml"]

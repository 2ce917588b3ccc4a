"""Metadata of papers: the .abs files of arXiv, and works as JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.errors import BadRecord
from reflink.evaluation.kdd.abstracts import read_abstract, read_metadata
from tests.profiles import examples

ABSTRACT = r"""------------------------------------------------------------------------------
\\
Paper: hep-ph/9307001
From: Somebody <somebody@example.org>
Date: Thu, 1 Jul 1993 10:20:30 GMT   (12kb)

Title: Structure functions of the nucleon in a
  statistical model
Authors: J. Cleymans (Univ. of Cape Town (South Africa)), I. Dadi\'c and
  J. Joubert
Comments: 12 pages. Title: of the figures
Report-no: UCT-TP 190/93
Journal-ref: Z.Phys. C64 (1994) 275-282
\\
  The abstract.  Authors: nobody.
\\
"""


def _work(**lines: str) -> Work:
    return read_abstract("\n".join(f"{name.replace('_', '-')}: {value}" for name, value in lines.items()), "0001001", "hep-ph")


def test_an_abstract_is_read_to_a_work() -> None:
    work = read_abstract(ABSTRACT, "other", "hep-th")
    assert work.id == "arxiv:hep-ph/9307001"
    assert work.ids.arxiv == "hep-ph/9307001"
    assert work.title == "Structure functions of the nucleon in a statistical model"
    assert work.authors == ("Cleymans", "Dadić", "Joubert")
    assert (work.venue, work.volume, work.fpage, work.year, work.online_year) == ("Z.Phys.", "C64", "275", 1994, 1993)


@pytest.mark.parametrize(("text", "venue", "volume", "page", "year"), [
    ("Phys.Rev. D60 (1999) 094020", "Phys.Rev.", "D60", "094020", 1999),
    ("Nucl.Phys. B543 (1999) 3-20; Erratum-ibid. B555 (1999) 1", "Nucl.Phys.", "B543", "3", 1999),
    ("Phys. Rev. D 60, 094020 (1999)", "Phys. Rev. D", "60", "094020", 1999),
    ("Phys.Lett.B344:7-12,1995", "Phys.Lett.", "B344", "7", 1995),
    ("JHEP 9907:012,1999", "JHEP", "9907", "012", 1999),
    ("Eur.Phys.J. C8 (1999) 409", "Eur.Phys.J.", "C8", "409", 1999),
])  # fmt: skip
def test_a_locator_is_read_in_the_forms_of_journals(text: str, venue: str, volume: str, page: str, year: int) -> None:
    work = _work(Journal_ref=text)
    assert (work.venue, work.volume, work.fpage, work.year) == (venue, volume, page, year)


@pytest.mark.parametrize("text", ["", "submitted", "to appear in the proceedings", "Ph.D. thesis"])
def test_a_text_without_locator_gives_none(text: str) -> None:
    work = _work(Journal_ref=text)
    assert (work.volume, work.fpage, work.year) == (None, None, 2000)


@pytest.mark.parametrize(("text", "names"), [
    ("A. B. Ioffe, Jr., C.-D. van der Berg", ("Ioffe", "van der Berg")),
    ("S.Weinberg & M.K. Gaillard", ("Weinberg", "Gaillard")),
    ("H1 Collaboration", ("H1 Collaboration",)),
    (r"M. Gl\"uck; E. Reya", ("Glück", "Reya")),
    ("Edward Witten", ("Witten",)),
    ("A. Anderson and B. Sandoval", ("Anderson", "Sandoval")),
])  # fmt: skip
def test_authors_are_divided(text: str, names: tuple[str, ...]) -> None:
    work = _work(Authors=text)
    assert work.authors == names
    assert work.collectives == tuple(name for name in names if "Collaboration" in name)


def test_the_name_of_the_file_and_its_number_take_the_place_of_missing_lines() -> None:
    assert read_abstract("Title: A", "9912001", "hep-th").ids.arxiv == "hep-th/9912001"
    assert read_abstract("Title: A", "1234", "hep-ph").id == "arxiv:hep-ph/0001234"
    assert [read_abstract("", name, "hep-ph").year for name in ("9912001", "1234")] == [1999, 2000]
    assert _work(Date="Mon, 4 May 92 13:55:12 GMT").year == 1992
    with pytest.raises(BadRecord):
        read_abstract("Title: A", "readme", "hep-ph")


@given(st.text(max_size=300), st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=examples(200))
def test_any_text_is_read(text: str, authors: str, journal: str) -> None:
    for each in (text, f"Authors: {authors}\nJournal-ref: {journal}\nTitle: {text}"):
        assert read_abstract(each, "9912001", "hep-ph").ids.arxiv


def test_a_folder_is_read_by_name_and_json_lines_by_line(tmp_path: Path) -> None:
    folder = tmp_path / "abs"
    (folder / "1993").mkdir(parents=True)
    (folder / "1993" / "9307001.abs").write_text(ABSTRACT)
    (folder / "bad.abs").write_text("Title: without a number")
    found = list(read_metadata(folder, "hep-ph"))
    assert [type(each) for each in found] == [Work, BadRecord]
    listed = tmp_path / "works.jsonl"
    assert isinstance(found[0], Work)
    listed.write_bytes(found[0].to_json() + b'\n{"arxiv": "hep-ph/9307002"}\n')
    works = list(read_metadata(listed, "hep-ph"))
    assert works[0] == found[0]
    assert isinstance(works[1], Work)
    assert works[1].id == "arxiv:hep-ph/9307002"

"""The commands that build a table of journals and look names up in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.entities import Ids, Work
from reflink.journals.table import Journal
from tests.reflink.cli.conftest import Reflink

LISTED = Journal(names=("Journal of Examples", "JOE"), issns=("1234-5679",))


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_bytes(LISTED.to_json() + b"\n" + Journal(names=("J Ex",), issns=("1234-5679",)).to_json() + b"\n")
    return path


@pytest.fixture
def built(reflink: Reflink, listed: Path, tmp_path: Path) -> Path:
    """Return a catalog with the listed journals and one that it learns."""
    answer = reflink("journals", "build", listed, "--out", tmp_path / "journals.jsonl")
    assert (answer.code, answer.err) == (0, f"reflink: {tmp_path / 'journals.jsonl'}: 1 journals\n")
    work = Work(id="w", ids=Ids(pmid="1"), venue="Annals of Proof", venue_abbreviations=("Ann Proof",))
    (tmp_path / "works.jsonl").write_bytes(work.to_json() + b"\n")
    options = ("--no-vectors", "--no-trigrams", "--journals", tmp_path / "journals.jsonl")
    assert reflink("catalog", "build", tmp_path / "works.jsonl", "--out", tmp_path / "catalog", *options).code == 0
    return tmp_path / "catalog"


def test_a_catalog_has_the_journals_of_lists_and_those_of_its_works(reflink: Reflink, built: Path) -> None:
    (found,) = reflink("journals", "show", built, "joe", "--json").json
    assert found == {"names": ["Journal of Examples", "JOE", "J Ex"], "issns": ["1234-5679"]}
    assert reflink("journals", "show", built, "1234-5679", "--json").json == [found]
    shown = reflink("journals", "show", built, "Ann. Proof")
    assert (shown.code, "Ann Proof; Annals of Proof" in " ".join(shown.out.split())) == (0, True)


def test_a_file_of_journals_is_shown(reflink: Reflink, listed: Path) -> None:
    assert reflink("journals", "show", listed, "JOE", "--json").json == [LISTED.to_dict()]


def test_an_unknown_name_exits_with_1(reflink: Reflink, built: Path) -> None:
    answer = reflink("journals", "show", built, "Nowhere")
    assert (answer.code, answer.err) == (1, f"reflink: {built}: no journal has the name Nowhere\n")


def test_a_catalog_without_a_table_of_journals_and_a_file_that_is_no_list_are_refused(reflink: Reflink, tmp_path: Path) -> None:
    Catalog.empty(lexical_mode=None).save(tmp_path / "bare")
    (tmp_path / "list").write_text("<html>")
    for command, fault in (
        (("show", tmp_path / "bare", "JOE"), "a catalog without a table of journals: build it again"),
        (("show", tmp_path / "list", "JOE"), "not a list of journals"),
        (("build", tmp_path / "list", "--out", tmp_path / "out"), "not a list of journals"),
        (("build", tmp_path / "absent", "--out", tmp_path / "out"), "absent"),
    ):
        answer = reflink("journals", *command)
        assert answer.code == 2, command
        assert fault in answer.err
    assert not (tmp_path / "out").exists()

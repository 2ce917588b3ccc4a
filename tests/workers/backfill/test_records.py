"""The rows of works and references: their keys, and lines that cannot be read."""

from __future__ import annotations

import pytest

from reflink.entities import Ids, Paper, Reference, Work
from reflink.errors import BadRecord
from workers.backfill.records import reference_row, references_of, work_of, work_row

REFERENCE = Reference(
    id="doi:10.1/c#r1.1", citing="doi:10.1/c", position=1, last_names=("Meyer",), year=2001, volume="7", first_page="12",
    ids=Ids(doi="10.1/a"), ids_weak=Ids(doi="10.1/a", pmid="5"),
)  # fmt: skip


def test_a_work_bears_its_id_and_its_identifiers_and_stands_at_its_locators():
    row = work_row(
        work_of(
            b'{"id": "x", "doi": "https://doi.org/10.1000/A", "authors": ["Meyer"], "year": 2001, "volume": 7, "fpage": 12}'
        )
    )
    assert row[0] == "x"
    assert Work.from_json(row.record).ids == Ids(doi="10.1000/a")
    assert row.bears == ["x", "doi:10.1000/a"]
    assert row.places == ["a:meyer:7:12", "y:2001:7:12"]


def test_a_reference_asks_for_its_identifiers_its_locators_and_its_paper():
    row = reference_row(REFERENCE)
    assert Reference.from_json(row.record) == REFERENCE
    assert row.cites == ["doi:10.1/a", "pmid:5"]
    assert row.places == ["a:meyer:7:12", "y:2001:7:12"]
    assert row.citing == ["doi:10.1/c"]


def test_a_paper_that_is_an_identifier_of_its_reference_is_asked_for_once():
    row = reference_row(REFERENCE.model_copy(update={"citing": "pmid:5"}))
    assert (row.cites, row.citing) == (["doi:10.1/a", "pmid:5"], [])


def test_a_line_is_a_paper_or_a_reference():
    paper = Paper(id="doi:10.1/c", references=(REFERENCE, REFERENCE))
    assert [*references_of(paper.to_json())] == [REFERENCE, REFERENCE]
    assert [*references_of(b"\xef\xbb\xbf" + REFERENCE.to_json())] == [REFERENCE]
    assert [*references_of(Paper(id="p").to_json())] == []


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"{", "not JSON"), (b"7", "Paper: value"), (b'{"citing": "p"}', "Reference: id"), (b'{"title": "A"}', "Paper: id")],
)
def test_a_line_that_is_neither_is_refused(line: bytes, message: str):
    with pytest.raises(BadRecord, match=message):
        list(references_of(line))


@pytest.mark.parametrize(("line", "message"), [(b"{", "not JSON"), (b"[]", "not a JSON object"), (b"{}", "id: missing")])
def test_a_work_that_cannot_be_read_is_refused(line: bytes, message: str):
    with pytest.raises(BadRecord, match=message):
        work_of(line)

"""biblio-glutton's set: its reading, the works of its labels, and its figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.labels import glutton
from benchmarks.labels.linking import Library
from benchmarks.labels.wording import RecordKey
from reflink.entities import Ids
from reflink.evaluation.records import Listing, work_of
from tests.benchmarks.labels.labelsets import WORKS


def test_citations_are_read_without_identifiers_with_and_without_fields(data: Path):
    first, second, *_ = glutton.read(data / "benchmarks" / "biblio_glutton" / glutton.FILE)
    assert "garden peas" in first.raw.raw_text
    assert "10.1000" not in first.raw.raw_text
    assert first.label == Ids(doi="10.1000/peas", pmid="101")
    assert (first.raw.title, first.raw.last_names) == (None, ())
    assert (first.fields.last_names, first.fields.venue, first.fields.volume) == (("Mendel",), "J Plants", "12")
    assert second.fields.last_names == ()
    assert second.fields.raw_text == second.raw.raw_text


def test_a_text_agrees_with_its_label_when_it_has_the_title_or_the_page(data: Path):
    one = glutton.read(data / "benchmarks" / "biblio_glutton" / glutton.FILE)[1]

    def labelled(**fields: object) -> glutton.Labelled:
        return glutton.Labelled(one.raw, one.fields.model_copy(update=fields), one.label)

    assert one.agrees()
    assert labelled(title="Something about beetles").agrees()
    assert labelled(first_page="1234").agrees()
    assert not labelled(title="The", first_page="8").agrees()
    assert not labelled(title=None, first_page=None).agrees()


def test_targets_are_found_by_any_identifier_with_their_group_and_by_equal_records(data: Path):
    listings = [Listing(work_of(work), work.get("title_group", work["id"])) for work in WORKS]
    targets = glutton.Targets(listings)
    peas, rays, _, spring = glutton.read(data / "benchmarks" / "biblio_glutton" / glutton.FILE)
    assert targets.by_identifier(peas.label) == {"pmid:101", "doi:10.1000/twin"}
    assert targets.by_identifier(rays.label) == frozenset()
    assert targets.by_rule(rays.fields) == {"pmid:999"}
    assert targets.by_rule(rays.raw) == frozenset()  # nothing to compare
    assert targets.by_rule(spring.fields) == frozenset()


@pytest.mark.parametrize("changed", [{"title": "Radiation"}, {"year": 2002}, {"volume": "8"}, {"fpage": None}, {"year": None}])
def test_an_equal_record_is_equal_in_title_year_volume_and_page(data: Path, changed: dict[str, object]):
    rays = glutton.read(data / "benchmarks" / "biblio_glutton" / glutton.FILE)[1].fields
    work = work_of(WORKS[2])
    other = work.model_copy(update=changed)
    assert glutton.Targets([Listing(work, work.id)]).by_rule(rays) == {work.id}
    assert glutton.Targets([Listing(other, other.id)]).by_rule(rays) == frozenset()


def test_record_keys_are_compared_without_typography():
    assert RecordKey.of("Béta-cells & Co.", "Vol. 012(3)", "S012-19") == RecordKey.of("beta cells Co", "12", "s12")
    assert RecordKey.of(None, None, None) == ("", "", "")
    assert RecordKey.of("A", "XII", "iv")[1:] == ("xii", "iv")


def test_the_year_of_a_work_made_of_a_citation_is_not_the_one_in_its_title(data: Path):
    one = glutton.read(data / "benchmarks" / "biblio_glutton" / glutton.FILE)[1]
    fields = one.fields.model_copy(
        update={"title": "Revised rules of 1995", "raw_text": "Bo A. Revised rules of 1995. 2003;1:2"}
    )
    assert glutton.work_of(glutton.Labelled(one.raw, fields, one.label), "x").year == 2003
    assert glutton.work_of(one, "x").year == 2001


def test_glutton_is_measured_against_both_catalogs(data: Path, library: Library):
    table = glutton.measure(data, library)
    rows = {(row.task, row.part): row for row in table.rows}
    fields = "4 works, text and fields"
    by_label, by_rule = (rows[fields, part].figures for part in ("label in the catalog", "or an equal record"))
    # The citations of Curie are linked, and rightly; by their label alone they would be absent.
    assert (by_label["present"], by_label["right"], by_label["linked"]) == (1, 1, 3)
    assert (by_rule["present"], by_rule["right"], by_rule["linked"]) == (3, 3, 3)
    assert [each["kind"] for each in rows[fields, "label in the catalog"].wrong] == ["absent", "absent"]
    own = rows["own 3 works, text and fields", "all"].figures
    assert (own["n"], own["right"]) == (4, 4)
    again = rows["own 3 works, text and fields", "all, cited again"].figures
    assert (again["n"], again["right"]) == (1, 1)
    halved = [row.figures for row in table.rows if row.part == "half removed"]
    assert halved
    assert all(figures["n"] == 4 and figures["false_link"] in (0, None) for figures in halved)

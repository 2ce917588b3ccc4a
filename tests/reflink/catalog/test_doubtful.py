"""Works whose DOI belongs to another journal than their venue."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog, snapshot
from reflink.catalog.doubtful import LIST, VenuesByCode
from reflink.entities import Ids, Work
from tests.profiles import examples


def works_of(code: str, venue: str | None, count: int, start: int = 0) -> list[Work]:
    return [
        Work(id=f"doi:{code}{number}", ids=Ids(doi=f"{code}{number}"), title="T", venue=venue)
        for number in range(start, start + count)
    ]


def found(works: list[Work]) -> list[tuple[str, str, str]]:
    venues = VenuesByCode()
    for work in works:
        venues.add(work)
    return [(works[row].id, venue, journal) for row, venue, journal in venues.doubtful()]


SOIL = works_of("10.1/soil.", "Soil Letters", 25)
WHEAT = works_of("10.2/wheat.", "Wheat Reports", 25)
STRAY = works_of("10.1/soil.", "Wheat Reports", 1, 90)


def test_a_doi_of_another_known_journal_is_doubtful() -> None:
    assert found([*SOIL, *STRAY, *WHEAT]) == [("doi:10.1/soil.90", "Wheat Reports", "Soil Letters")]


@pytest.mark.parametrize(
    "works",
    [
        [*SOIL, *STRAY],  # the venue is not known elsewhere
        [*SOIL[:15], *STRAY, *WHEAT],  # too few works have the code
        [*SOIL, *works_of("10.1/soil.", "Soil Lett.", 9, 50), *works_of("10.2/letters.", "Soil Lett.", 9)],  # another spelling
        [*SOIL, *works_of("10.1/soil.", "Wheat Reports", 9, 50), *WHEAT],  # a publisher that gives its journals one code
        [*SOIL, *WHEAT, *works_of("10.1/soil.", None, 3, 50), Work(id="w", venue="Wheat Reports")],
        [*works_of("10.1/", "Soil Letters", 25), *works_of("10.1/", "Wheat Reports", 1, 90), *WHEAT],  # a DOI without a code
    ],
)
def test_other_works_are_not_doubtful(works: list[Work]) -> None:
    assert found(works) == []


@settings(max_examples=examples(100))
@given(
    st.lists(
        st.tuples(st.sampled_from(["aa", "bb", "s00122-", ""]), st.sampled_from(["Soil", "Wheat", "Rice", ""])), max_size=120
    )
)
def test_a_doubtful_venue_is_rare_for_its_code(described: list[tuple[str, str]]) -> None:
    works = [
        Work(id=f"w{at}", ids=Ids(doi=f"10.1/{code}.{at}"), venue=venue or None) for at, (code, venue) in enumerate(described)
    ]
    number = Counter(described)
    for id_, venue, journal in found(works):
        code = described[int(id_[1:])][0]
        assert 9 * number[code, venue] <= number[code, journal]


def test_a_snapshot_lists_its_doubtful_works(tmp_path: Path) -> None:
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add([*SOIL, *STRAY, *WHEAT])
    assert catalog.save(tmp_path / "catalog").doubtful == 1
    (line,) = (tmp_path / "catalog" / LIST).read_bytes().splitlines()
    assert orjson.loads(line) == {"id": "doi:10.1/soil.90", "venue": "Wheat Reports", "journal": "Soil Letters"}
    catalog.remove(["doi:10.1/soil.90"])
    catalog.save(tmp_path / "catalog", keep_previous=False)
    assert snapshot.verify(tmp_path / "catalog").doubtful == 0

"""Worlds: their names, order and catalogs, and references with hidden fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.entities import Ids, Inferred, Reference
from reflink.evaluation import run
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.records import read_queries, read_works
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups, World, hidden, settings_of
from reflink.linking.policy import Policy
from tests.reflink.evaluation.worldfiles import Hashed, small_world


@pytest.mark.parametrize(
    ("worlds", "shares", "names"),
    [
        (["closed", "open"], False, ["closed", "open"]),
        (["open", "closed"], True, ["closed", "open", "open_80", "open_20"]),
        (["open"], False, ["open"]),
        ([], True, ["open_80", "open_20"]),
    ],
)
def test_worlds_have_names_and_an_order(worlds: list[World], shares: bool, names: list[str]) -> None:
    assert [setting.name for setting in settings_of(worlds, 3, shares=shares)] == names
    assert all(setting.present == 3 for setting in settings_of(worlds, 3) if setting.name == "open")


def test_the_catalog_of_a_world_lacks_the_removed_works(tmp_path: Path) -> None:
    works, references = small_world(tmp_path)
    listings, queries = list(read_works(works)), list(read_queries(references))
    groups, encoder = Groups.read(listings), CachedEncoder(Hashed(), tmp_path / "cache")
    session = run._Session(listings, queries, groups, encoder, HeldOut.shipped(), Policy(), False)
    seen = []
    for setting, catalog in session.catalogs(settings_of(["closed", "open"], shares=True)):
        there = {listing.work.id for listing in listings if catalog.get(listing.work.id) is not None}
        assert there == {listing.work.id for listing in listings} - groups.lacking(setting)
        assert catalog.vectors is not None
        assert catalog.trigrams is not None
        assert len(catalog.vectors) == len(catalog.trigrams) == len(there)
        seen.append(len(there))
    assert seen[0] == len(listings) > seen[2] > seen[3]


def test_a_reference_with_hidden_fields_keeps_its_text_without_identifiers() -> None:
    reference = Reference(
        id="r", citing="c", position=3, raw_text="Li. Rice. 10.1/x", raw_noid="Li. Rice.", title="Rice", last_names=("Li",),
        venue="Cell", year=2001, volume="1", first_page="2", ids=Ids(doi="10.1/x"), kind="journal", collab="WHO",
        inferred=Inferred(title="Rice"),
    )  # fmt: skip
    assert hidden(reference).to_dict() == {"id": "r", "citing": "c", "position": 3, "raw_text": "Li. Rice."}

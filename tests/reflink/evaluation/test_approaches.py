"""The tables of the published approaches: by hand, stored, and on some real records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from reflink.evaluation import published
from reflink.evaluation.approaches import MODES, tables
from reflink.evaluation.records import Listing, read_queries, read_works
from reflink.evaluation.run import build_catalog
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups
from tests.data import shared_data
from tests.reflink.evaluation.small import GROUPS, LISTINGS, QUERIES, WORKS, Words, silent, work

ALL = ("Raw", "T", "TV", "TY", "TL", "TA", "TVY", "TVL", "TVLY", "LTYV")


def _tables(folder: Path, modes: Sequence[str] = ALL, words: Words | None = None, **other: Any) -> dict[str, Any]:
    encoder = CachedEncoder(words or Words(), folder / "vectors")
    given_ = {"listings": LISTINGS, "queries": QUERIES, "catalog": None, **other}
    return tables(groups=GROUPS, cache=folder, modes=modes, progress=silent, encoder=encoder, **given_)


def _rows(measured: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["approach"], row["mode"]): row for row in measured["approaches"]}


def test_every_row_of_the_table_has_the_published_figure(tmp_path: Path) -> None:
    found = _tables(tmp_path)
    assert found.keys() == {"fields", "limits", "approaches", "curve", "hybrid"}
    rows = _rows(found)
    measured = {(approach, mode) for approach, modes in MODES.items() for mode in modes}
    assert rows.keys() == measured | {("SBERT", "TA"), ("hybrid", "TVL, Raw")}
    assert {name: row["published"] for name, row in rows.items()} == {name: published.error(*name) for name in rows}
    for name, row in rows.items():
        if name[1] == "TA":
            assert (row["error"], row["why"], row["published"]) == (None, "the works have no abstracts", 0.3512)
            continue
        assert row["queries"] == 4
        assert row["error_interval"][0] <= row["error"] <= row["error_interval"][1]
        assert min(row["seconds"], row["seconds_in_batches"]) > 0
    assert orjson.loads(orjson.dumps(found)) == found
    assert rows["SBERT", "TVL"]["published_seconds"] == 0.02


def test_another_encoder_has_rows_of_its_own(tmp_path: Path) -> None:
    other = Words()
    other.name = "scincl@0123456789ab"
    alone = _tables(tmp_path / "alone", ["T", "TVL", "TLY"])
    found = _tables(tmp_path / "both", ["T", "TVL", "TLY"], others=[CachedEncoder(other, tmp_path / "vectors")])
    rows = _rows(found)
    assert rows.keys() - _rows(alone).keys() == {(other.name, mode) for mode in ("T", "TVL", "TLY")}
    assert all(rows[name]["error"] == row["error"] for name, row in _rows(alone).items())
    assert rows[other.name, "T"]["error"] == rows["SBERT", "T"]["error"]
    assert rows[other.name, "TLY"]["published"] == published.error("SciNCL", "TLY") == 0.0271
    assert rows[other.name, "TVL"]["published"] is None


def test_errors_equal_those_counted_by_hand(tmp_path: Path) -> None:
    rows = _rows(_tables(tmp_path))
    # Equal titles: one of two is right; "plants" is an additional word; any work of the group is right; the last has no title.
    assert rows["TitleMatch", "T"]["error"] == (0.5 + 1 + 0 + 1) / 4
    assert rows["TitleMatch", "T"]["without_fields"] == 1
    assert rows["Jaccard", "Raw"]["error"] == 0
    assert rows["Jaccard", "TL"]["error"] == rows["Jaccard", "TL"]["without_fields"] / 4 == 0.25
    assert rows["SBERT", "Raw"]["without_fields"] == 0
    assert rows["SBERT", "TVL"]["without_fields"] == 1
    assert rows["Jaccard", "TL"]["error_with_fields"] == 0


def test_the_hybrid_uses_trigrams_without_a_semantic_answer(tmp_path: Path) -> None:
    found = _tables(tmp_path)
    hybrid = _rows(found)["hybrid", "TVL, Raw"]
    at = next(point for point in found["hybrid"] if point["threshold"] == published.THRESHOLD)
    assert (hybrid["error"], hybrid["fallback"]) == (at["error"], at["fallback"])
    assert hybrid["fallback"] >= 0.25
    assert hybrid["error"] <= _rows(found)["SBERT", "TVL"]["error"] - 0.25
    assert found["hybrid"][0]["threshold"] == 0.5


def test_only_requested_modes_are_measured(tmp_path: Path) -> None:
    found = _tables(tmp_path, ["T", "LTYV"])
    assert _rows(found).keys() == {("TitleMatch", "T"), ("Jaccard", "T"), ("Jaccard", "LTYV"), ("SBERT", "T")}
    assert found.keys() == {"fields", "limits", "approaches"}
    assert _tables(tmp_path, ["TVL"]).keys() == {"fields", "limits", "approaches", "curve"}
    with pytest.raises(ValueError, match="unknown mode 'TLV'"):
        _tables(tmp_path, ["TLV"])


def test_results_are_stored_until_an_input_changes(tmp_path: Path) -> None:
    words = Words()
    first = _tables(tmp_path, words=words)
    encoded = len(words.encoded)
    assert _tables(tmp_path, words=words) == first  # including seconds: nothing was measured again
    assert len(words.encoded) == encoded
    kept = sorted((tmp_path / "approaches").iterdir())
    kept[0].unlink()  # as if interrupted before
    again = _tables(tmp_path, words=words)
    assert [row["error"] for row in again["approaches"]] == [row["error"] for row in first["approaches"]]
    assert sorted((tmp_path / "approaches").iterdir()) == kept
    other = [*LISTINGS[:-1], Listing(work("d2", "Another"), "d")]
    _tables(tmp_path, ["T"], words=words, listings=other)
    assert len(list((tmp_path / "approaches").iterdir())) == len(kept) + 3


def test_the_catalogs_indexes_answer_like_new_ones(tmp_path: Path) -> None:
    catalog = build_catalog(WORKS, CachedEncoder(Words(), tmp_path / "vectors"))
    own, new = _tables(tmp_path / "own", catalog=catalog), _tables(tmp_path / "new")
    assert own["curve"] == new["curve"]
    assert own["hybrid"] == new["hybrid"]
    catalog.remove(["c"])  # an open world: the tables are of the closed one
    less = _tables(tmp_path / "less", catalog=catalog)
    assert [row["error"] for row in less["approaches"]] == [row["error"] for row in new["approaches"]]


def test_real_references_find_their_works_among_hundreds(tmp_path: Path) -> None:
    data = shared_data()
    queries = [query for query, _ in zip(read_queries(data / "references_dev.jsonl.gz"), range(300), strict=False)]
    wanted = {query.truth for query in queries}
    listings = [
        listing for n, listing in enumerate(read_works(data / "works.jsonl.gz")) if listing.work.id in wanted or n % 400 == 0
    ]
    encoder = CachedEncoder(Words(), tmp_path / "vectors")
    found = tables(listings, queries, Groups.read(listings), None, tmp_path, ["Raw", "T", "LTYV"], silent, encoder=encoder)
    rows = _rows(found)
    assert found["fields"]["references"]["T"]["share"] > 0.9
    assert rows["Jaccard", "Raw"]["error"] < 0.03
    assert rows["Jaccard", "LTYV"]["error_with_fields"] < 0.03
    assert 0.05 < rows["TitleMatch", "T"]["error"] < 0.5

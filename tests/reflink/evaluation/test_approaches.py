"""The paper's tables on a small catalog: by hand, remembered, and on some real records."""

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


def _rows(told: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["approach"], row["mode"]): row for row in told["approaches"]}


def test_every_line_of_the_table_is_there_with_the_papers_figure_beside(tmp_path: Path) -> None:
    told = _tables(tmp_path)
    assert told.keys() == {"fields", "limits", "approaches", "curve", "hybrid"}
    rows = _rows(told)
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
    assert orjson.loads(orjson.dumps(told)) == told
    assert rows["SBERT", "TVL"]["published_seconds"] == 0.02


def test_errors_by_hand(tmp_path: Path) -> None:
    rows = _rows(_tables(tmp_path))
    # Equal titles: one of two right; "plants" is one word too many; either of the group is right; without title none.
    assert rows["TitleMatch", "T"]["error"] == (0.5 + 1 + 0 + 1) / 4
    assert rows["TitleMatch", "T"]["without_fields"] == 1
    assert rows["Jaccard", "Raw"]["error"] == 0
    assert rows["Jaccard", "TL"]["error"] == rows["Jaccard", "TL"]["without_fields"] / 4 == 0.25
    assert rows["SBERT", "Raw"]["without_fields"] == 0
    assert rows["SBERT", "TVL"]["without_fields"] == 1
    assert rows["Jaccard", "TL"]["error_with_fields"] == 0


def test_the_hybrid_takes_the_trigrams_where_there_is_no_meaning(tmp_path: Path) -> None:
    told = _tables(tmp_path)
    hybrid = _rows(told)["hybrid", "TVL, Raw"]
    at = next(point for point in told["hybrid"] if point["threshold"] == published.THRESHOLD)
    assert (hybrid["error"], hybrid["fallback"]) == (at["error"], at["fallback"])
    assert hybrid["fallback"] >= 0.25
    assert hybrid["error"] <= _rows(told)["SBERT", "TVL"]["error"] - 0.25
    assert told["hybrid"][0]["threshold"] == 0.5


def test_only_the_modes_that_are_asked_for(tmp_path: Path) -> None:
    told = _tables(tmp_path, ["T", "LTYV"])
    assert _rows(told).keys() == {("TitleMatch", "T"), ("Jaccard", "T"), ("Jaccard", "LTYV"), ("SBERT", "T")}
    assert told.keys() == {"fields", "limits", "approaches"}
    assert _tables(tmp_path, ["TVL"]).keys() == {"fields", "limits", "approaches", "curve"}
    with pytest.raises(ValueError, match="unknown mode 'TLV'"):
        _tables(tmp_path, ["TLV"])


def test_what_was_measured_is_remembered_until_an_input_changes(tmp_path: Path) -> None:
    words = Words()
    first = _tables(tmp_path, words=words)
    asked = len(words.asked)
    assert _tables(tmp_path, words=words) == first  # seconds too: nothing was measured again
    assert len(words.asked) == asked
    kept = sorted((tmp_path / "approaches").iterdir())
    kept[0].unlink()  # as if interrupted before
    again = _tables(tmp_path, words=words)
    assert [row["error"] for row in again["approaches"]] == [row["error"] for row in first["approaches"]]
    assert sorted((tmp_path / "approaches").iterdir()) == kept
    other = [*LISTINGS[:-1], Listing(work("d2", "Another"), "d")]
    _tables(tmp_path, ["T"], words=words, listings=other)
    assert len(list((tmp_path / "approaches").iterdir())) == len(kept) + 3


def test_the_catalogs_own_indexes_answer_as_new_ones_do(tmp_path: Path) -> None:
    catalog = build_catalog(WORKS, CachedEncoder(Words(), tmp_path / "vectors"))
    own, new = _tables(tmp_path / "own", catalog=catalog), _tables(tmp_path / "new")
    assert own["curve"] == new["curve"]
    assert own["hybrid"] == new["hybrid"]
    catalog.remove(["c"])  # an open world: the tables are of the closed one
    less = _tables(tmp_path / "less", catalog=catalog)
    assert [row["error"] for row in less["approaches"]] == [row["error"] for row in new["approaches"]]


def test_real_references_find_their_works_among_some_hundreds(tmp_path: Path) -> None:
    data = shared_data()
    queries = [query for query, _ in zip(read_queries(data / "references_dev.jsonl.gz"), range(300), strict=False)]
    wanted = {query.truth for query in queries}
    listings = [
        listing for n, listing in enumerate(read_works(data / "works.jsonl.gz")) if listing.work.id in wanted or n % 400 == 0
    ]
    encoder = CachedEncoder(Words(), tmp_path / "vectors")
    told = tables(listings, queries, Groups.read(listings), None, tmp_path, ["Raw", "T", "LTYV"], silent, encoder=encoder)
    rows = _rows(told)
    assert told["fields"]["references"]["T"]["share"] > 0.9
    assert rows["Jaccard", "Raw"]["error"] < 0.03
    assert rows["Jaccard", "LTYV"]["error_with_fields"] < 0.03
    assert 0.05 < rows["TitleMatch", "T"]["error"] < 0.5

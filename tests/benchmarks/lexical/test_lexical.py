"""The benchmark of the lexical engine: its catalogs, what it compares with, and the command at a small size."""

from __future__ import annotations

import gzip
import json
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import benchmarks.lexical
from benchmarks.lexical import report
from benchmarks.lexical.__main__ import main
from benchmarks.lexical.corpus import Asked, Corpus
from benchmarks.lexical.counting import Counter, merged, postings
from benchmarks.lexical.measure import CASES, SEEDED, WITH, WITHOUT, Case, check, summary
from benchmarks.lexical.recombined import Recipe, likeness
from reflink.evaluation.records import read_works
from reflink.hits import Hits
from reflink.lexical.trigrams import similarity, trigram_sets, trigrams
from reflink.text import work_text
from tests.data import ROOT

WORKS = ROOT / "examples" / "works.jsonl"
SMALL = 400
LARGE = 3000  # a catalog with bitmaps
HELD_OUT = 60


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return Recipe([listing.work for listing in read_works(WORKS)])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Works, each tenth of which has a second id, and a reference to each of the first 300."""
    folder = tmp_path_factory.mktemp("data")
    works = [json.loads(line) for line in WORKS.read_text().splitlines()]
    twins = [{**work, "id": f"twin:{work['id']}"} for work in works[::10]]
    for work in works + twins:
        work["title_group"] = work["id"].removeprefix("twin:")
    references = [
        {
            "rid": f"r{number}", "citing": "doi:10.1000/x", "work": work["id"], "title": work["title"],
            "raw_text": f"{', '.join(work['authors'])} ({work.get('year')}). {work['title']}. 12, 3-4.",
            "last_names": work["authors"][:1],
        }
        for number, work in enumerate(works[:300])
    ]  # fmt: skip
    for name, records in (("works", works + twins), ("references_dev", references)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(f"{json.dumps(record)}\n" for record in records)
    return folder


@pytest.fixture(scope="module")
def corpus(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    works, references = data / "works.jsonl.gz", data / "references_dev.jsonl.gz"
    return Corpus.prepare(works, references, tmp_path_factory.mktemp("cache"), LARGE, ["TVLY"], HELD_OUT)


def made(recipe: Recipe, count: int, mode: str) -> list[str]:
    return [text for chunk in recipe.texts(count, mode, 1) for text in chunk]


def test_fewer_made_works_are_the_first_of_more(recipe: Recipe):
    assert made(recipe, 200, "Raw")[:50] == made(recipe, 50, "Raw")


def test_a_made_work_is_the_same_in_every_mode(recipe: Recipe):
    raw, fields = made(recipe, 200, "Raw"), made(recipe, 200, "TVLY")
    assert [sorted(text.split()) for text in raw] == [sorted(text.split()) for text in fields]
    assert raw != fields


def test_neighbouring_words_of_made_titles_are_neighbours_in_a_real_title(recipe: Recipe):
    real = [work_text(listing.work, "T", lexical=True).split() for listing in read_works(WORKS)]
    pairs = {pair for title in real for pair in pairwise(title)}
    titles = [text.split() for text in made(recipe, 300, "T") if len(text) < 190]
    assert len({tuple(title) for title in titles}) > 200
    assert all(pair in pairs for title in titles for pair in pairwise(title))


def test_likeness_compares_sizes_and_trigrams(recipe: Recipe):
    real = [work_text(listing.work, "TVLY", lexical=True) for listing in read_works(WORKS)]
    same, other = likeness(real, real), likeness(real, made(recipe, 2000, "TVLY"))
    assert same["sizes"] == same["made_sizes"]
    assert same["correlation_of_log_shares"] == pytest.approx(1)
    assert 0.9 < other["correlation_of_log_shares"] < 1
    assert "correlation" in report.likeness("TVLY", other)


def test_a_smaller_catalog_is_the_beginning_of_a_larger_one(corpus: Corpus):
    chunks = list(corpus.texts("TVLY", LARGE, 700))
    ids, texts = ([each for chunk in chunks for each in chunk[side]] for side in (0, 1))
    assert [len(chunk[0]) for chunk in chunks] == [700, 700, 700, 700, 200]
    assert len(set(ids)) == LARGE
    assert next(corpus.texts("TVLY", SMALL, SMALL)) == (ids[:SMALL], texts[:SMALL])
    codes, offsets = corpus.trigrams("TVLY", SMALL)
    expected, expected_offsets = trigram_sets(texts[:SMALL])
    assert np.array_equal(codes, expected)
    assert np.array_equal(offsets, expected_offsets)


def test_queries_without_target_have_none_and_the_others_have_theirs_in_small_catalogs_too(corpus: Corpus):
    without, present = corpus.queries("TVLY", False, 1000), corpus.queries("TVLY", True, 1000)
    assert len(without) == len(present) == HELD_OUT
    ids = [id_ for chunk, _ in corpus.texts("TVLY", LARGE, LARGE) for id_ in chunk]
    groups = {id_.removeprefix("twin:") for id_ in ids}
    assert not groups & {query.truth for query in without}
    assert {query.truth for query in present} <= set(ids[:SMALL])


def test_what_is_made_is_kept_and_made_again_only_for_a_larger_catalog(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def prepare(count: int) -> str:
        Corpus.prepare(data / "works.jsonl.gz", data / "references_dev.jsonl.gz", tmp_path, count, ["T"], HELD_OUT)
        return capsys.readouterr().out

    assert "making" in prepare(800)
    assert "making" not in prepare(700)
    assert "making" in prepare(900)


TEXTS = st.lists(st.text("ab ", max_size=12), min_size=1, max_size=12)


@given(TEXTS, st.text("ab ", max_size=12))
def test_counting_and_merging_find_the_two_best_scores(texts: list[str], query: str):
    best = tuple(sorted([similarity(query, text) for text in texts] + [0.0, 0.0], reverse=True)[:2])
    codes, offsets = trigram_sets(texts)
    counter = Counter(postings(codes, offsets))
    assert counter.best(trigrams(query)) == best
    assert counter.best(trigrams(query)) == best  # nothing is left of the query before
    assert merged(codes, offsets, trigrams(query)) == best


def hits(*scores: float) -> list[Hits]:
    return [Hits.collect([([f"id {at}" for at in range(len(scores))], scores)], 1, 2, np.float64)]


@pytest.mark.parametrize(
    ("floor", "k", "found", "right"),
    [
        (None, 2, (0.75, 0.4), True),
        (None, 1, (0.75,), True),
        (0.5, 2, (0.75,), True),
        (0.75, 2, (0.75,), True),
        (0.8, 2, (), True),
        (None, 2, (0.75,), False),
        (None, 2, (0.75, np.nextafter(0.4, 1)), False),
        (None, 1, (np.nextafter(0.75, 0),), False),
        (0.5, 2, (0.75, 0.4), False),
    ],
)
def test_an_answer_that_differs_in_the_last_bit_is_told(floor: float | None, k: int, found: tuple[float, ...], right: bool):
    wrong = check(Case(WITH, floor, k, 1), [Asked("a text", "id")], hits(*found), [(0.75, 0.4)])
    assert bool(wrong) != right
    assert all("a text" in line for line in wrong)


def test_a_query_counts_with_the_median_of_its_rounds():
    assert summary({0: [1.0, 9.0, 2.0], 1: [4.0, 4.0, 4.0]})["mean"] == 3.0


def test_cost_in_proportion_to_the_works_is_the_first_power():
    def result(works: int) -> dict[str, object]:
        ours = [
            {"kind": kind, "floor": None, "k": k, "batch": 1, "mean": works**0.5}
            for kind in (WITHOUT, WITH, SEEDED)
            for k in (1, 2)
        ]  # fmt: skip
        plain = [{"kind": kind, "mean": works * 0.1} for kind in (WITHOUT, WITH)]
        return {"mode": "T", "works": works, "search": {"ours": ours, "plain": plain}}

    lines = report.growth([result(100), result(10_000)]).splitlines()[1:]
    assert [line.split()[-4] for line in lines] == ["1.00"] * 2 + ["0.50"] * 6


def test_the_command_measures_draws_and_tells_when_an_answer_is_wrong(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    # Drawing needs matplotlib, which only those who draw install.
    drawn = SimpleNamespace(curve=lambda results, path: path.write_text(f"svg of {len(results)}"))
    monkeypatch.setitem(sys.modules, "benchmarks.lexical.plots", drawn)
    monkeypatch.setattr(benchmarks.lexical, "plots", drawn, raising=False)
    given = ["--data", str(data), "--cache", str(tmp_path / "cache"), "--modes", "TVLY", "--held-out", str(HELD_OUT)]
    given += ["--sizes", f"{SMALL},{LARGE}", "--queries", "20", "--rounds", "2"]
    assert main([*given, "--peers", "--json", str(tmp_path / "figures.json"), "--plot", str(tmp_path / "a.svg")]) == 0
    printed = capsys.readouterr().out
    assert "every score as by counting: yes" in printed
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert [each["works"] for each in figures["results"]] == [SMALL, LARGE]
    for each in figures["results"]:
        assert len(each["search"]["ours"]) == len([case for case in CASES if case.batch == 1])
        assert all(cell["mean"] > 0 for cell in each["search"]["ours"])
        assert {row["peer"] for row in each["peers"]} >= {"sorted arrays merged", "plain counting"}
        assert all(row["missed"] == 0 for row in each["peers"] if not row["peer"].startswith(("tantivy", "bm25s")))
        assert each["built"]["bytes"]["codes"] > 0
    assert (tmp_path / "a.svg").read_text() == "svg of 2"

    best = Counter.best
    monkeypatch.setattr(Counter, "best", lambda self, wanted: (best(self, wanted)[0], 0.0))
    assert main([*given[:-6], "--sizes", str(SMALL), "--queries", "3", "--rounds", "1"]) == 1
    assert "NO, " in capsys.readouterr().out


def test_without_data_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("REFLINK_SHARED_DATA", str(tmp_path))
    assert main([]) == 2
    assert "REFLINK_SHARED_DATA" in capsys.readouterr().err


def test_a_mode_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--modes", "TVX"])
    assert "unknown mode TVX" in capsys.readouterr().err

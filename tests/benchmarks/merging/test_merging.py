"""The measurement of joining: scores of clusters, the sets, and the whole command on a small set."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.merging.__main__ import main
from benchmarks.merging.joining import candidates, joined
from benchmarks.merging.scores import scores, wrong
from benchmarks.merging.sets import SETS, Labelled, title_group
from reflink.entities import Work
from tests.data import shared_data
from tests.reflink.merging.records import TITLE


def works(*titles: str) -> list[Work]:
    return [
        Work(id=f"w{at}", title=title, authors=("Berg", "Lind"), year=2001, volume="7", fpage="11")
        for at, title in enumerate(titles)
    ]


def test_pairs_and_whole_clusters_are_counted():
    labelled = Labelled("made", works(*"abcdef"), frozenset([(0, 1), (0, 2), (1, 2), (3, 4)]))
    found = scores(labelled, [[0, 1], [3, 4], [2, 5]])
    assert (found.found, found.right, found.same, found.whole, found.clusters) == (3, 2, 4, 1, 2)
    assert (found.precision, found.recall, found.f1) == (2 / 3, 1 / 2, 4 / 7)
    assert wrong(labelled, [[0, 1], [3, 4], [2, 5]]) == ([(2, 5)], [(0, 2), (1, 2)])


def test_pairs_without_a_label_do_not_count():
    labelled = Labelled("made", works(*"abc"), frozenset([(0, 1)]), frozenset([(0, 1), (0, 2)]))
    found = scores(labelled, [[0, 1], [1, 2]])
    assert (found.found, found.right) == (1, 1)


def test_candidates_are_joined_from_the_probability_on():
    same = works(TITLE, TITLE, "Soil of the rivers and lakes in the mountains of the south")
    assert candidates(same) == [(0, 1), (0, 2), (1, 2)]
    probabilities = {(0, 1): 0.97, (0, 2): 0.6, (1, 2): 0.1}
    assert joined(same, probabilities, 0.95) == [[0, 1]]
    assert joined(same, probabilities, 0.5) == [[0, 1]]


def test_the_command_measures_a_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = [{**work.to_dict(), "title_group": "w0"} for work in works(TITLE, f"{TITLE}.")]
    rows.append(Work(id="w2", title="Soil of the rivers and lakes in the south", authors=("Rey",), year=1990).to_dict())
    (tmp_path / "works.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    figures = tmp_path / "figures.json"
    assert main(["--set", "title_group", "--data", str(tmp_path), "--json", str(figures), "--errors", "1"]) == 0
    found = json.loads(figures.read_text())["rows"]
    assert [(row["f1"], row["scores"]["whole"]) for row in found] == [(1.0, 1), (1.0, 1)]
    assert "title_group" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.parametrize("name", ["dblp_acm", "fuzzycat", "citations"])
def test_the_sets_have_labels(name: str):
    labelled = SETS[name](shared_data())
    assert labelled.same
    assert all(0 <= a < b < len(labelled.works) for a, b in labelled.same)
    assert all(not work.ids.keys() for work in labelled.works)


@pytest.mark.full
def test_few_pairs_of_the_title_groups_are_missed():
    labelled = title_group(shared_data())
    found = set(candidates(labelled.works))
    assert len(labelled.same & found) > 0.9 * len(labelled.same)

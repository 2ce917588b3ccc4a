"""Every kind of model is measured on the same pairs, none of which it has seen; on made-up ones, easy to tell apart."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from reflink.evaluation.pairs import FOLDS, FORMS, Pairs
from reflink.evaluation.regression import Flags, Floats
from reflink.verdict.evidence import COLUMN, TITLED, WRITTEN, Evidence
from tests.reflink.verdict.evidences import rows

pytest.importorskip("sklearn", reason="it comes with an extra: pip install reflink-stream[semantic]")

from benchmarks.linking import trees

QUERIES = 60
RIGHT = Evidence(title=1.0, equal=1.0, cover=1.0, contained=1.0, length=60.0, authors=1.0, agreeing=2.0, first_author=1.0,
                 year=0.0, volume=1.0, page=1.0, venue=1.0, numbers=0.0, marks=0.0)  # fmt: skip
WRONG = Evidence(title=0.1, equal=0.0, cover=0.1, contained=0.2, length=50.0, authors=0.0, agreeing=0.0, first_author=0.0,
                 year=7.0, volume=0.0, page=0.0, venue=0.1, numbers=0.0, marks=0.0)  # fmt: skip
SILENT = float("nan")


def some_pairs() -> Pairs:
    """Each query in each form: one right pair, two wrong ones, of many kinds; every second target is removed."""
    evidence, y, fold, query, removed = [], [], [], [], []
    random = np.random.default_rng(1)
    for number in range(len(FORMS)):
        for asked in range(QUERIES):
            for right in (True, False, False):
                one = (RIGHT if right else WRONG)._replace(
                    card=float(WRITTEN if number else TITLED), length=float(random.integers(40, 200)),
                    venue=float(random.choice([0.3, 0.6, 0.8, SILENT])), volume=float(random.choice([float(right), SILENT])),
                    year=float(random.choice([0, 1, 2, SILENT])),
                )  # fmt: skip
                evidence.append(one._replace(title=SILENT, equal=SILENT, cover=SILENT) if number else one)
                y.append(right)
                fold.append(asked % FOLDS)
                query.append(number * QUERIES + asked)
                removed.append(right and asked % 2 == 1)
    n = len(y)
    return Pairs(
        rows(evidence),
        np.array(y),
        np.array(fold),
        np.array(query),
        np.array(removed),
        np.zeros(n, np.int64),
        np.ones(n),
        QUERIES,
    )


ABSENT = np.arange(QUERIES) % 2 == 1
PAPERS = [f"paper {number // 2}" for number in range(QUERIES)]


def test_each_kind_tells_right_from_wrong_where_that_is_easy():
    pairs = some_pairs()
    found = trees.judged(pairs, trees.LEARNERS)
    assert set(found) == {"scorecard", "trees on the evidence", "trees on the features", "logistic"}
    for form in trees.MEASURED.values():
        for name, figures in trees.compare(pairs, found, form, ABSENT, PAPERS).items():
            assert (figures["error"], figures["precision"], figures["recall"], figures["false_link"]) == (0, 1, 1, 0), name
            assert (figures["f1"], figures["misjudged"], figures["more_open"]) == (1, 0, 0), name
            assert figures["ece"] < 0.1, name


@pytest.mark.parametrize("noisy", [False, True])
def test_no_model_judges_a_citing_paper_that_it_learnt_from(noisy: bool):
    pairs = some_pairs()
    pairs.rows[:, COLUMN["length"]] = 100.0 + pairs.fold  # each pair tells its fold
    judgings = []

    def learn(taught: Floats, y: Flags) -> trees.Judge:
        assert len(taught) == len(y)
        seen = set(taught[:, COLUMN["length"]])

        def judge(asked: Floats) -> Floats:
            judgings.append((seen, set(asked[:, COLUMN["length"]])))
            return np.zeros(len(asked))

        return judge

    trees.judged(pairs, {"any": learn}, noisy=noisy)
    assert [len(seen) for seen, _ in judgings] == [FOLDS - 1] * FOLDS
    assert not any(seen & asked for seen, asked in judgings)


def test_the_figures_are_those_of_the_most_probable_pair_of_each_query():
    """Four queries, A to D, the targets of C and D removed; D has no candidate at all in the open world."""
    pairs = Pairs(
        rows=rows([WRONG] * 6), y=np.array([True, False, True, False, True, True]), fold=np.zeros(6, np.int64),
        query=np.array([0, 0, 1, 2, 2, 3]), removed=np.array([False, False, False, False, True, True]),
        source=np.zeros(6, np.int64), weight=np.ones(6), asked=4,
    )  # fmt: skip
    p = np.array([0.9, 0.2, 0.3, 0.6, 0.8, 0.7])
    absent = np.array([False, False, True, True])
    closed, opened = trees.verdicts(pairs, p, 0), trees.verdicts(pairs, p, 0, absent)
    assert closed.linked.tolist() == [True, False, True, True]
    assert closed.right.tolist() == [True, True, True, True]
    assert opened.proposed.tolist() == [True, True, True, False]
    assert opened.linked.tolist() == [True, False, True, False]
    assert opened.right.tolist() == [True, True, False, False]
    figures = trees.compare(pairs, {"scorecard": p, "other": 1 - p}, 0, absent, list("abcd"))
    one, other = figures["scorecard"], figures["other"]
    assert (one["error"], one["precision"], one["recall"], one["f1"], one["false_link"]) == (0.25, 0.5, 0.5, 0.5, 0.5)
    assert one["ece"] == pytest.approx((0.1 + 0.7 + 0.6) / 3, abs=1e-6)
    # The other takes A's wrong pair, links B, leaves C alone and D too; in the open world so too.
    assert (other["error"], other["precision"], other["recall"], other["false_link"]) == (0.75, 0.5, 0.5, 0.0)
    assert (other["more_closed"], other["more_open"]) == (0.5, -0.25)
    low, high = other["more_open_interval"]
    assert -1 <= low < -0.25 < high <= 1


def test_what_is_surely_labelled_wrongly_is_left_out_as_by_the_scorecard():
    pairs = Pairs(
        rows=rows([WRONG] * 5), y=np.array([True, False, True, False, True]), fold=np.zeros(5, np.int64),
        query=np.array([0, 0, 1, 1, 2]), removed=np.zeros(5, bool), source=np.zeros(5, np.int64), weight=np.ones(5), asked=3,
    )  # fmt: skip
    among = np.array([True, True, True, True, False])
    # Query 0 calls right what agrees in nothing, and wrong what is certain; of query 1 the label is believable.
    assert trees.believed(pairs, among, np.array([0.001, 0.999, 0.9, 0.999, 0.9])).tolist() == [False, False, True, True, False]


def test_silence_is_a_flag_of_its_own():
    flagged = trees.flagged(np.array([[0.5, SILENT], [SILENT, 0.0]]))
    assert flagged.tolist() == [[0.5, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]


def test_pairs_that_are_kept_come_back_as_they_were(tmp_path: Path):
    pairs = some_pairs()
    trees.keep(pairs, tmp_path / "trees" / "some.npz")
    back = trees.kept(tmp_path / "trees" / "some.npz")
    for field in dataclasses.fields(Pairs):
        np.testing.assert_array_equal(getattr(back, field.name), getattr(pairs, field.name))
    assert isinstance(back.asked, int)
    assert [path.name for path in (tmp_path / "trees").iterdir()] == ["some.npz"]


def test_other_inputs_have_other_keys(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"works")
    other.write_bytes(b"references")
    before = trees.key_of([one, other])
    assert before != trees.key_of([other, one])
    other.write_bytes(b"references, one more")
    assert trees.key_of([one, other]) != before
    assert any(path.name == "evidence.py" for path in trees.code())


def test_the_table_has_every_kind_in_every_form(capsys: pytest.CaptureFixture[str]):
    pairs = some_pairs()
    found = dict.fromkeys(("scorecard", "trees on the evidence"), pairs.y * 1.0)
    measured = {name: trees.compare(pairs, found, form, ABSENT, PAPERS) for name, form in trees.MEASURED.items()}
    trees.show(json.loads(json.dumps(measured)))
    shown = capsys.readouterr().out
    assert shown.count("trees on the evidence") == len(trees.MEASURED)
    assert "tagged" in shown
    assert "raw_only" in shown

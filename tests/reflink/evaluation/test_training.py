"""Training of the verdict on a small world: its pairs, its model and its files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from reflink.evaluation import training
from reflink.evaluation.records import read_queries, read_works
from reflink.evaluation.training import (
    FOLDS,
    FORMS,
    LEAST,
    Pairs,
    collect,
    fit,
    fold_of,
    is_same_record,
    precisions,
    without_title,
)
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups, hidden
from reflink.verdict import Evidence, Model, evidence
from reflink.verdict.evidence import COLUMN, TAGGED, TITLED, UNTITLED, WRITTEN
from reflink.verdict.scorecard import FEATURES
from tests.reflink.evaluation.worldfiles import Hashed, titles, write
from tests.reflink.verdict.evidences import rows

PAPERS = [f"PMC{n}" for n in range(12)]
REFERENCE = Reference(
    id="c#1", citing="c", position=1, title="Wheat yields", last_names=("Li",), raw_text="Li. Wheat  yields. 1999", year=1999,
)  # fmt: skip


def world(folder: Path) -> tuple[Path, Path]:
    """Write works, among them errata, and references to each from several papers; some names are misspelt."""
    works: list[dict[str, Any]] = []
    references: list[dict[str, Any]] = []
    for n, title in enumerate(titles()):
        fields = {"title": title, "venue": "Crop Science", "year": 1990 + n, "volume": str(n + 1)}
        authors, page = [f"Kuratani{'abcdefghijklmn'[n]}", f"Schmittgen{n}"], str(100 + 7 * n)
        works.append({"id": f"doi:10.1/{n}", "doi": f"10.1/{n}", "authors": authors, "fpage": page, **fields})
        erratum = {"title": f"Erratum: {title}", "year": 1991 + n, "volume": str(n + 2)}
        works.append({"id": f"doi:10.1/{n}e", "authors": authors, "fpage": str(900 + n), **fields, **erratum})
        for copy in range(3):
            paper = PAPERS[(5 * n + copy) % len(PAPERS)]
            names = [authors[0], authors[1].replace("mitt", "mit")] if copy else authors
            raw = f"{' '.join(names)} {title} Crop Sci {1990 + n} {n + 1} {page}"
            references.append({
                "rid": f"{paper}#{n}", "citing": paper, "raw_text": f"{raw} 10.1/{n}", "raw_noid": raw, "last_names": names,
                "first_page": page, "ids": {"doi": f"10.1/{n}"}, "work": f"doi:10.1/{n}", "query": "front", **fields,
            })  # fmt: skip
    return write(folder / "works.jsonl", works), write(folder / "references.jsonl.gz", references)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def pairs(paths: tuple[Path, Path]) -> Pairs:
    listings, queries = list(read_works(paths[0])), list(read_queries(paths[1]))
    catalog = Catalog.empty(dim=Hashed.dim)
    catalog.add_encoded([listing.work for listing in listings], Hashed())
    return collect(queries, Groups.read(listings), catalog, Hashed())


@pytest.fixture(scope="module")
def fitted(pairs: Pairs) -> tuple[Model, int]:
    """The model of all pairs, and the number of excluded pairs."""
    return fit(pairs)


@pytest.fixture
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit once: doubtful labels are the subject of test_regression."""
    monkeypatch.setattr(training, "ROUNDS", 0)


@pytest.fixture(scope="module")
def trained(paths: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the model, with folds.json beside it, written by the command."""
    folder = tmp_path_factory.mktemp("trained")
    run(paths, folder)
    return folder / "model.json"


def run(paths: tuple[Path, Path], folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))
        patch.setattr(training, "ROUNDS", 0)
        given = ["--works", paths[0], "--references", paths[1], "--out", folder / "model.json", "--cache", folder / "cache"]
        assert training.main([str(argument) for argument in given]) == 0


def test_a_reference_has_three_forms() -> None:
    asked = [form(REFERENCE) for form in FORMS]
    assert asked[0] == REFERENCE
    assert (asked[1].title, asked[1].last_names, asked[1].raw_query) == (None, ("Li",), "Li. Wheat yields. 1999")
    assert (asked[2].title, asked[2].last_names, asked[2].year, asked[2].raw_query) == (None, (), None, REFERENCE.raw_text)
    assert [evidence(each, Work(id="x")).card for each in asked] == [TITLED, TAGGED, WRITTEN]


def test_a_title_is_taken_from_the_text_too_and_identifiers_do_not_come_back() -> None:
    reference = Reference(
        id="c#1", citing="c", position=1, chapter_title="Wheat", raw_text="Li. Wheat. 10.1/x", raw_noid="Li. Wheat.",
        ids=Ids(doi="10.1/x"),
    )  # fmt: skip
    bare = without_title(reference)
    assert (bare.title, bare.chapter_title, bare.raw_query, bare.raw_text) == (None, None, "Li. .", "Li. .")
    assert hidden(reference).ids == Ids()
    assert hidden(reference).raw_query == "Li. Wheat."
    assert without_title(hidden(reference)) == hidden(reference)


def test_folds_are_even_and_of_the_paper_alone() -> None:
    counts = np.bincount([fold_of(f"pmcid:PMC{n}") for n in range(2000)], minlength=FOLDS)
    assert len(counts) == FOLDS
    assert counts.min() > 300
    assert fold_of("pmcid:PMC1") == int(hashlib.sha1(b"pmcid:PMC1").hexdigest(), 16) % FOLDS


def test_pairs_are_right_and_wrong_ones_on_every_card_and_without_identifiers(pairs: Pairs) -> None:
    assert len(pairs.rows) == len(pairs.y) == len(pairs.fold) == len(pairs.query) == len(pairs.removed)
    cards = pairs.rows[:, COLUMN["card"]]
    for card in range(UNTITLED):
        assert pairs.y[cards == card].any()
        assert not pairs.y[cards == card].all()
    assert np.isnan(pairs.rows[:, COLUMN["identifier"]]).all()
    assert np.unique(pairs.fold).tolist() == sorted({fold_of(f"pmcid:{paper}") for paper in PAPERS})
    as_they_are = pairs.query < pairs.asked
    assert (cards[as_they_are] == TITLED).all()
    assert as_they_are.any()
    right = np.bincount(pairs.query[as_they_are & pairs.y], minlength=pairs.asked)
    assert (right == 1).all(), "each reference finds its one work"


def test_training_uses_the_evidence_of_linking(pairs: Pairs) -> None:
    """The values are equal to the last bit: a name that agrees to 0.8 must reach the step at 0.8."""
    agreeing = pairs.rows[:, COLUMN["agreeing"]]
    reference = Reference(id="c#1", citing="c", position=1, last_names=("Kuratani", "Schmitgen"))
    misspelt = evidence(reference, Work(id="x", authors=("Kuratani", "Schmittgen")))
    assert misspelt.agreeing == 1.8
    assert (agreeing == misspelt.agreeing).any()


def test_the_model_separates_a_work_from_its_erratum_and_keeps_the_signs(pairs: Pairs, fitted: tuple[Model, int]) -> None:
    model, left_out = fitted
    assert left_out < len(pairs.y) / 10
    p = model.probabilities(pairs.rows)
    as_they_are = pairs.query < pairs.asked
    assert p[as_they_are & pairs.y].min() > p[as_they_are & ~pairs.y].max()
    for points in model.points[:UNTITLED]:
        assert all(value * feature.sign >= feature.least for feature, value in zip(FEATURES, points, strict=False))


def test_the_zero_of_a_subject_lies_between_right_and_wrong_pairs(pairs: Pairs, fitted: tuple[Model, int]) -> None:
    model, _ = fitted
    for card in range(UNTITLED):
        mine = pairs.rows[:, COLUMN["card"]] == card
        given = [model.contributions(row) for row in pairs.rows[mine]]
        for subject in ("authors", "title"):
            values = np.array([each[subject] for each in given])
            sides = values[pairs.y[mine]].mean(), values[~pairs.y[mine]].mean()
            assert sides[0] >= -1e-3 >= sides[1] - 2e-3
            assert abs(sum(sides)) < 0.01


def test_equal_records_are_the_same_work() -> None:
    work = Work(id="a", title="Wheat yields under heat", authors=("Li",), year=1999, volume="3", fpage="7")
    for same in ({"title": "Wheat Yields under Heat."}, {"volume": None, "fpage": None}, {"fpage": "9"}, {"volume": "4"}):
        assert is_same_record(work, work.model_copy(update={"id": "b", **same}))
    different = (
        {"title": "Wheat yields"},
        {"year": 2000},
        {"authors": ("Wu",)},
        {"volume": "4", "fpage": "9"},
        {"title": None},
    )
    for other in different:
        assert not is_same_record(work, work.model_copy(update={"id": "b", **other}))


@pytest.mark.usefixtures("_once")
def test_the_model_of_a_fold_does_not_depend_on_its_papers(pairs: Pairs, fitted: tuple[Model, int]) -> None:
    fold = int(pairs.fold[0])
    other = replace(pairs, rows=np.where((pairs.fold == fold)[:, None], pairs.rows.dtype.type(0), pairs.rows))
    without = fit(pairs, fold)[0].to_dict()
    assert fit(other, fold)[0].to_dict() == without != fitted[0].to_dict()


def made_up(given: list[tuple[int, float, bool, bool]]) -> Pairs:
    """Return pairs from (query, similarity of the title, right, removed)."""
    evidences = rows([Evidence(title=title, card=0.0) for _, title, _, _ in given])
    query, _, y, removed = (np.array(column) for column in zip(*given, strict=True))
    return Pairs(evidences, y.astype(bool), np.zeros(len(given), np.int64), query, removed.astype(bool), 3)  # type: ignore[arg-type]


def test_precision_is_of_the_best_remaining_pair_in_the_open_world() -> None:
    class Titles:
        """Return the similarity of the title as probability."""

        def probabilities(self, given: Any) -> Any:
            return given[:, COLUMN["title"]]

    measured = made_up(
        [
            (0, 0.96, True, False), (0, 0.3, False, False),  # linked rightly
            (1, 0.99, True, True), (1, 0.92, False, False),  # the right one is not in the open world
            (2, 0.55, True, False),  # linked rightly, with less confidence
            (5, 1.0, False, False),  # another form, not measured
        ]
    )  # fmt: skip
    reached = dict(precisions(measured, [Titles()], np.array([False, True, False])))  # type: ignore[list-item]
    assert reached[0.05] == reached[0.5] == pytest.approx(2 / 3, abs=1e-5)
    assert reached[0.6] == 0.5
    assert reached[0.95] == 1.0
    assert 0.97 not in reached, "no link is so probable"
    assert set(reached) <= set(LEAST)


def test_the_file_is_a_model_with_facts_about_its_training(trained: Path) -> None:
    data = json.loads(trained.read_bytes())
    model = Model.from_dict(data)
    assert json.loads(json.dumps(model.to_dict())) == data
    about = data["training"]
    assert (about["works"], about["queries"], about["encoder"]) == (2 * len(titles()), 3 * len(titles()), Hashed.name)
    assert 0 < about["right"] < about["pairs"]
    assert str(trained.parent) not in trained.read_text()


def test_precisions_ascend_with_the_probabilities(trained: Path) -> None:
    precisions_ = Model.from_dict(json.loads(trained.read_bytes())).precisions
    least, reached = zip(*precisions_, strict=True)
    assert list(least) == [value for value in LEAST if value in least] != []
    assert list(reached) == sorted(reached), "right and wrong pairs are separable here"
    assert reached[-1] == 1.0


def test_each_paper_is_listed_once_in_its_fold(trained: Path) -> None:
    folds = json.loads(trained.with_name("folds.json").read_bytes())["folds"]
    assert len(folds) == FOLDS
    cited = [paper for fold in folds for paper in fold["papers"]]
    assert sorted(cited) == sorted(f"pmcid:{paper}" for paper in PAPERS)
    for number, fold in enumerate(folds):
        assert {fold_of(paper) for paper in fold["papers"]} <= {number}
        Model.from_dict(fold["model"])


def test_the_same_input_gives_the_same_bytes(paths: tuple[Path, Path], trained: Path, tmp_path: Path) -> None:
    run(paths, tmp_path)
    for name in ("model.json", "folds.json"):
        assert (tmp_path / name).read_bytes() == trained.with_name(name).read_bytes()

"""Training of the verdict on a small world: the files that the command writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reflink.evaluation import fitting, training
from reflink.evaluation.fitting import LEAST
from reflink.evaluation.pairs import FOLDS, fold_of
from reflink.evaluation.vectors import CachedEncoder
from reflink.verdict import Model
from tests.reflink.evaluation.pubmed_files import RECORDS, written
from tests.reflink.evaluation.trainingworld import PAPERS
from tests.reflink.evaluation.worldfiles import Hashed, titles


@pytest.fixture(scope="module")
def trained(paths: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the model, with folds.json beside it, written by the command."""
    folder = tmp_path_factory.mktemp("trained")
    run(paths, folder)
    return folder / "model.json"


def run(paths: tuple[Path, Path], folder: Path, *more: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))
        patch.setattr(fitting, "ROUNDS", 0)
        given = [
            "--works",
            paths[0],
            "--references",
            paths[1],
            "--out",
            folder / "model.json",
            "--cache",
            folder / "cache",
            *more,
        ]
        assert training.main([str(argument) for argument in given]) == 0


def test_the_file_is_a_model_with_facts_about_its_training(trained: Path) -> None:
    data = json.loads(trained.read_bytes())
    model = Model.from_dict(data)
    assert json.loads(json.dumps(model.to_dict())) == data
    about = data["training"]
    assert (about["works"], about["queries"], about["encoder"]) == (2 * len(titles()), 3 * len(titles()), Hashed.name)
    assert 0 < about["right"] < about["pairs"]
    assert str(trained.parent) not in trained.read_text()


def test_rates_descend_with_the_log_odds(trained: Path) -> None:
    found = Model.from_dict(json.loads(trained.read_bytes())).rates
    assert [rate.least for rate in found] == [*LEAST]
    assert [rate.right for rate in found] == sorted((rate.right for rate in found), reverse=True)
    linked = [rate for rate in found if rate.right]
    assert linked[0].right == 1
    assert linked[-1].precision(0.5) == 1.0, "right and wrong pairs are separable here"


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


def test_pubmed_trains_the_card_of_references_without_title(paths: tuple[Path, Path], trained: Path, tmp_path: Path) -> None:
    run(paths, tmp_path, "--pubmed", written(tmp_path))
    alone, both = (json.loads(path.read_bytes()) for path in (trained, tmp_path / "model.json"))
    assert not alone["cards"]["untitled"]["points"]
    assert both["cards"]["untitled"]["points"]
    sources = both["training"]["sources"]
    assert sources["jats"] == alone["training"]["sources"]["jats"]
    assert sources["pubmed"]["right"] >= len(RECORDS)
    listed = [paper for fold in json.loads((tmp_path / "folds.json").read_bytes())["folds"] for paper in fold["papers"]]
    assert {"pmid:9000", f"pmcid:{PAPERS[0]}"} <= {*listed}


def test_training_again_searches_nothing(paths: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors and hits are kept, so a second run builds no index."""
    run(paths, tmp_path)
    before = (tmp_path / "model.json").read_bytes()
    for index in ("reflink.lexical.LexicalIndex", "reflink.semantic.VectorIndex"):
        monkeypatch.setattr(f"{index}.search", None)
    run(paths, tmp_path)
    assert (tmp_path / "model.json").read_bytes() == before

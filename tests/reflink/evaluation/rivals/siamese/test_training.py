from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reflink.errors import ModelNotFound
from reflink.evaluation.rivals.siamese.candidates import AuthorIndex
from reflink.evaluation.rivals.siamese.pairs import is_in_first_half
from reflink.evaluation.rivals.siamese.rival import Siamese, best_of
from reflink.evaluation.rivals.siamese.texts import extracted_names
from reflink.evaluation.rivals.siamese.training import VERSIONS, WEIGHTS, Epoch, train

from .toy import GROUPS, QUERIES, WORKS


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Epoch]]:
    out = tmp_path_factory.mktemp("siamese")
    return out, train(VERSIONS["removed"], QUERIES * 3, WORKS, GROUPS, limit=300, epochs=12, out=out)


def test_training_lowers_the_loss(trained: tuple[Path, list[Epoch]]):
    passes = trained[1]
    assert passes[-1].training < passes[0].training / 2
    assert min(each.validation for each in passes) < passes[0].validation


def test_the_network_answers_better_than_chance(trained: tuple[Path, list[Epoch]]):
    rival = Siamese.read(trained[0], WORKS)
    index = AuthorIndex(WORKS.values())
    references = [query.reference for query in QUERIES]
    found = [index.candidates(extracted_names(each), None, "any") for each in references]
    scores = rival.scores(references, found)
    assert [len(part) for part in scores] == [len(ids) for ids in found]
    right = sum(best_of(ids, part).best == query.truth for ids, part, query in zip(found, scores, QUERIES, strict=True))
    assert right / len(QUERIES) > 3 / (sum(map(len, found)) / len(found))


def test_the_same_input_gives_the_same_weights(tmp_path: Path):
    for name in ("one", "two"):
        train(VERSIONS["several"], QUERIES, WORKS, GROUPS, limit=60, epochs=1, out=tmp_path / name)
    one, two = (np.load(tmp_path / name / WEIGHTS, allow_pickle=False) for name in ("one", "two"))
    assert one.files == two.files
    assert all((one[name] == two[name]).all() for name in one.files)


def test_the_version_of_one_half_learns_from_its_journals_alone(tmp_path: Path):
    train(VERSIONS["half"], QUERIES, WORKS, GROUPS, limit=1000, epochs=1, out=tmp_path)
    words = Siamese.read(tmp_path, WORKS)._vocabulary.words
    seen = {number for number in range(7) if is_in_first_half(f"Journal {number}")}
    assert seen
    assert {int(word) for word in words if word.isdigit() and int(word) < 7} <= seen


def test_a_folder_without_a_network_is_refused(tmp_path: Path):
    with pytest.raises(ModelNotFound, match="no Siamese network"):
        Siamese.read(tmp_path, WORKS)


def test_the_best_of_no_candidates_is_none():
    assert best_of([], []) == (None, 0.0)
    assert best_of(["a", "b", "c"], [0.1, 0.4, 0.4]) == ("b", 0.4)

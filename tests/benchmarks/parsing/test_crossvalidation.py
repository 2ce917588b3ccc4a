"""Tests of the taggers of folds: each text is read by one that was trained without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.parsing.crossvalidation import CrossValidated, choose, read_taggers
from benchmarks.parsing.scoring import Case
from reflink.recognition.labels import LABELS
from reflink.recognition.tagging import Tagging
from reflink.recognition.tokens import Tokens, tokenise
from reflink.recognition.training import file_of
from tests.reflink.recognition.bigru.networks import random_network
from tests.reflink.recognition.crfs import random_crf

TEXT = "Wang X. Plants of the Alps. J Ecol. 2004;92:1-9."


class Counted:
    """Gives its own number as the label of every token."""

    def __init__(self, label: int) -> None:
        self.label, self.calls = label, 0

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        self.calls += 1
        sure, stays = np.zeros((2, len(tokens.words), len(LABELS)))
        sure[:, self.label] = stays[:-1, self.label] = 1
        return Tagging([self.label] * len(tokens.words), sure, stays)


def test_a_text_is_read_once_by_the_tagger_of_its_fold():
    taggers = {0: Counted(1), 3: Counted(2)}
    found = CrossValidated(taggers, {TEXT: 3})
    for _ in range(2):
        assert found.tag(TEXT, tokenise(TEXT)).labels[0] == 2
        assert found.tag("another", tokenise("another")).labels[0] == 1
    assert [tagger.calls for tagger in taggers.values()] == [1, 1]


def test_only_folds_with_all_files_have_a_tagger(tmp_path: Path):
    for fold in (0, 2):
        (tmp_path / file_of("crf", fold)).write_bytes(random_crf(fold).to_bytes())
    (tmp_path / file_of("bigru", 2)).write_bytes(random_network(2).to_bytes())
    assert [sorted(read_taggers(tmp_path, kind)) for kind in ("crf", "bigru", "pool")] == [[0, 2], [2], [2]]
    tokens = tokenise(TEXT)
    alone, other, both = (read_taggers(tmp_path, kind)[2].tag(TEXT, tokens).sure for kind in ("crf", "bigru", "pool"))
    assert not np.allclose(alone, both)
    assert not np.allclose(other, both)


def test_precision_and_recall_by_threshold():
    truth = {name: set[object]() for name in ("title", "last_names", "venue", "year", "volume", "issue", "first_page")}
    case = Case("Plants of the Alps", {**truth, "title": {"plants of the alps"}, "last_page": set()})
    rows = [row for row in choose(Counted(5), {"x": [case]}) if row[0] == "title"]
    assert rows
    assert all(row[3:] == (pytest.approx(1.0), pytest.approx(1.0)) for row in rows)

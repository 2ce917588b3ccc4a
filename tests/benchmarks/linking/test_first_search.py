"""The comparison of the orders of the two searches: right, false and different links, and encoded references."""

from __future__ import annotations

import pytest

from benchmarks.linking.first_search import Remembering, compare, show
from reflink.evaluation.judges import HeldOut
from tests.reflink.linking.letters import ELSEWHERE, UNPLACED, WORKS, Letters, catalog, cite


def test_every_order_is_measured_against_the_first(capsys: pytest.CaptureFixture[str]):
    references = [cite(WORKS[0], id="c#1"), cite(WORKS[1], id="c#2", **UNPLACED), ELSEWHERE.model_copy(update={"id": "c#3"})]
    encoder = Remembering(Letters())
    figures = compare(references, [{WORKS[0].id}, {WORKS[1].id}, set()], catalog(), encoder, HeldOut.shipped())
    assert [(each["precision"], each["recall"], each["absent"]) for each in figures.values()] == [(1.0, 1.0, 1)] * 3
    assert [each["encoded"] for each in figures.values()] == [pytest.approx(2 / 3), 0.0, 0.0]
    assert all(each["differ"] == each["won"] == each["lost"] == each["false"] == 0 for each in figures.values())
    show("closed", figures)
    assert "0 of 1" in capsys.readouterr().out


def test_a_link_that_only_vectors_find_is_lost_without_them():
    """The trigram index lacks the work; with vectors the second search finds it."""
    here = catalog()
    assert here.trigrams is not None
    here.trigrams.remove([WORKS[1].id])
    reference = cite(WORKS[1], **UNPLACED)
    figures = compare([reference], [{WORKS[1].id}], here, Remembering(Letters()), HeldOut.shipped())
    assert [(each["recall"], each["differ"], each["lost"]) for each in figures.values()] == [
        (1.0, 0, 0),
        (1.0, 0, 0),
        (0.0, 1, 1),
    ]


def test_a_text_is_encoded_once():
    letters = Letters()
    encoder = Remembering(letters)
    first, again = encoder.encode(["soil", "maize", "soil"]), encoder.encode(["maize"])
    assert (letters.calls, encoder.texts) == ([2], 4)
    assert (first[1] == again[0]).all()

"""Tests of batches and windows."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.recognition.cifal.batches import WINDOW, Batch, rows
from reflink.recognition.cifal.pieces import Marks, Pieced
from tests.profiles import examples

MARKS = Marks(101, 102, 103, 100)
CPU = torch.device("cpu")


@st.composite
def citations(draw: st.DrawFn) -> Pieced:
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=draw(st.sampled_from([5, 150]))))
    numbers = iter(range(1000, 10_000))
    return Pieced(
        tuple(tuple(next(numbers) for _ in range(size)) for size in sizes), tuple(at % 26 for at in range(len(sizes))),
        tuple(at % 13 for at in range(len(sizes))),
    )  # fmt: skip


@given(st.lists(citations(), min_size=1, max_size=4))
@settings(max_examples=examples(60))
def test_a_batch_has_every_piece_once_and_points_to_the_first_of_each_token(own: list[Pieced]):
    batch = Batch.of(own, MARKS, CPU)
    assert batch.ids.shape[1] <= WINDOW + 2
    flat, spelled = batch.ids.flatten(), batch.spellings.flatten()
    for row, citation in enumerate(own):
        places = batch.places[row][batch.known[row]]
        assert flat[places].tolist() == [pieces[0] for pieces in citation.pieces]
        assert spelled[places].tolist() == list(citation.spellings)
        assert batch.labels[row][batch.known[row]].tolist() == list(citation.labels)
    inside = batch.ids[batch.real]
    assert inside[(inside != 101) & (inside != 102)].tolist() == [
        piece for citation in own for pieces in citation.pieces for piece in pieces
    ]
    assert (batch.ids[:, 0] == 101).all()
    last = batch.real.sum(1) - 1
    assert (batch.ids.gather(1, last[:, None]) == 102).all()


def test_a_short_citation_is_one_window_and_a_long_one_is_several():
    token = (7, 8)
    short, long = (Pieced((token,) * size, (0,) * size) for size in (WINDOW // 2, WINDOW // 2 + 1))
    assert len(Batch.of([short], MARKS, CPU).ids) == 1
    assert len(Batch.of([long], MARKS, CPU).ids) == 2


@given(st.lists(st.integers(1, 300), max_size=90), st.integers(1, 9), st.one_of(st.none(), st.integers(0, 5)))
@settings(max_examples=examples(100))
def test_rows_are_a_partition_in_batches_of_the_size(lengths: list[int], size: int, seed: int | None):
    found = list(rows(lengths, size, None if seed is None else np.random.default_rng(seed)))
    assert sorted(row for own in found for row in own) == list(range(len(lengths)))
    assert all(1 <= len(own) <= size for own in found)
    if seed is None:
        flat = [lengths[row] for own in found for row in own]
        assert flat == sorted(flat, reverse=True)
    else:
        assert found == list(rows(lengths, size, np.random.default_rng(seed)))

"""The use of encoders by the linker: when it encodes, with which encoder and which separator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from reflink.catalog import Catalog
from reflink.entities import Link
from reflink.errors import SnapshotError
from reflink.linking.linker import Linker
from reflink.linking.policy import Open, Policy
from reflink.text import work_text
from tests.reflink.linking.letters import (
    DIM,
    ELSEWHERE,
    JUDGE,
    PAPER,
    PRODUCTION,
    UNPLACED,
    WORKS,
    Letters,
    catalog,
    cite,
    semantic_step,
)


def test_only_references_that_are_not_settled_are_encoded() -> None:
    encoder = Letters()
    references = [cite(WORKS[0]), cite(WORKS[1], **UNPLACED), ELSEWHERE, cite(WORKS[2])]
    semantic_step(references, catalog(), encoder, PRODUCTION)
    assert encoder.calls == [2]


def test_a_call_encodes_once() -> None:
    encoder = Letters()
    semantic_step([cite(each, **UNPLACED) for each in WORKS], catalog(), encoder, PRODUCTION)
    assert encoder.calls == [len(WORKS)]


class Aimed(Letters):
    """Encodes every text as the first axis plus a small part of another axis."""

    def __init__(self, axis: int, little: float = 5e-4) -> None:
        super().__init__()
        self.vector = np.zeros(DIM, np.float32)
        self.vector[[0, axis]] = 1.0, little

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        return np.tile(self.vector, (len(texts), 1))


def twins() -> Catalog:
    """Return a catalog of two works with the cosine 0.9 to the first axis."""
    made, vectors = Catalog.empty(dim=DIM), np.zeros((2, DIM), np.float32)
    vectors[[0, 1], 0], vectors[0, 1], vectors[1, 2] = 0.9, 0.43589, 0.43589
    made.add(WORKS[:2], vectors)
    return made


@pytest.mark.parametrize("policy", [PAPER, Policy(refuse=0.0)])
def test_close_scores_are_computed_again_by_the_precise_encoder(policy: Policy) -> None:
    reference, fast, precise = cite(WORKS[4]), Aimed(2), Aimed(1)
    alone = [semantic_step([reference], twins(), encoder, policy)[0] for encoder in (precise, fast)]
    assert [best(each) for each in alone] == [WORKS[0].id, WORKS[1].id]
    precise.calls.clear()
    assert semantic_step([reference, reference], twins(), fast, policy, precise=precise) == [alone[0]] * 2
    assert precise.calls == [2]
    clear = Aimed(2, 0.1)
    assert best(semantic_step([reference], twins(), clear, policy, precise=precise)[0]) == WORKS[1].id
    assert precise.calls == [2], "nothing was close"


def best(result: Link | Open) -> str | None:
    return result.found.semantic[0].cited if isinstance(result, Open) else result.cited


def test_a_score_near_the_threshold_of_profile_paper_is_computed_again() -> None:
    for more, calls in ((0.0005, [1]), (-0.0005, [1]), (0.01, []), (-0.01, [])):
        precise = Aimed(2, 0.1)
        score = twins().vectors.search(precise.vector[None], 1).scores[0, 0]  # type: ignore[union-attr]
        policy = Policy(profile="paper", threshold=float(score) + more)
        semantic_step([cite(WORKS[4])], twins(), Aimed(2, 0.1), policy, precise=precise)
        assert precise.calls == calls


def test_a_single_encoder_and_equal_vectors_need_no_second_encoding() -> None:
    encoder, precise = Aimed(1), Aimed(1)
    semantic_step([cite(WORKS[4])], twins(), encoder, PAPER, precise=encoder)
    assert encoder.calls == [1]
    semantic_step([cite(WORKS[4])], twins(), Aimed(3), PAPER, precise=precise)
    assert precise.calls == []


def test_an_encoder_of_another_model_is_refused() -> None:
    made = Catalog.empty(dim=DIM, model="another", precision="fp32")
    with pytest.raises(SnapshotError, match="another"):
        Linker(made, Letters(), judge=JUDGE)


class Joining(Letters):
    """An encoder with another separator, which records the texts."""

    separator = " ~ "

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return super().encode(texts)


@pytest.mark.parametrize("policy", [PAPER, PRODUCTION])
def test_references_are_joined_with_the_separator_of_the_catalog(policy: Policy) -> None:
    encoder = Joining()
    made = Catalog.empty(dim=DIM, model=encoder.name, precision=encoder.precision, separator=encoder.separator)
    made.add_encoded(WORKS, encoder)
    of_works = list(encoder.texts)
    assert Linker(made, encoder, policy, judge=JUDGE).link([cite(WORKS[0], **UNPLACED)])[0].cited == WORKS[0].id
    assert encoder.texts[-1] == of_works[0] == work_text(WORKS[0], "TVL", lexical=False, separator=" ~ ")
    with pytest.raises(SnapshotError, match=r"of separator ' ~ ', not ' \[SEP\] '"):
        Linker(made, Letters(), policy, judge=JUDGE)

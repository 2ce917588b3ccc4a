"""The tokeniser against the tokenizer of transformers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.semantic.encoder import tokens as module
from reflink.semantic.encoder.model import default_folder
from reflink.semantic.encoder.tokens import Tokeniser, Tokens

transformers = pytest.importorskip("transformers", reason="the encoder is an extra: pip install reflink-stream[semantic]")


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8), st.data())
def test_take_concatenates_texts_in_the_requested_order(lists: list[list[int]], data: st.DataObject) -> None:
    tokens = Tokens.of(lists)
    assert tokens.lengths.tolist() == [len(text) for text in lists]
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=9)) if lists else []
    assert tokens.take(np.asarray(rows, np.int64)).tolist() == [token for row in rows for token in lists[row]]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.AutoTokenizer.from_pretrained(default_folder())


words = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.sampled_from(
        ["[SEP]", "a[SEP]b", "[MASK]", "soil", "étude", "e\u0301", "\u0301x", "深度", "", "\t", "x" * 120, "\u00a0", "don't"]
    ),
)


@given(texts=st.lists(st.lists(words, max_size=12).map(" ".join), min_size=1, max_size=4), limit=st.sampled_from([3, 9, 256]))
def test_the_tokens_of_cached_words_equal_those_of_whole_texts(tokenizer: Any, texts: list[str], limit: int) -> None:
    tokeniser = Tokeniser(tokenizer, limit)
    assert tokeniser._words is not None
    expected = tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
    for _ in range(2):  # unknown words, then known ones
        tokens = tokeniser(texts)
        assert [part.tolist() for part in np.split(tokens.flat, tokens.starts[1:-1])] == expected


def test_the_cache_of_words_is_bounded(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 20)
    tokeniser = Tokeniser(tokenizer, 256)
    for number in range(50):
        tokeniser([f"soil {number} fungi"])
        assert tokeniser._words is not None
        assert sum(map(len, tokeniser._words)) <= 20 + len("soil 49 fungi")


def test_other_tokenizers_receive_whole_texts(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["soil fungi", "", "word " * 30]
    expected = tokenizer(texts, truncation=True, max_length=9)["input_ids"]
    monkeypatch.setattr(module, "_word_by_word", lambda _: False)
    whole = Tokeniser(tokenizer, 9)
    monkeypatch.setattr(type(tokenizer), "is_fast", False)
    for tokeniser in (whole, Tokeniser(tokenizer, 9)):
        assert tokeniser._words is None
        tokens = tokeniser(texts)
        assert [part.tolist() for part in np.split(tokens.flat, tokens.starts[1:-1])] == expected

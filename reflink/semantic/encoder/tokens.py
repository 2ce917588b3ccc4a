"""Tokenisation of texts for a model."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

#: Size of the cache of words, in characters: some tens of MB, enough for about all words in references of the life sciences.
KEPT: Final = 4_000_000

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tokens:
    """Concatenated tokens of many texts: text ``i`` is ``flat[starts[i] : starts[i + 1]]``."""

    flat: Integers
    starts: Integers

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> Tokens:
        """Concatenate a list of tokens per text."""
        starts = np.zeros(len(lists) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=starts[1:])
        return cls(np.fromiter(chain.from_iterable(lists), np.int64, int(starts[-1])), starts)

    @property
    def lengths(self) -> Integers:
        """Number of tokens of each text: int64 [n]."""
        return self.starts[1:] - self.starts[:-1]

    def take(self, rows: Integers) -> Integers:
        """Return the concatenated tokens of these texts, in this order."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        places: Integers = np.repeat(self.starts[rows] - ends + lengths, lengths) + np.arange(lengths.sum())
        return self.flat[places]


class Tokeniser:
    """The model's tokenizer with a cache of words.

    A BERT tokenizer makes no token across a space, and few distinct words make up most texts. So the tokens of each word are
    cached, and only new words are tokenised, in one call on all cores (unless TOKENIZERS_PARALLELISM forbids it). With any
    other tokenizer whole texts are tokenised, also in one call. `python -m benchmarks.semantic encode` measures the time.
    """

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        #: The token that pads shorter texts.
        self.padding = int(tokenizer.pad_token_id or 0)
        self._whole = tokenizer
        self._fast: Any = None
        self._words: dict[str, tuple[int, ...]] | None = None
        self._characters = 0
        if getattr(tokenizer, "is_fast", False):
            # A copy, so that its settings can change. Called directly, as transformers also makes lists of masks and offsets.
            self._fast = copy.deepcopy(tokenizer.backend_tokenizer)
            self._fast.no_padding()
            ends = self._fast.encode("").ids
            if _word_by_word(self._fast) and len(ends) == 2 and max_tokens > 2:
                self._first, self._last = ends
                self._words = {}
                self._fast.no_truncation()
            else:
                self._fast.enable_truncation(max_tokens)

    def __call__(self, texts: Sequence[str]) -> Tokens:
        """Return the token ids of each text with special tokens, truncated to ``max_tokens``."""
        if not len(texts):
            return Tokens.of([])
        # The tokenizer refuses lone surrogates, which JSON can contain.
        sound = [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]
        if self._words is not None:
            return Tokens.of(self._by_words(sound))
        if self._fast is not None:
            return Tokens.of([encoding.ids for encoding in self._fast.encode_batch_fast(sound)])
        encoded = self._whole(
            sound, truncation=True, max_length=self.max_tokens, return_attention_mask=False, return_token_type_ids=False
        )
        return Tokens.of(encoded["input_ids"])

    def _by_words(self, texts: list[str]) -> list[list[int]]:
        if self._words is None or self._characters > KEPT:
            self._words, self._characters = {}, 0
        known = self._words  # another thread may replace the cache
        split = [text.split(" ") for text in texts]
        new = list(set().union(*split).difference(known))
        if new:
            encodings = self._fast.encode_batch_fast(new, add_special_tokens=False)
            known.update((word, tuple(encoding.ids)) for word, encoding in zip(new, encodings, strict=True))
            self._characters += sum(map(len, new))
        cut = self.max_tokens - 1
        return [[*[self._first, *chain.from_iterable(map(known.__getitem__, words))][:cut], self._last] for words in split]


def _word_by_word(tokenizer: Any) -> bool:
    """Return whether the tokens of a text are the concatenated tokens of its words, which spaces separate."""
    described = json.loads(tokenizer.to_str())
    steps = [(described[step] or {}).get("type") for step in ("normalizer", "pre_tokenizer", "model")]
    return steps == ["BertNormalizer", "BertPreTokenizer", "WordPiece"] and not any(
        " " in added["content"] or added["single_word"] for added in described["added_tokens"]
    )

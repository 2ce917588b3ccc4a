"""Input of the network: the encoder's word pieces, and a class of the spelling, for every token of a citation.

Each token of `reflink.recognition.tokens` is split on its own, so that pieces and labels are aligned by construction. The
encoder ignores case and spaces; the class of the spelling preserves both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflink.recognition.tokens import Tokens

#: Maximum pieces of one token: a longer one is not a word, and a few pieces suffice to label it.
LONGEST: Final = 6
#: Number of classes of `spelling`.
SPELLINGS: Final = 26


@dataclass(frozen=True)
class Pieced:
    """One citation: the pieces of each token, the class of its spelling, and its label (empty lists of labels: unknown)."""

    pieces: tuple[tuple[int, ...], ...]
    spellings: tuple[int, ...]
    labels: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Number of pieces."""
        return sum(map(len, self.pieces))

    def without(self, at: int) -> Pieced:
        """Return the citation without token ``at``."""
        return Pieced(
            self.pieces[:at] + self.pieces[at + 1 :], self.spellings[:at] + self.spellings[at + 1 :],
            self.labels[:at] + self.labels[at + 1 :],
        )  # fmt: skip


class Marks(NamedTuple):
    """Pieces with a meaning of their own: before and after a text, in place of a masked and of an unknown piece."""

    first: int
    last: int
    mask: int
    unknown: int


class WordPieces:
    """The tokenizer of a model's folder, one token at a time, with a cache."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._known: dict[str, tuple[int, ...]] = {}
        number: Callable[[str], Any] = self._tokenizer.token_to_id
        self.marks = Marks(number("[CLS]"), number("[SEP]"), number("[MASK]"), number("[UNK]"))

    def __call__(self, tokens: Tokens, labels: Sequence[int] = ()) -> Pieced:
        """Return the pieces of a citation. Every token has at least one piece."""
        new = sorted({word for word in tokens.words if word not in self._known})
        # The tokenizer refuses lone surrogates, which JSON can contain.
        sound = [word.encode("utf-8", "replace").decode() for word in new]
        for word, encoding in zip(new, self._tokenizer.encode_batch(sound, add_special_tokens=False), strict=True):
            self._known[word] = tuple(encoding.ids[:LONGEST]) or (self.marks.unknown,)
        spaced = [at == 0 or tokens.starts[at] > tokens.ends[at - 1] for at in range(len(tokens.words))]
        return Pieced(
            tuple(self._known[word] for word in tokens.words),
            tuple(2 * spelling(word) + space for word, space in zip(tokens.words, spaced, strict=True)),
            tuple(labels),
        )


def spelling(word: str) -> int:
    """Return the class of a token's spelling, below ``SPELLINGS / 2``: length of a number, case of a word, or a mark."""
    if word[0] in "0123456789":
        return 4 if len(word) == 4 and "1500" <= word <= "2039" else min(len(word) - 1, 3)
    if not word[0].isalpha():
        return 5
    if word.islower():
        return 6
    if word.isupper():
        return 7 + min(len(word) - 1, 2)
    if not word[0].isupper():
        return 12 if word[0].islower() else 11
    return 10 if word[1:].islower() else 12

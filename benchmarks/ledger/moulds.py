"""Templates of real references: how each is written, and the parts from which other references are composed.

A mould is a real reference with its title, names, numbers and identifiers taken out of its text and its fields, so that
another work can be cited in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reflink.entities import Reference

#: Maximum number of authors with a slot in a mould. Each of the first names has its own slot.
MOST_NAMES: Final = 12
_NUMBERS: Final = ("year", "volume", "issue", "first_page", "last_page")
_NAMED: Final = ("last_names", "given_names")
#: Fields whose values always come from the cited work.
_MADE: Final = ("title", "venue", *_NUMBERS, *_NAMED)
#: Fields that belong to one title, one name or one volume, and would identify the original work.
_LEFT_OUT: Final = ("translated_title", "chapter_title", "collab", "collectives", "editors", "ids", "ids_weak", "inferred")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Mould:
    """``text`` and ``bare`` (without identifiers, None if the text has none) are templates for ``%`` with a work's parts.

    ``kept``: fields that do not change. ``fields``: names of the fields that the work fills; ``inferred``: whether the
    recogniser found these. ``names``: how many of the work's authors are named.
    """

    text: str
    bare: str | None
    kept: dict[str, Any]
    fields: tuple[str, ...]
    inferred: bool
    names: int
    ids: tuple[str, ...]
    ids_weak: tuple[str, ...]

    @classmethod
    def of(cls, reference: Reference) -> Mould:
        """Return the mould of this reference."""
        source = reference.inferred or reference
        names = min(MOST_NAMES, len(source.last_names))
        parts = [
            ("title", source.title),
            *((f"n{at}", source.last_names[at]) for at in range(names)),
            ("venue", source.venue),
        ]
        parts += [(name, str(value)) for name in _NUMBERS if (value := getattr(source, name)) is not None]
        ids, weak = (list(each.to_dict().items()) for each in (reference.ids, reference.ids_weak))
        known = reference.to_dict()
        filled = source.to_dict()
        return cls(
            text=_with_slots(reference.raw_text, [*ids, *weak, *parts]),
            bare=None if reference.raw_noid is None else _with_slots(reference.raw_noid, parts),
            kept={name: known[name] for name in ("xml_id", "label", "kind", "publisher") if name in known},
            fields=tuple(name for name in _MADE if filled.get(name) and name not in _NAMED),
            inferred=reference.inferred is not None,
            names=names,
            ids=tuple(kind for kind, _ in ids),
            ids_weak=tuple(kind for kind, _ in weak),
        )


def _with_slots(text: str, parts: Sequence[tuple[str, str | None]]) -> str:
    """Replace the first free occurrence of each part, in their order, by a slot with its name."""
    taken: list[tuple[int, int, str]] = []
    lower = text.lower()
    lower = lower if len(lower) == len(text) else text
    for name, value in parts:
        begin = lower.find(value.lower()) if value else -1
        while value and begin >= 0:
            end = begin + len(value)
            if _stands_alone(lower, begin, end) and all(end <= other or until <= begin for other, until, _ in taken):
                taken.append((begin, end, name))
                break
            begin = lower.find(value.lower(), begin + 1)
    pieces, at = [], 0
    for begin, end, name in sorted(taken):
        pieces += [text[at:begin].replace("%", "%%"), f"%({name})s"]
        at = end
    return "".join([*pieces, text[at:].replace("%", "%%")])


def _stands_alone(text: str, begin: int, end: int) -> bool:
    """Return whether the range is not part of a longer number, as 1 is of 2011."""
    within = begin > 0 and text[begin].isdigit() and text[begin - 1].isdigit()
    return not within and not (end < len(text) and text[end - 1].isdigit() and text[end].isdigit())


class Parts:
    """The parts of works, each drawn independently: words of titles in their order, names, venues, numbers."""

    def __init__(self, references: Sequence[Reference]) -> None:
        source = [each.inferred or each for each in references]
        numbers: dict[str, int] = {}
        titles = [words for each in source if each.title and (words := each.title.split())]
        self.occurring = np.array([numbers.setdefault(word, len(numbers)) for words in titles for word in words], np.int64)
        self.words = list(numbers)
        self.lengths = np.array([len(words) for words in titles], np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths
        #: Whether a word is the last of its title, so that no word follows it.
        self.last = np.zeros(len(self.occurring), bool)
        self.last[np.cumsum(self.lengths) - 1] = True
        self.by_word = np.argsort(self.occurring, kind="stable")
        counts = np.bincount(self.occurring, minlength=len(self.words))
        self.of_word, self.firsts = counts, np.cumsum(counts) - counts
        self.names = [pair for each in references for pair in zip(each.last_names, each.given_names, strict=False)]
        self.venues = [each.venue for each in source if each.venue]
        self.years = [each.year for each in source if each.year]
        self.volumes = [each.volume for each in source if each.volume]
        self.pages = [each.first_page for each in source if each.first_page]
        self.prefixes = [each.ids.doi.partition("/")[0] for each in references if each.ids.doi]

    def titles(self, rng: np.random.Generator, count: int, jump: float = 0.25) -> list[str]:
        """Draw titles as long as real ones. Each word follows the previous one in some real title; one in four is any word.

        Without the random words, a rare word of a title would determine the rest of it.
        """
        lengths = rng.choice(self.lengths, count)
        at = rng.choice(self.starts, count)
        chosen = np.empty((int(lengths.max()), count), np.int64)
        for place in range(len(chosen)):
            chosen[place] = self.occurring[at]
            again = self.by_word[
                self.firsts[chosen[place]] + (rng.random(count) * self.of_word[chosen[place]]).astype(np.int64)
            ]
            stray = self.last[again] | (rng.random(count) < jump)
            again[stray] = rng.integers(0, len(self.occurring) - 1, int(stray.sum()))
            at = np.minimum(again + 1, len(self.occurring) - 1)
        words = self.words
        rows = chosen.T.tolist()
        return [" ".join([words[word] for word in row[:length]]) for row, length in zip(rows, lengths.tolist(), strict=True)]

"""Names of journals as they are compared, and the code of a journal in a DOI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from reflink.folding import folded_words

#: Maximum characters read of a name. Longer ones come from broken records.
MAX_NAME: Final = 300
_DROPPED: Final = frozenset(
    "the of and in for on an de la le les du des der die das und et del di da do dos den van voor to".split()
)
#: Single letters that are articles or conjunctions, unless they end a name: "Physical Review A".
_DROPPED_WITHIN: Final = frozenset("aey")
_BRACKETS: Final = re.compile(r" ?[(\[][^()\[\]]*[)\]]")
_SUBTITLE: Final = re.compile(" [:=] |: |; ")
_ISSN: Final = re.compile(r"(\d{4})-?(\d{3}[\dXx])")
#: A registrant's prefix and the code of a journal: its ISSN, its number at Springer, or letters.
_CODE: Final = re.compile(
    r"10\.[0-9.]+/(?:(?:j\.|[s(])?(?:issn)?\d{4}-\d{3}[\dx]|\d{7}[\dx](?=[.-])|s\d{5}-|[a-z]{2,}(?:\.[a-z]{2,})*|[a-z]\.[a-z]{2,})"
)
#: Letters by which two words of venues agree, and minimum letters of an acronym that need not stand for the whole name.
_LETTERS: Final = 3
_ACRONYM: Final = 3
#: Words that many journals have in their names. They show no likeness, in full or abbreviated.
_GENERIC: Final = tuple(
    "acta advances american annales annals annual archiv archives british bulletin european international journal letters"
    " proceedings reports research review reviews transactions zeitschrift".split()
)


def name_key(name: str) -> str:
    """Return the name without case, accents, punctuation, articles and prepositions; initials are joined: "U S A" is "usa"."""
    return _name_key(name[:MAX_NAME])


@lru_cache(maxsize=1 << 14)
def _name_key(name: str) -> str:
    words = folded_words(name)
    last = len(words) - 1
    kept = [
        word
        for at, word in enumerate(words)
        if word not in _DROPPED and not (word in _DROPPED_WITHIN and at < last and len(words[at + 1]) > 1)
    ]
    parts: list[str] = []
    for initials, run in groupby(kept or words, key=lambda word: len(word) == 1):
        letters = list(run)
        parts += ["".join(letters)] if initials and len(letters) > 1 else letters
    return " ".join(parts)


def main_title(name: str) -> str:
    """Return the name without subtitle and parallel title, with single spaces."""
    return _SUBTITLE.split(" ".join(name[:MAX_NAME].split()), maxsplit=1)[0]


def other_keys(name: str) -> tuple[str, ...]:
    """Return the keys of the name without subtitle, parallel title and brackets: "Rice (N Y)" is also "rice"."""
    name = " ".join(name[:MAX_NAME].split())
    proper = main_title(name)
    keys = (name_key(proper), name_key(_BRACKETS.sub(" ", name)), name_key(_BRACKETS.sub(" ", proper)))
    return tuple(dict.fromkeys(key for key in keys if key and key != name_key(name)))


def abbreviates(short: str, long: str) -> bool:
    """Return whether each word of the key ``short`` begins the word of the key ``long`` in its place."""
    words, full = short.split(), long.split()
    return len(words) == len(full) and all(whole.startswith(word) for word, whole in zip(words, full, strict=True))


def are_alike(one: str, other: str) -> bool:
    """Return whether two venues may be names of one journal: they share the beginning of a significant word or an acronym."""
    words, others = name_key(one).split(), name_key(other).split()
    if not words or not others or _beginnings(words) & _beginnings(others):
        return True
    initials = ["".join(word[0] for word in each) for each in (words, others)]
    if _stands_for("".join(others), initials[0]) or _stands_for("".join(words), initials[1]):
        return True
    return initials[0] == initials[1] and len(initials[0]) >= _ACRONYM


def _beginnings(words: Sequence[str]) -> set[str]:
    """Return the first letters of the words that are not generic, or of all words if all are."""
    significant = [word for word in words if not any(each.startswith(word) for each in _GENERIC)]
    return {word[:_LETTERS] for word in significant or words}


def _stands_for(acronym: str, initials: str) -> bool:
    """Return whether the acronym has the initials of the name, or those of its first words: "PNAS" ends before "USA"."""
    return acronym == initials or (len(acronym) >= _ACRONYM and initials.startswith(acronym))


def issn_key(text: str) -> str | None:
    """Return the key of an ISSN, ``issn:0028-0836``; None if the text is not an ISSN."""
    found = _ISSN.fullmatch(text.strip())
    return f"issn:{found[1]}-{found[2].upper()}" if found else None


def code_key(doi: str | None) -> str | None:
    """Return the beginning of a DOI that most publishers give to one journal, ``10.1371/journal.pone``; None if it has none."""
    found = _CODE.match(doi or "")
    return found[0] if found else None

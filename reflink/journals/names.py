"""Names of journals as they are compared, and the name of the journal that a section belongs to."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from typing import Final

from reflink.folding import folded_words

#: Maximum characters read of a name. Longer ones come from broken records.
_MAX_NAME: Final = 300
_DROPPED: Final = frozenset(
    "the of and in for on an de la le les du des der die das und et del di da do dos den van voor to".split()
)
#: Single letters that are articles or conjunctions, unless they end a name: "Physical Review A".
_DROPPED_WITHIN: Final = frozenset("aey")
_BRACKETS: Final = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_SUBTITLE: Final = re.compile(r"\s+[:=]\s|:\s|;\s")
#: The name of a section: it begins with a word for section or follows a word that is not abbreviated, or it is a letter or
#: number at the end.
_SECTION: Final = re.compile(
    r"[\s,.:;]+(?:section|sect?|part|pt|series|ser|teil|reihe)\b.*|(?<=\w{5})\. .*|[\s,.]+(?:[A-Z]|[IVX]+|\d{1,4})\.?$",
    re.IGNORECASE,
)
_ISSN: Final = re.compile(r"(\d{4})-?(\d{3}[\dXx])")


@lru_cache(maxsize=1 << 14)
def name_key(name: str) -> str:
    """Return the name without case, accents, punctuation, articles and prepositions; initials are joined: "U S A" is "usa"."""
    words = folded_words(name[:_MAX_NAME])
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


def other_keys(name: str) -> tuple[str, ...]:
    """Return the keys of the name without subtitle, parallel title and brackets: "Rice (N Y)" is also "rice"."""
    proper = _SUBTITLE.split(name, maxsplit=1)[0]
    keys = (name_key(proper), name_key(_BRACKETS.sub(" ", name)), name_key(_BRACKETS.sub(" ", proper)))
    return tuple(dict.fromkeys(key for key in keys if key and key != name_key(name)))


def parent_keys(name: str) -> tuple[str, ...]:
    """Return the keys of the journals of which this name may mean a section, a series or a continuation.

    "Acta Cryst. D" and "Acta crystallographica. Section D" give "acta cryst" and "acta crystallographica".
    """
    proper = _SUBTITLE.split(name, maxsplit=1)[0].strip()
    shorter = (_BRACKETS.sub(" ", proper), _SECTION.sub("", _BRACKETS.sub(" ", proper).strip()))
    return tuple(dict.fromkeys(key for text in shorter if (key := name_key(text)) and key != name_key(name)))


def abbreviates(short: str, long: str) -> bool:
    """Return whether each word of the key ``short`` begins the word of the key ``long`` in its place."""
    words, full = short.split(), long.split()
    return len(words) == len(full) and all(whole.startswith(word) for word, whole in zip(words, full, strict=True))


def issn_key(text: str) -> str | None:
    """Return the key of an ISSN, ``issn:0028-0836``; None if the text is not an ISSN."""
    found = _ISSN.fullmatch(text.strip())
    return f"issn:{found[1]}-{found[2].upper()}" if found else None

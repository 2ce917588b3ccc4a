"""Folding makes typographic variants of a text comparable.

Unlike the published texts (reflink.text), everything that the verdict compares is folded: accents are dropped, Greek letters
are spelled out, and text decoded with the wrong encoding is repaired where the repair is certain.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_LETTERS: Final = {
    "ø": "o", "ß": "ss", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h",
}  # fmt: skip
_APOSTROPHES: Final = frozenset("'’ʼ`´")
_GREEK: Final = re.compile(r"GREEK SMALL LETTER (?:FINAL )?([A-Z]+)")
#: The two to four characters that one letter becomes when its UTF-8 bytes are decoded as Windows-1252.
_SCRAMBLED: Final = re.compile("[ÂÃÄÅÎÏÐâã][^ -~\\s]{1,3}")


class _Fold(dict[int, str]):
    """Translation table, filled on demand: base letters in lower case, digits, spaces for all other characters."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", chr(code)).lower())
        self[code] = "".join(map(_letter, parts))
        return self[code]


def _letter(char: str) -> str:
    """Return the folded form of one decomposed character in lower case."""
    if char in _APOSTROPHES or unicodedata.category(char) in ("Cf", "Mn"):
        return ""
    if greek := _GREEK.match(unicodedata.name(char, "")):
        return greek[1].lower()
    return _LETTERS.get(char, char if char.isalnum() else " ")


_FOLD: Final = _Fold()
#: The same table for ASCII text, as bytes: translating most texts with it takes a twentieth of the time.
_FOLD_BYTES: Final = bytes(ord(_FOLD[code] or " ") if code < 128 else 32 for code in range(256))
_DELETED: Final = bytes(code for code in range(128) if not _FOLD[code])
_NO_LETTER: Final = bytes(code for code in range(128) if not _FOLD[code].strip())


def fold(text: str) -> str:
    """Return the text as lower-case letters without accents, and digits, with single spaces between words."""
    return " ".join(folded_words(text))


def folded_words(text: str) -> list[str]:
    """Return the words of ``fold(text)``."""
    if text.isascii():
        return text.encode().translate(_FOLD_BYTES, _DELETED).decode().split()
    if _SCRAMBLED.search(text):
        text = _SCRAMBLED.sub(_unscramble, text)
    return text.translate(_FOLD).split()


def compact(text: str) -> str:
    """Return ``fold(text)`` without the spaces."""
    if text.isascii():
        return text.encode().translate(_FOLD_BYTES, _NO_LETTER).decode()
    return "".join(folded_words(text))


def _unscramble(found: re.Match[str]) -> str:
    """Return the original letters of UTF-8 that was decoded as Windows-1252 ("Ã¶"); anything else unchanged."""
    try:
        return found[0].encode("cp1252").decode("utf-8")
    except UnicodeError:
        return found[0]

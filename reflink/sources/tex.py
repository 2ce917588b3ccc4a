"""Plain text of titles and names that are written in TeX: accents, Greek letters, and formulas without their markup."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

#: Combining character of each accent command.
_ACCENTS: Final = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307", '"': "\u0308",
    "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328", "b": "\u0331",
}  # fmt: skip
_LETTERS: Final = {
    "ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å",
    "i": "ı", "j": "ȷ", "dh": "ð", "th": "þ", "times": "×", "pm": "±", "to": "→", "rightarrow": "→", "sim": "∼", "ell": "ℓ",
    "infty": "∞", "hbar": "ħ", "leq": "≤", "geq": "≥", "cdot": "·", "approx": "≈", "varepsilon": "ε", "varphi": "φ",
}  # fmt: skip
#: An accent and its letter: \"o, \"{o}, {\"o}, \v{c}, \v c, \'\i. An accent that is a letter needs a brace or a space.
_ACCENTED: Final = re.compile(
    r"\\(?:([`'^~=.\"])\s*|([uvHrdckb])(?:\s+|(?=\{)))(?:\{\s*(\\?[^\W\d_])\s*\}|(\\?[^\W\d_])(?![^\W\d_]*\{))"
)
_COMMAND: Final = re.compile(r"\\(?:([A-Za-z]+)\s*|(.))")
_FORMULA: Final = re.compile(r"(?<!\\)\$+((?:[^$\\]|\\.)*)\$+")
#: Marks of indices, which are removed within formulas, and braces.
_INDICES: Final = str.maketrans("", "", "_^")
_BRACES: Final = str.maketrans("", "", "{}")
#: Maximum number of characters of a text.
_MAX: Final = 5_000


def plain(text: str, limit: int = _MAX) -> str:
    """Return the text without TeX, with single spaces; at most its first ``limit`` characters are read."""
    text = text[:limit]
    if "\\" in text or "$" in text or "{" in text:
        text = _FORMULA.sub(_formula, _ACCENTED.sub(_accented, text))
        text = _COMMAND.sub(_meaning, text).replace("~", " ").translate(_BRACES)
    return " ".join(text.split())


def _formula(found: re.Match[str]) -> str:
    return _COMMAND.sub(_meaning, found[1].translate(_INDICES))


def _accented(found: re.Match[str]) -> str:
    letter = (found[3] or found[4]).lstrip("\\")
    return unicodedata.normalize("NFC", letter + _ACCENTS[found[1] or found[2]])


def _meaning(found: re.Match[str]) -> str:
    return _word(found[1]) if found[1] else found[2] if found[2] in "&%$#_{}" else " "


@lru_cache(maxsize=1 << 10)
def _word(name: str) -> str:
    """Return the character of a command, "" for a command of form such as \\rm."""
    if name in _LETTERS:
        return _LETTERS[name]
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {'LAMDA' if name.lower() == 'lambda' else name.upper()}")
    except KeyError:
        return ""

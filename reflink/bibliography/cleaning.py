"""Clean values of fields: one line, without characters that XML and JSON readers refuse, and years of printed works."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

#: Control characters, surrogates and non-characters.
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
#: Characters that XML forbids.
_INVALID: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_FIRST_YEAR, _LAST_YEAR = 1500, 2099
#: Fields of names that ``given_names`` has one entry for each of.
_NAMED: Final = ("last_names", "authors")


def line(text: str) -> str:
    """Return the text as one line, without forbidden characters and without white space at its ends."""
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(_FORBIDDEN.sub(" ", text).split())


def allowed(text: str) -> str:
    """Return a name of a file without the characters that XML forbids; all others are part of the name."""
    return text if text.isprintable() else _INVALID.sub("", text)


def cleaned(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a citation or paper with clean values. Fields without a value, and impossible years, are left out.

    A name that is empty is left out together with its given names.
    """
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if type(value) is str:
            if text := line(value):
                found[name] = text
        elif name == "year":
            if value is not None and _FIRST_YEAR <= value <= _LAST_YEAR:
                found[name] = value
        elif type(value) is tuple and value and type(value[0]) is str:
            if name != "given_names":
                found |= _names(name, value, fields)
        elif value not in (None, "", ()):
            found[name] = value
    return found


def _names(name: str, values: tuple[str, ...], fields: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    texts = tuple(map(line, values))
    given = tuple(map(line, (fields.get("given_names") if name in _NAMED else None) or ()))
    if len(given) == len(texts) and (name == "authors" or any(given)):
        pairs = [(text, first) for text, first in zip(texts, given, strict=True) if text]
        return {name: tuple(text for text, _ in pairs), "given_names": tuple(first for _, first in pairs)} if pairs else {}
    return {name: kept} if (kept := tuple(text for text in texts if text)) else {}

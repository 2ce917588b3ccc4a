"""Mutations of the text between tags: characters, identifiers, and texts that cause errors in patterns."""

from __future__ import annotations

import re
import unicodedata
from random import Random
from typing import Final

from tests.campaigns.fuzz import hostile

_TEXT: Final = re.compile(rb">([^<>]+)<")
_IDENTIFIER: Final = re.compile(rb"10\.\d{4,9}/[^\s<>&\"]+|PMC\d+|\b\d{6,8}\b|\d{4}\.\d{4,5}")
_NUMBERS: Final = (
    "\u0661\u0662\u0663\u0664", "\uff12\uff10\uff10\uff14", "-1", "1e9", "0x10", "99999", "1499", "2100", "NaN", "2004a",
)  # fmt: skip
_YEAR: Final = re.compile(rb"\b(?:1[5-9]|20)\d\d\b")


def _place(rng: Random, data: bytes) -> tuple[int, int]:
    """Return begin and end of a random text; in half of all cases a text after the first ``<ref``."""
    start = max(data.find(b"<ref"), 0) if rng.random() < 0.5 else 0
    for _ in range(4):
        if found := _TEXT.search(data, rng.randrange(start, len(data) + 1)):
            return found.span(1)
    return (len(data), len(data))


def _within(rng: Random, data: bytes) -> int:
    start, stop = _place(rng, data)
    return rng.randint(start, stop)


def inserted(data: bytes, at: int, added: bytes | str) -> bytes:
    """Return ``data`` with ``added`` at position ``at``."""
    return data[:at] + (added if isinstance(added, bytes) else added.encode(errors="surrogatepass")) + data[at:]


def character(rng: Random, data: bytes) -> bytes:
    """Insert strange characters, once or many times, into a text, or replace it by them."""
    added = "".join(rng.choices(hostile.CHARACTERS, k=rng.choice((1, 1, 2, 5)))) * rng.choice((1, 1, 1, 1, 3, 200))
    if rng.random() < 0.2:
        start, stop = _place(rng, data)
        return data[:start] + added.encode() + data[stop:]
    return inserted(data, _within(rng, data), added)


def character_reference(rng: Random, data: bytes) -> bytes:
    """Insert character and entity references, valid and invalid."""
    return inserted(data, _within(rng, data), rng.choice(hostile.CHARACTER_REFERENCES) * rng.choice((1, 1, 1, 1, 20)))


def white_space(rng: Random, data: bytes) -> bytes:
    """Replace all white space of a text by another kind, or remove it."""
    start, stop = _place(rng, data)
    kind = rng.choice(("", "\u00a0", "\u2028", "\u0085", "\u3000", "\t", "\n", "\r\n", " " * 50, "\u200b"))
    return data[:start] + re.sub(rb"\s+", kind.encode(), data[start:stop]) + data[stop:]


def identifier(rng: Random, data: bytes) -> bytes:
    """Insert an identifier, with or without a space around it, or replace a text by it."""
    value = rng.choice(hostile.IDENTIFIERS)
    if rng.random() < 0.3:
        start, stop = _place(rng, data)
        return data[:start] + value.replace("<", "&lt;").encode() + data[stop:]
    return inserted(data, _within(rng, data), rng.choice(("", " ", "(", "doi:")) + value + rng.choice(("", " ", ".", ")")))


def change_identifier(rng: Random, data: bytes) -> bytes:
    """Add, remove or change a character of a real identifier."""
    places = list(_IDENTIFIER.finditer(data))
    if not places:
        return identifier(rng, data)
    start, stop = rng.choice(places).span()
    at = rng.randrange(start, stop)
    added = rng.choice(("", ".", "/", " ", "%", "#", "(", ")", "&amp;", "\u2010", "0", "&lt;", "-", "\u200b", "A", "\u0661"))
    return data[:at] + added.encode() + data[at + rng.randrange(2) :]


def digits(rng: Random, data: bytes) -> bytes:
    """Insert, or put in place of a year, a very long number, a number in another script, or a year out of range."""
    long = rng.choice("0123456789") * rng.choice((5, 50, 5000))
    value = rng.choice((long, *_NUMBERS))
    years = list(_YEAR.finditer(data))
    if years and rng.random() < 0.5:
        start, stop = rng.choice(years).span()
        return data[:start] + value.encode() + data[stop:]
    return inserted(data, _within(rng, data), value)


def bait(rng: Random, data: bytes) -> bytes:
    """Insert one to three short strings, repeated many times."""
    unit = "".join(rng.choices(hostile.BAIT, k=rng.choice((1, 1, 2, 3))))
    times = rng.choice((5, 20, 100, 100, 1000, 1000, 4000, 20_000))
    text = unit * times + rng.choice(("", "", "x", " ", rng.choice(hostile.BAIT), rng.choice(hostile.IDENTIFIERS)))
    return inserted(data, _within(rng, data), text.replace("<", "&lt;"))


def mixture(rng: Random, data: bytes) -> bytes:
    """Insert a text of many different baits and identifiers."""
    words = rng.choices(hostile.BAIT + hostile.IDENTIFIERS, k=rng.choice((5, 20, 60, 400)))
    return inserted(data, _within(rng, data), rng.choice(("", " ")).join(words).replace("<", "&lt;"))


def normal_form(rng: Random, data: bytes) -> bytes:
    """Decompose or compose a text, or convert it to upper or lower case."""
    start, stop = _place(rng, data)
    text = data[start:stop].decode(errors="replace")
    if rng.random() < 0.5:
        text = unicodedata.normalize(rng.choice(("NFD", "NFC", "NFKD", "NFKC")), text).replace("<", "&lt;")
    elif "&" not in text:
        text = text.upper() if rng.random() < 0.5 else text.lower()
    return data[:start] + text.encode() + data[stop:]


def emptied(rng: Random, data: bytes) -> bytes:
    """Remove a text, or replace it by a blank or punctuation."""
    start, stop = _place(rng, data)
    return data[:start] + rng.choice((b"", b" ", b"\n", b".", b"-", b"()", b"\xc2\xa0")) + data[stop:]


def huge(rng: Random, data: bytes) -> bytes:
    """Extend a text by up to 60,000 characters: words, or the text itself repeated."""
    start, stop = _place(rng, data)
    unit = data[start : min(stop, start + 200)] if rng.random() < 0.5 else b"lorem ipsum "
    return data[:stop] + unit * (rng.choice((500, 3000, 12_000, 60_000)) // max(len(unit), 1)) + data[stop:]


TEXT: Final = (
    character, character, character_reference, character_reference, white_space, identifier, identifier, change_identifier,
    change_identifier, digits, bait, bait, mixture, normal_form, emptied, huge,
)  # fmt: skip

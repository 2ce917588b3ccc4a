"""Mutations of what stands between tags: characters, identifiers, and texts that patterns stumble over."""

from __future__ import annotations

import re
import unicodedata
from random import Random
from typing import Final

from tests.fuzz import hostile

_TEXT: Final = re.compile(rb">([^<>]+)<")
_IDENTIFIER: Final = re.compile(rb"10\.\d{4,9}/[^\s<>&\"]+|PMC\d+|\b\d{6,8}\b|\d{4}\.\d{4,5}")
_YEAR: Final = re.compile(rb"\b(?:1[5-9]|20)\d\d\b")


def _place(rng: Random, data: bytes) -> tuple[int, int]:
    """Where some text begins and ends; in half of all cases one behind the first ``<ref``."""
    start = max(data.find(b"<ref"), 0) if rng.random() < 0.5 else 0
    for _ in range(4):
        if found := _TEXT.search(data, rng.randrange(start, len(data) + 1)):
            return found.span(1)
    return (len(data), len(data))


def _within(rng: Random, data: bytes) -> int:
    start, stop = _place(rng, data)
    return rng.randint(start, stop)


def _inserted(data: bytes, at: int, added: str) -> bytes:
    return data[:at] + added.encode(errors="surrogatepass") + data[at:]


def character(rng: Random, data: bytes) -> bytes:
    """Strange characters, once or many times, within one text or in its stead."""
    added = "".join(rng.choices(hostile.CHARACTERS, k=rng.choice((1, 1, 2, 5)))) * rng.choice((1, 1, 1, 1, 3, 200))
    if rng.random() < 0.2:
        start, stop = _place(rng, data)
        return data[:start] + added.encode() + data[stop:]
    return _inserted(data, _within(rng, data), added)


def character_reference(rng: Random, data: bytes) -> bytes:
    """References to characters and entities, right and wrong."""
    return _inserted(data, _within(rng, data), rng.choice(hostile.CHARACTER_REFERENCES) * rng.choice((1, 1, 1, 1, 20)))


def white_space(rng: Random, data: bytes) -> bytes:
    """All white space of one text becomes another kind, or none."""
    start, stop = _place(rng, data)
    kind = rng.choice(("", "\u00a0", "\u2028", "\u0085", "\u3000", "\t", "\n", "\r\n", " " * 50, "\u200b"))
    return data[:start] + re.sub(rb"\s+", kind.encode(), data[start:stop]) + data[stop:]


def identifier(rng: Random, data: bytes) -> bytes:
    """An identifier more, with or without a space around it, or in a text's stead."""
    value = rng.choice(hostile.IDENTIFIERS)
    if rng.random() < 0.3:
        start, stop = _place(rng, data)
        return data[:start] + value.replace("<", "&lt;").encode() + data[stop:]
    return _inserted(data, _within(rng, data), rng.choice(("", " ", "(", "doi:")) + value + rng.choice(("", " ", ".", ")")))


def change_identifier(rng: Random, data: bytes) -> bytes:
    """A real identifier with a character more, less or changed."""
    places = list(_IDENTIFIER.finditer(data))
    if not places:
        return identifier(rng, data)
    start, stop = rng.choice(places).span()
    at = rng.randrange(start, stop)
    return (
        data[:at]
        + rng.choice(
            ("", ".", "/", " ", "%", "#", "(", ")", "&amp;", "\u2010", "0", "&lt;", "-", "\u200b", "A", "\u0661")
        ).encode()
        + data[at + rng.randrange(2) :]
    )


def digits(rng: Random, data: bytes) -> bytes:
    """Very long numbers, numbers in other scripts, years out of range."""
    value = rng.choice(
        (
            rng.choice("0123456789") * rng.choice((5, 50, 5000)),
            "\u0661\u0662\u0663\u0664",
            "\uff12\uff10\uff10\uff14",
            "-1",
            "1e9",
            "0x10",
            "99999",
            "1499",
            "2100",
            "NaN",
            "2004a",
        )
    )
    years = list(_YEAR.finditer(data))
    if years and rng.random() < 0.5:
        start, stop = rng.choice(years).span()
        return data[:start] + value.encode() + data[stop:]
    return _inserted(data, _within(rng, data), value)


def bait(rng: Random, data: bytes) -> bytes:
    """One or two short strings, repeated often."""
    unit = "".join(rng.choices(hostile.BAIT, k=rng.choice((1, 1, 2, 3))))
    times = rng.choice((5, 20, 100, 100, 1000, 1000, 4000, 20_000))
    text = unit * times + rng.choice(("", "", "x", " ", rng.choice(hostile.BAIT), rng.choice(hostile.IDENTIFIERS)))
    return _inserted(data, _within(rng, data), text.replace("<", "&lt;"))


def mixture(rng: Random, data: bytes) -> bytes:
    """A text of many different baits and identifiers."""
    words = rng.choices(hostile.BAIT + hostile.IDENTIFIERS, k=rng.choice((5, 20, 60, 400)))
    return _inserted(data, _within(rng, data), rng.choice(("", " ")).join(words).replace("<", "&lt;"))


def normal_form(rng: Random, data: bytes) -> bytes:
    """A text decomposed, composed, in capitals or in small letters."""
    start, stop = _place(rng, data)
    text = data[start:stop].decode(errors="replace")
    if rng.random() < 0.5:
        text = unicodedata.normalize(rng.choice(("NFD", "NFC", "NFKD", "NFKC")), text).replace("<", "&lt;")
    elif "&" not in text:
        text = text.upper() if rng.random() < 0.5 else text.lower()
    return data[:start] + text.encode() + data[stop:]


def emptied(rng: Random, data: bytes) -> bytes:
    """A text is gone, or only blank."""
    start, stop = _place(rng, data)
    return data[:start] + rng.choice((b"", b" ", b"\n", b".", b"-", b"()", b"\xc2\xa0")) + data[stop:]


def huge(rng: Random, data: bytes) -> bytes:
    """One text of tens of thousands of characters: words, or the text itself repeated."""
    start, stop = _place(rng, data)
    unit = data[start : min(stop, start + 200)] if rng.random() < 0.5 else b"lorem ipsum "
    return data[:stop] + unit * (rng.choice((500, 3000, 12_000, 60_000)) // max(len(unit), 1)) + data[stop:]


TEXT: Final = (
    character, character, character_reference, character_reference, white_space, identifier, identifier, change_identifier,
    change_identifier, digits, bait, bait, mixture, normal_form, emptied, huge,
)  # fmt: skip

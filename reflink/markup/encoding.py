"""Decode XML of any encoding to bytes whose markup is ASCII, without a byte order mark."""

from __future__ import annotations

import codecs
import re
from typing import Final

from reflink.errors import NotAPaper

#: The first bytes of XML in encodings of several bytes per character: byte order marks, the longest first, and beginnings.
_WIDE: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"), (b"<\0\0\0", "utf-32-le"), (b"\0\0\0<", "utf-32-be"),
    (b"<\0?\0", "utf-16-le"), (b"<\0a\0", "utf-16-le"), (b"<\0!\0", "utf-16-le"),
    (b"\0<\0?", "utf-16-be"), (b"\0<\0a", "utf-16-be"), (b"\0<\0!", "utf-16-be"),
)  # fmt: skip
#: The XML declaration with its encoding.
ENCODING: Final = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"'][^>]{0,100}?\?>")
DECLARATION: Final = re.compile(r"^\s*<\?xml[^>]*\?>")
_ASCII_LIKE: Final = frozenset(("utf-8", "ascii", "iso8859-1", "cp1252", "iso8859-15", "iso8859-2", "cp1250"))


def as_ascii_like(data: bytes, name: str, warnings: list[str]) -> bytes:
    """Return the bytes without a BOM, in an encoding whose markup is ASCII. Raises NotAPaper, which names ``name``."""
    wide = wide_encoding(data)
    if wide is not None:
        return _transcoded(data, wide, name, warnings)
    if data.startswith(codecs.BOM_UTF8):
        return _declared_utf8(data[len(codecs.BOM_UTF8) :])
    data = data.lstrip()
    declared = ENCODING.match(data[:300])
    if declared is None:
        return data
    try:
        encoding = codecs.lookup(declared[1].decode()).name
    except LookupError:
        warnings.append(f"unknown encoding {declared[1].decode()!r}: read as UTF-8")
        return _declared_utf8(data)
    return _declared_utf8(data) if encoding == "ascii" else data  # many UTF-8 files declare ASCII


def wide_encoding(data: bytes) -> str | None:
    """Return the encoding of XML whose markup is not in ASCII bytes; None if it is, or if the declared one is unknown."""
    for start, encoding in _WIDE:
        if data.startswith(start):
            return encoding
    declared = None if data.startswith(codecs.BOM_UTF8) else ENCODING.match(data.lstrip()[:300])
    try:
        name = codecs.lookup(declared[1].decode()).name if declared else "ascii"
    except LookupError:
        return None
    return None if name in _ASCII_LIKE else name


def _declared_utf8(data: bytes) -> bytes:
    return ENCODING.sub(b"", data[:300], count=1) + data[300:]


def _transcoded(data: bytes, encoding: str, name: str, warnings: list[str]) -> bytes:
    try:
        text = data.decode(encoding, errors="replace")
    except (LookupError, UnicodeError):  # a codec that does not decode text
        raise NotAPaper(f"{name}: encoding {encoding!r} is not one of text") from None
    if "\ufffd" in text:
        warnings.append(f"bytes that are not {encoding} were replaced")
    return DECLARATION.sub("", text.removeprefix("\ufeff"), count=1).encode("utf-8", errors="replace")

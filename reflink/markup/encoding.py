"""Decode XML of any encoding to bytes whose markup is ASCII, without a byte order mark."""

from __future__ import annotations

import codecs
import re
from typing import Final

from reflink.errors import NotAPaper

_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
#: The XML declaration with its encoding.
ENCODING: Final = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"'][^>]{0,100}?\?>")
DECLARATION: Final = re.compile(r"^\s*<\?xml[^>]*\?>")
_ASCII_LIKE: Final = frozenset(("utf-8", "ascii", "iso8859-1", "cp1252", "iso8859-15", "iso8859-2", "cp1250"))


def as_ascii_like(data: bytes, name: str, warnings: list[str]) -> bytes:
    """Return the bytes without a BOM, in an encoding whose markup is ASCII. Raises NotAPaper, which names ``name``."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            if encoding == "utf-8":
                return _declared_utf8(data[len(bom) :])
            return _transcoded(data, encoding, name, warnings)
    if data[:4] in (b"<\0\0\0", b"\0\0\0<"):
        return _transcoded(data, "utf-32-le" if data[0] else "utf-32-be", name, warnings)
    if data[:4] in (b"<\0?\0", b"<\0a\0", b"<\0!\0"):
        return _transcoded(data, "utf-16-le", name, warnings)
    if data[:4] in (b"\0<\0?", b"\0<\0a", b"\0<\0!"):
        return _transcoded(data, "utf-16-be", name, warnings)
    declared = ENCODING.match(data.lstrip()[:300])
    if declared is None:
        return data.lstrip()
    try:
        encoding = codecs.lookup(declared[1].decode()).name
    except LookupError:
        warnings.append(f"unknown encoding {declared[1].decode()!r}: read as UTF-8")
        return _declared_utf8(data.lstrip())
    if encoding == "ascii":  # many UTF-8 files declare ASCII
        return _declared_utf8(data.lstrip())
    return data.lstrip() if encoding in _ASCII_LIKE else _transcoded(data.lstrip(), encoding, name, warnings)


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

"""Mutations that ignore the XML structure: bits, blocks, encodings."""

from __future__ import annotations

import codecs
import gzip
from random import Random
from typing import Final

_INVALID_UTF8: Final = (
    b"\xff", b"\xfe\xff", b"\x80", b"\xc3", b"\xc0\x80", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80",
    b"\xed\xa0\xbd\xed\xb8\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xef\xbf\xbe", b"\xef\xbb\xbf",
    b"\x00", b"\x0b", b"\x0c", b"\x1b", b"\x7f",
    b"\x1a", b"\xe2\x80", b"\xc2\x85", b"\x00\x00\x00\x00", b"\x01",
)  # fmt: skip
_SURROUNDINGS: Final = (b" ", b"\n\n", b"\0", b"\xc2\xa0", b"garbage", b"<x/>", b"<?xml version='1.0'?>", b"<!-- -->", b"]]>")
_BOMS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_ENCODINGS: Final = (
    "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-7", "iso-8859-1", "cp1252", "cp037", "shift_jis",
    "gb18030", "big5", "euc_kr", "koi8-r", "cp1251", "utf-8-sig", "iso8859-7", "hz",
)  # fmt: skip
_DECLARED: Final = (
    "UTF-8", "utf-16", "ASCII", "us-ascii", "ISO-8859-1", "windows-1252", "x-none", "rot13", "base64", "zlib", "idna",
    "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7", "EBCDIC-CP-US", "cp037", "UCS-4", "UTF-32",
    "hex", "mbcs", "unicode_internal", "UTF8", "utf_8_sig", "Shift_JIS", "gb18030", "hz", "iso2022_jp", "cp65001", "KOI8-R",
    "uu", "charmap", "",
)  # fmt: skip


def _span(rng: Random, data: bytes, longest: int) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(start + 1 + int(rng.random() ** 3 * longest), len(data))


def flip(rng: Random, data: bytes) -> bytes:
    """Flip some bits."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16)) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwrite(rng: Random, data: bytes) -> bytes:
    """Overwrite a few bytes with random ones."""
    start, stop = _span(rng, data, 20)
    return data[:start] + rng.randbytes(stop - start) + data[stop:]


def insert(rng: Random, data: bytes) -> bytes:
    """Insert random bytes, or characters that have a meaning in markup."""
    at = rng.randrange(len(data) + 1)
    added = (
        rng.randbytes(rng.randrange(1, 9))
        if rng.random() < 0.4
        else bytes(rng.choices(b"<>&\"'/;![]-?= \n\t#%x0", k=rng.randrange(1, 9)))
    )
    return data[:at] + added + data[at:]


def delete(rng: Random, data: bytes) -> bytes:
    """Delete a span."""
    start, stop = _span(rng, data, 2000)
    return data[:start] + data[stop:]


def duplicate(rng: Random, data: bytes) -> bytes:
    """Repeat a span once or several times."""
    start, stop = _span(rng, data, 1000)
    return data[:stop] + data[start:stop] * rng.choice((1, 1, 2, 10, 50)) + data[stop:]


def move(rng: Random, data: bytes) -> bytes:
    """Move a span to another position."""
    start, stop = _span(rng, data, 1000)
    rest = data[:start] + data[stop:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + data[start:stop] + rest[at:]


def truncate(rng: Random, data: bytes) -> bytes:
    """Cut off the end, or the beginning."""
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.8 else data[at:]


def invalid(rng: Random, data: bytes) -> bytes:
    """Insert bytes that are not allowed, or unusual, in UTF-8 XML."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_INVALID_UTF8) * rng.choice((1, 1, 1, 5, 300)) + data[at:]


def encoded(rng: Random, data: bytes) -> bytes:
    """Encode the text in another encoding, declared or not."""
    encoding = rng.choice(_ENCODINGS)
    text = data.decode(errors="replace")
    if rng.random() < 0.5:
        text = f'<?xml version="1.0" encoding="{encoding}"?>' + text[text.find("?>") + 2 if text.startswith("<?xml") else 0 :]
    return text.encode(encoding, errors="xmlcharrefreplace" if not encoding.startswith("utf") else "replace")


def declared(rng: Random, data: bytes) -> bytes:
    """Declare an encoding without changing the bytes."""
    rest = data[data.find(b"?>") + 2 :] if data.startswith(b"<?xml") else data
    return f'<?xml version="1.0" encoding="{rng.choice(_DECLARED)}"?>'.encode() + rest


def bom(rng: Random, data: bytes) -> bytes:
    """Prepend one or two byte order marks."""
    return rng.choice(_BOMS) + (rng.choice(_BOMS) if rng.random() < 0.2 else b"") + data


def surrounded(rng: Random, data: bytes) -> bytes:
    """Add something before the beginning or after the end."""
    other = rng.choice((*_SURROUNDINGS, rng.randbytes(8)))
    return other + data if rng.random() < 0.5 else data + other


def other_format(rng: Random, data: bytes) -> bytes:
    """Replace the input by something that is mostly not XML."""
    compressed, hexadecimal = gzip.compress(data[:2000], mtime=0), data.hex().encode()[:5000]
    return rng.choice((compressed, data[::-1], b"", b"%PDF-1.7\n" + data, b"{}", hexadecimal, b"<", b"<a"))


BYTES: Final = (flip, flip, overwrite, insert, insert, delete, delete, duplicate, move, truncate, invalid, invalid, encoded,
                declared, bom, surrounded, other_format)  # fmt: skip

"""Unpack what arXiv gives: a tar archive, compressed or not, one compressed file, or the bare source."""

from __future__ import annotations

import posixpath
import re
import zlib
from contextlib import suppress
from typing import Final

from reflink.errors import NotAPaper, TooLarge
from reflink.limits import Limits

GZIP: Final = b"\x1f\x8b"
_BLOCK: Final = 512
#: Maximum number of members; arXiv's largest archives have some hundreds.
_MAX_MEMBERS: Final = 20_000
#: Endings of members that hold source; names without an ending are source, too.
_SOURCE: Final = (
    ".tex",
    ".ltx",
    ".latex",
    ".bbl",
    ".bib",
    ".sty",
    ".txt",
    ".xxx",
    ".json",
    ".yaml",
    ".yml",
    ".tex_",
    ".cls",
    ".def",
    ".inc",
    ".toplevel",
)
_PAX_PATH: Final = re.compile(rb"(?:^|\n)\d{1,9} path=([^\n]{1,4096})\n")
#: Bytes of a compressed file that are looked at to recognise it.
_HEAD: Final = 1 << 16
#: Unpacked bytes of an archive whose members are looked at to recognise it.
_MAX_SEEN: Final = 1 << 24


def is_tar(data: bytes) -> bool:
    """Return whether the bytes begin with a header of a tar archive."""
    return _checksum(data[:_BLOCK])


def head(data: bytes) -> bytes:
    """Return the first bytes of a compressed file, more of a compressed archive; b"" if it is damaged."""
    unpacker, found = zlib.decompressobj(wbits=31), b""
    with suppress(zlib.error):
        found = unpacker.decompress(data[:_HEAD], _HEAD)
        if is_tar(found):
            found += unpacker.decompress(unpacker.unconsumed_tail + data[_HEAD:], _MAX_SEEN)
    return found


def is_paper(data: bytes) -> bool:
    """Return whether an archive is a paper of LaTeX, or at least holds no papers of other formats."""
    at, foreign = 0, False
    for _ in range(_MAX_MEMBERS):
        header = data[at : at + _BLOCK]
        size = _number(header[124:136])
        if not _checksum(header) or size is None:
            break
        name = _stated(header).lower()
        if name.endswith((b".tex", b".bbl", b".ltx", b".latex")):
            return True
        foreign = foreign or name.endswith(
            (b".xml", b".nxml", b".json", b".xml.gz", b".nxml.gz", b".gz", b".zip", b".bib", b".ris")
        )
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
    return not foreign


def members(data: bytes, name: str, limits: Limits, warnings: list[str]) -> dict[str, bytes]:
    """Return the source files by path within the archive; the path is "" for a single file.

    Links, and paths that lead out of the archive, are ignored. Raises TooLarge (``limits.size``, of the unpacked bytes) and
    NotAPaper.
    """
    if len(data) > limits.size:
        raise TooLarge(f"{name}: {len(data)} bytes, the limit is {limits.size}")
    if data.startswith(GZIP):
        data = _decompressed(data, name, limits, warnings)
    if not is_tar(data):
        return {"": data}
    found = _untarred(data, name, warnings)
    if not any(map(_is_source, found)):
        if any(path.lower().endswith(".pdf") for path in found):
            raise NotAPaper(f"{name}: an archive of PDF without source: convert it with GROBID and send its TEI")
        raise NotAPaper(f"{name}: an archive without LaTeX: {', '.join(list(found)[:5]) or 'empty'}")
    return {path: content for path, content in found.items() if _is_source(path)}


def _decompressed(data: bytes, name: str, limits: Limits, warnings: list[str]) -> bytes:
    parts: list[bytes] = []
    size = 0
    while data.startswith(GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            part = unpacker.decompress(data, limits.size - size + 1)
        except zlib.error as error:
            if not parts and not (part := _salvaged(data, limits.size)):
                raise NotAPaper(f"{name}: damaged gzip data: {error}") from None
            warnings.append("damaged gzip data, read up to the damage")
            parts.append(part if not parts else b"")
            break
        size += len(part)
        if size > limits.size:
            raise TooLarge(f"{name}: unpacks to more than {limits.size} bytes")
        parts.append(part)
        if not unpacker.eof:
            warnings.append("gzip data end early")
            break
        data = unpacker.unused_data
    return b"".join(parts)


def _salvaged(data: bytes, limit: int) -> bytes:
    """Return what damaged data unpack to before the damage."""
    unpacker, parts, size = zlib.decompressobj(wbits=31), [], 0
    for at in range(0, len(data), 1024):
        try:
            part = unpacker.decompress(data[at : at + 1024], limit - size)
        except (zlib.error, ValueError):
            break
        parts.append(part)
        size += len(part)
        if size >= limit:
            break
    return b"".join(parts)


def _untarred(data: bytes, name: str, warnings: list[str]) -> dict[str, bytes]:
    """Return the regular files of a tar archive."""
    found: dict[str, bytes] = {}
    at, long_name, count = 0, b"", 0
    while at + _BLOCK <= len(data) and any(header := data[at : at + _BLOCK]):
        count += 1
        if count > _MAX_MEMBERS:
            raise TooLarge(f"{name}: an archive of more than {_MAX_MEMBERS} members")
        size = _number(header[124:136])
        if not _checksum(header) or size is None:
            warnings.append("damaged archive, read up to the damage")
            break
        content = data[at + _BLOCK : at + _BLOCK + size]
        if len(content) < size:
            warnings.append("the archive ends early")
        kind = header[156:157]
        if kind == b"L":
            long_name = content.rstrip(b"\0")
        elif kind == b"x":
            stated = _PAX_PATH.search(content)
            long_name = stated[1] if stated else long_name
        else:
            if kind in (b"0", b"\0", b"7") and (path := _path(long_name or _stated(header))):
                found[path] = content
            long_name = b""
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
    return found


def _stated(header: bytes) -> bytes:
    own, prefix = header[:100].split(b"\0", 1)[0], header[345:500].split(b"\0", 1)[0]
    return prefix + b"/" + own if header[257:263] == b"ustar\0" and prefix else own


def _path(raw: bytes) -> str:
    """Return a path within the archive; "" if it leads out of it."""
    path = posixpath.normpath(raw.decode("utf-8", "replace").replace("\\", "/"))
    return "" if path.startswith(("/", "../")) or path in (".", "..") else path


def _number(field: bytes) -> int | None:
    """Return a number of a header, in octal digits or, for large ones, in binary."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if not digits.translate(None, b"01234567") else None


def _checksum(header: bytes) -> bool:
    if len(header) < _BLOCK or not header[0]:
        return False
    stated = _number(header[148:156])
    return stated is not None and stated == sum(header) - sum(header[148:156]) + 8 * 32


def _is_source(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return name.endswith(_SOURCE) or "." not in name

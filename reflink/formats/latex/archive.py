"""Unpack what arXiv gives: a tar archive, compressed or not, one compressed file, or the bare source."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from reflink.errors import NotAPaper, ReflinkError, TooLarge
from reflink.limits import Limits
from reflink.storage.archives import Archive
from reflink.storage.decompression import DAMAGED, decompressed

GZIP: Final = b"\x1f\x8b"
#: Maximum number of members; arXiv's largest archives have some hundreds.
_MAX_MEMBERS: Final = 20_000
#: Endings of members that hold source; names without an ending are source, too.
_SOURCE: Final = tuple(".tex .ltx .latex .bbl .bib .sty .txt .xxx .json .yaml .yml .tex_ .cls .def .inc .toplevel".split())
#: Endings of members that only a source of LaTeX has, of articles, and of papers of other formats.
_LATEX: Final = (".tex", ".ltx", ".latex", ".bbl")
_ARTICLES: Final = (".xml", ".nxml", ".xml.gz", ".nxml.gz")
_OTHERS: Final = (".json", ".gz", ".zip", ".bib", ".ris")
#: The folder of an archive of arXiv with files that are not part of the paper.
_ANCILLARY: Final = "anc/"
#: Unpacked bytes that are looked at to recognise compressed data.
_MAX_SEEN: Final = 1 << 24
_STEP: Final = 1 << 16


def is_tar(data: bytes) -> bool:
    """Return whether the bytes begin with a header of a tar archive."""
    try:
        tarfile.TarInfo.frombuf(data[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def head(data: bytes) -> bytes:
    """Return the first bytes of a compressed file, more of a compressed archive; b"" if it is damaged."""
    found = bytearray()
    with suppress(*DAMAGED):
        for part in _parts(data):
            found += part
            if len(found) >= (_MAX_SEEN if is_tar(bytes(found[: tarfile.BLOCKSIZE])) else _STEP):
                break
    return bytes(found)


def is_paper(data: bytes) -> bool:
    """Return whether an archive is the source of one paper, rather than a collection of papers.

    It is one if it has LaTeX and no article in XML. An archive of neither is one too, unless it has papers of other formats, so
    that the error tells why it cannot be read: it may hold a PDF.
    """
    names: list[str] = []

    def note(name: str) -> bool:
        if not name.removeprefix("./").startswith(_ANCILLARY):
            names.append(name.lower())
        return False

    with suppress(ReflinkError):
        for _ in _archive(data, "", note):
            pass
    if any(name.endswith(_ARTICLES) for name in names):
        return False
    return any(name.endswith(_LATEX) for name in names) or not any(name.endswith(_OTHERS) for name in names)


def members(data: bytes, name: str, limits: Limits, warnings: list[str]) -> dict[str, bytes]:
    """Return the source files by path within the archive; the path is "" for a single file.

    Links, and paths that lead out of the archive, are ignored. Of damaged data the files before the damage are read, with a
    warning. Raises TooLarge (``limits.size``, of the unpacked bytes) and NotAPaper.
    """
    if len(data) > limits.size:
        raise TooLarge(f"{name}: {len(data)} bytes, the limit is {limits.size}")
    if data.startswith(GZIP):
        data = _unpacked(data, name, limits, warnings)
    if not is_tar(data):
        return {"": data}
    found: dict[str, bytes] = {}
    seen: list[str] = []

    def is_source(path: str) -> bool:
        if len(seen) >= _MAX_MEMBERS:
            raise TooLarge(f"{name}: an archive of more than {_MAX_MEMBERS} members")
        seen.append(path)
        base = posixpath.basename(path).lower()
        return bool(_path(path)) and (base.endswith(_SOURCE) or "." not in base)

    try:
        for path, content in _archive(data, name, is_source):
            if isinstance(content, bytes):
                found[_path(path)] = content
    except NotAPaper:
        warnings.append("damaged archive, read up to the damage")
    if not found:
        if any(path.lower().endswith(".pdf") for path in seen):
            raise NotAPaper(f"{name}: an archive of PDF without source: convert it with GROBID and send its TEI")
        raise NotAPaper(f"{name}: an archive without LaTeX: {', '.join(seen[:5]) or 'empty'}")
    return found


def _archive(data: bytes, name: str, is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes | ReflinkError]]:
    """Yield path and content of the wanted members. Raises NotAPaper where the archive is damaged."""
    for path, content in Archive(name, io.BufferedReader(io.BytesIO(data))).files(is_wanted, len(data)):
        yield path.removeprefix(f"{name}:"), content


def _parts(data: bytes) -> Iterator[bytes]:
    """Yield the parts of what compressed data unpack to. Raises one of DAMAGED behind the last part that can be unpacked."""
    reader = decompressed(GZIP, io.BytesIO(data))
    while reader is not None and (part := reader.raw.read(_STEP)):
        yield part


def _unpacked(data: bytes, name: str, limits: Limits, warnings: list[str]) -> bytes:
    found = bytearray()
    try:
        for part in _parts(data):
            found += part
            if len(found) > limits.size:
                raise TooLarge(f"{name}: unpacks to more than {limits.size} bytes")
    except DAMAGED as error:
        if not found:
            raise NotAPaper(f"{name}: damaged gzip data: {error}") from None
        warnings.append("damaged gzip data, read up to the damage")
    return bytes(found)


def _path(name: str) -> str:
    """Return a path within the archive; "" if it leads out of it."""
    path = posixpath.normpath(name.replace("\\", "/"))
    return "" if path.startswith(("/", "../")) or path in (".", "..") else path

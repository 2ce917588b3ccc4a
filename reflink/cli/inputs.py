"""Papers from what a user names: XML files, gzipped or not, folders and tar archives of them, and ``-`` for standard input."""

from __future__ import annotations

import argparse
import sys
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from reflink.entities import Paper
from reflink.errors import NotAPaper, ReflinkError, TooLarge
from reflink.jats import Limits, parse

_PAPERS: Final = (".xml", ".nxml", ".xml.gz", ".nxml.gz")
_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")
_GZIP: Final = b"\x1f\x8b"


def add_files(parser: argparse.ArgumentParser) -> None:
    """The FILE arguments of a command that reads papers."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="JATS/NLM XML, .gz or not; a folder or .tar, .tar.gz, .tar.xz of such files; - reads one paper from stdin",
    )


def read_papers(files: list[str]) -> Iterator[tuple[str, Paper | ReflinkError]]:
    """The papers of all files by name, in order; in place of one that cannot be read, the error that says why."""
    limits = Limits()
    for name in files:
        try:
            for member, data in read_contents([name], limits.size):
                yield member, _parse(member, data, limits)
        except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            yield name, NotAPaper(f"{name}: cannot be read: {reason}")


def _parse(name: str, data: bytes | ReflinkError, limits: Limits) -> Paper | ReflinkError:
    if isinstance(data, ReflinkError):
        return data
    try:
        return parse(data, source=_source(name), limits=limits)
    except ReflinkError as error:
        text = str(error)
        return type(error)(text if name in text else f"{name}: {text}")


def _source(name: str) -> str:
    # File names may hold bytes that are no text; an id may not.
    base = PurePosixPath(name).name.encode(errors="backslashreplace").decode()
    return next((base[: -len(suffix)] for suffix in reversed(_PAPERS) if base.lower().endswith(suffix)), base)


def read_contents(files: Iterable[str], limit: int = Limits().size) -> Iterator[tuple[str, bytes | ReflinkError]]:
    """The bytes of all papers by name, decompressed; in place of one that cannot be read, the error that says why.

    Raises OSError or TarError for a name that cannot be opened at all.
    """
    for name in files:
        yield from _contents(name, limit)


def _contents(name: str, limit: int) -> Iterator[tuple[str, bytes | ReflinkError]]:
    if name == "-":
        yield "stdin", _read("stdin", sys.stdin.buffer, limit)
        return
    path = Path(name)
    if path.is_dir():
        paths = sorted(path for path in path.rglob("*") if path.is_file() and _is_paper(path.name))
        if not paths:
            yield name, NotAPaper(f"{name}: no .xml or .nxml file in this folder")
        for path in paths:
            try:
                with path.open("rb") as file:
                    yield str(path), _read(str(path), file, limit)
            except OSError as error:
                yield str(path), NotAPaper(f"{path}: cannot be read: {error.strerror}")
    elif name.lower().endswith(_ARCHIVES):
        # As a stream, so that an archive larger than memory is read in one pass.
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                if member.isfile() and _is_paper(member.name) and (opened := archive.extractfile(member)):
                    yield f"{name}:{member.name}", _read(f"{name}:{member.name}", opened, limit)
    else:
        with path.open("rb") as file:
            yield name, _read(name, file, limit)


def _is_paper(name: str) -> bool:
    return name.lower().endswith(_PAPERS)


def _read(name: str, file: IO[bytes], limit: int) -> bytes | ReflinkError:
    """All bytes, decompressed; one more than the limit is enough to know that it is exceeded."""
    data = file.read(limit + 1)
    if data.startswith(_GZIP):
        decompress = zlib.decompressobj(wbits=31)
        try:
            data = decompress.decompress(data, limit + 1)
        except zlib.error as error:
            return NotAPaper(f"{name}: cannot be decompressed: {error}")
        if len(data) <= limit and not decompress.eof:
            return NotAPaper(f"{name}: cannot be decompressed: it ends early")
    if len(data) > limit:
        return TooLarge(f"{name}: more than {limit} bytes of XML")
    return data


def probability(text: str) -> float:
    """A number above 0 and at most 1. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number above 0 and at most 1")
    return value

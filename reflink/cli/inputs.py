"""Read papers from XML files, gzipped or not, from folders and tar archives of them, and from standard input (``-``)."""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from reflink.cli.archives import Archive
from reflink.cli.folders import open_files
from reflink.entities import Paper
from reflink.errors import NotAPaper, ReflinkError, TooLarge
from reflink.jats import Limits, parse

_PAPERS: Final = (".xml", ".nxml", ".xml.gz", ".nxml.gz")
_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")
_GZIP: Final = b"\x1f\x8b"


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the FILE arguments of a command that reads papers."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="JATS/NLM XML, plain or gzip; a folder or .tar, .tar.gz, .tar.xz of such files; - reads one paper from stdin",
    )
    add_follow_links(parser)


def add_follow_links(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--follow-links`` of a command that reads folders of papers."""
    parser.add_argument(
        "--follow-links",
        action="store_true",
        help="follow symbolic links in folders, also to files outside (default: report each as an error)",
    )


def read_papers(files: Iterable[str], *, follow_links: bool = False) -> Iterator[tuple[str, Paper | ReflinkError]]:
    """Yield the name and paper of each input in order; for an unreadable input the error instead of the paper."""
    limits = Limits()
    for name, data in read_contents(files, limits.size, follow_links=follow_links):
        yield name, _parse(name, data, limits)


def _parse(name: str, data: bytes | ReflinkError, limits: Limits) -> Paper | ReflinkError:
    if isinstance(data, ReflinkError):
        return data
    try:
        return parse(data, source=_source(name), limits=limits)
    except ReflinkError as error:
        text = str(error)
        return type(error)(text if name in text else f"{name}: {text}")


def _source(name: str) -> str:
    # File names may contain bytes that are not valid text; an id may not.
    base = PurePosixPath(name).name.encode(errors="backslashreplace").decode()
    return next((base[: -len(suffix)] for suffix in reversed(_PAPERS) if base.lower().endswith(suffix)), base)


def read_contents(
    files: Iterable[str], limit: int = Limits().size, *, follow_links: bool = False
) -> Iterator[tuple[str, bytes | ReflinkError]]:
    """Yield the name and decompressed bytes of each paper in order; for an unreadable one the error instead of the bytes.

    ``limit``: maximum decompressed bytes of a paper. ``follow_links``: follow symbolic links in folders. A name in ``files``
    may always be a link; links in archives are never followed.
    """
    for name in files:
        try:
            yield from _contents(name, limit, follow_links)
        except ReflinkError as error:
            yield name, error
        except (OSError, EOFError) as error:
            yield name, NotAPaper(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}")


def _contents(name: str, limit: int, follow_links: bool) -> Iterator[tuple[str, bytes | ReflinkError]]:
    path = Path(name)
    if name == "-":
        yield "stdin", _read("stdin", sys.stdin.buffer, limit)
    elif path.is_dir():
        found = False
        for inner, file in open_files(path, _is_paper, follow_links=follow_links):
            found = True
            yield str(inner), file if isinstance(file, ReflinkError) else _read(str(inner), file, limit)
        if not found:
            yield name, NotAPaper(f"{name}: no .xml or .nxml file in this folder")
    elif name.lower().endswith(_ARCHIVES):
        with path.open("rb") as packed:
            archive = Archive(name, packed)
            for member, stored in archive.files(_is_paper, limit + 1):
                if isinstance(stored, ReflinkError):
                    yield member, stored
                    continue
                data = _decompressed(member, stored, limit)
                if stored.startswith(_GZIP):
                    archive.add(limit if isinstance(data, ReflinkError) else len(data))
                yield member, data
    else:
        with path.open("rb") as file:
            yield name, _read(name, file, limit)


def _is_paper(name: str) -> bool:
    return name.lower().endswith(_PAPERS)


def _read(name: str, file: IO[bytes], limit: int) -> bytes | ReflinkError:
    """Return all bytes, decompressed. Reading one byte more than the limit shows that a file exceeds it."""
    try:
        return _decompressed(name, file.read(limit + 1), limit)
    except OSError as error:
        return NotAPaper(f"{name}: cannot be read: {error.strerror}")


def _decompressed(name: str, data: bytes, limit: int) -> bytes | ReflinkError:
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


def absent_share(text: str) -> float | None:
    """Parse a share between 0 and 1, or ``auto``, which is None. Raises ArgumentTypeError."""
    if text == "auto":
        return None
    if (share := probability(text)) == 1:
        raise argparse.ArgumentTypeError(f"{text}: expected auto, or a number above 0 and below 1")
    return share


def probability(text: str) -> float:
    """Parse a number above 0 and at most 1. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number above 0 and at most 1")
    return value

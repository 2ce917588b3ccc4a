"""Read papers of any format: from files, plain or gzip, from folders and tar archives, and from standard input (``-``)."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from reflink.cli.folders import open_files
from reflink.entities import Paper
from reflink.errors import NotAPaper, ReflinkError, TooLarge
from reflink.formats import Content, Options, Parsed, endings, format_named, parse, source_of
from reflink.formats.registry import NAMES
from reflink.limits import Limits
from reflink.storage.archives import Archive
from reflink.storage.decompression import DAMAGED, decompressed

_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")
_GZIP: Final = b"\x1f\x8b"
#: The format whose papers may be archives.
_PACKED: Final = "latex"


@dataclass(frozen=True, slots=True)
class Input:
    """One file that was read: its name, its bytes, and its papers, one in most formats."""

    name: str
    content: Content
    papers: tuple[Parsed, ...]


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the FILE arguments of a command that reads papers."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a paper of any format, plain or gzip; a folder or .tar, .tar.gz, .tar.xz of papers; - reads one paper from stdin",
    )
    add_format(parser)
    add_follow_links(parser)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--from`` of a command that reads papers."""
    parser.add_argument(
        "--from",
        dest="format_name",
        choices=NAMES,
        metavar="FORMAT",
        help=f"format of the files: {', '.join(NAMES)} (default: told by content)",
    )


def add_follow_links(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--follow-links`` of a command that reads folders of papers."""
    parser.add_argument(
        "--follow-links",
        action="store_true",
        help="follow symbolic links in folders, also to files outside (default: report each as an error)",
    )


def read_papers(
    files: Iterable[str], *, follow_links: bool = False, format_name: str | None = None
) -> Iterator[tuple[str, Paper | ReflinkError]]:
    """Yield the name and paper of each input in order; for an unreadable input the error instead of the paper."""
    for name, found in read_inputs(files, follow_links=follow_links, format_name=format_name):
        if isinstance(found, ReflinkError):
            yield name, found
        else:
            for each in found.papers:
                yield name, each.paper


def read_inputs(
    files: Iterable[str], *, follow_links: bool = False, format_name: str | None = None, options: Options | None = None
) -> Iterator[tuple[str, Input | ReflinkError]]:
    """Yield the name and content of each input in order; for an unreadable input the error instead of the content.

    ``format_name``: of all inputs; by default each is told by its content.
    """
    options = options or Options()
    for name, data in read_contents(files, options.limits.size, follow_links=follow_links):
        yield name, data if isinstance(data, ReflinkError) else _parsed(name, data, format_name, options)


def parse_file(
    name: str, stored: bytes, format_name: str | None = None, options: Options | None = None
) -> Input | ReflinkError:
    """Return the content of one file, plain or gzip, given its stored bytes; for an unreadable one the error."""
    options = options or Options()
    data = _decompressed(name, stored, options.limits.size)
    return data if isinstance(data, ReflinkError) else _parsed(name, data, format_name, options)


def _parsed(name: str, data: bytes, format_name: str | None, options: Options) -> Input | ReflinkError:
    content = Content(data, source_of(name))
    try:
        return Input(name, content, parse(content, format_name=format_name, options=options))
    except ReflinkError as error:
        text = str(error)
        return type(error)(text if name in text else f"{name}: {text}")


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
            yield name, NotAPaper(f"{name}: no paper in this folder: no file ends in one of {', '.join(endings())}")
    elif name.lower().endswith(_ARCHIVES) and not _is_one_paper(path, limit):
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
    return name.lower().endswith(endings())


def _is_one_paper(path: Path, limit: int) -> bool:
    """Whether an archive is the source of one paper rather than a collection of papers."""
    return path.stat().st_size <= limit and format_named(_PACKED).recognises(Content(path.read_bytes()))


def _read(name: str, file: IO[bytes], limit: int) -> bytes | ReflinkError:
    """Return all bytes, decompressed. Reading one byte more than the limit shows that a file exceeds it."""
    try:
        return _decompressed(name, file.read(limit + 1), limit)
    except OSError as error:
        return NotAPaper(f"{name}: cannot be read: {error.strerror}")


def _decompressed(name: str, data: bytes, limit: int) -> bytes | ReflinkError:
    if data.startswith(_GZIP) and (reader := decompressed(data[: len(_GZIP)], io.BytesIO(data))) is not None:
        try:
            data = reader.read(limit + 1)
        except DAMAGED as error:
            return NotAPaper(f"{name}: cannot be decompressed: {error}")
    if len(data) > limit:
        return TooLarge(f"{name}: more than {limit} bytes")
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

"""Tar archives that would exhaust memory, that contain links, or that are damaged, are errors in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, islice, repeat
from pathlib import Path

import pytest

from reflink.cli.inputs import read_contents
from reflink.errors import NotAPaper, ReflinkError, TooLarge
from tests.data import ROOT
from tests.reflink.cli.conftest import PAPER

DATA = PAPER.encode()
#: Size of too large headers and members in bytes.
LARGE = 200 * 2**20
#: Bytes that reading may add to the process: buffers, and at most one paper.
ALLOWED = 64 * 2**20

READ = """
import resource, sys
from reflink.cli.inputs import read_contents
from reflink.errors import ReflinkError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name, data in read_contents(sys.argv[1:], 2**20):
    print(type(data).__name__, data if isinstance(data, ReflinkError) else len(data))
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


def member(name: str, data: bytes = DATA, kind: bytes = tarfile.REGTYPE, *, size: int | None = None, **more: object) -> bytes:
    """Return the bytes of one member; ``size``: the size in its header, if not that of the data."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data) if size is None else size
    for key, value in more.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.GNU_FORMAT) + data + b"\0" * (-len(data) % 512)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def plain(path: Path, parts: Iterable[bytes], end: bytes = b"\0" * 1024) -> Path:
    with path.open("wb") as file:
        file.writelines(chain(parts, [end]))
    return path


def packed(path: Path, parts: Iterable[bytes]) -> Path:
    """Write the parts as one gzip stream."""
    with gzip.open(path, "wb", 1) as file:
        file.writelines(parts)
    return path


def packed_each(path: Path, parts: Iterable[bytes]) -> Path:
    """Write each part as a stream of its own, compressed by the suffix, so that equal parts are compressed once."""
    compress = cache(COMPRESS[path.suffix])
    with path.open("wb") as file:
        file.writelines(map(compress, parts))
    return path


def large(header: bytes, unit: bytes = b"a" * 2**20, size: int = LARGE) -> Iterator[bytes]:
    yield member("a.xml")
    yield header
    yield from repeat(unit, size // len(unit))
    yield member("b.xml") + b"\0" * 1024


def sparse() -> Iterator[bytes]:
    """Yield a sparse file in GNU's old format with an endless map."""
    header = bytearray(member("s.xml", b"", tarfile.GNUTYPE_SPARSE))
    header[386:410] = b"%011o\0%011o\0" % (0, 0)
    header[482] = 1
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + sum(header[156:512]) + 8 * 32)
    extended = (b"%011o\0%011o\0" % (0, 1)) * 21 + b"\1" + b"\0" * 7
    return large(bytes(header), extended * 2048)


def pax(kind: bytes, size: int = LARGE) -> bytes:
    return member("PaxHeader", b"", kind, size=size)


HEADERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "a GNU long name": lambda: large(member("././@LongLink", b"", tarfile.GNUTYPE_LONGNAME, size=LARGE)),
    "a GNU long link": lambda: large(member("././@LongLink", b"", tarfile.GNUTYPE_LONGLINK, size=LARGE)),
    "a pax header": lambda: large(pax(tarfile.XHDTYPE)),
    "a global pax header": lambda: large(pax(tarfile.XGLTYPE)),
    "a Solaris pax header": lambda: large(pax(tarfile.SOLARIS_XHDTYPE)),
    "a sparse map": sparse,
    "repeated names": lambda: large(b"", member("././@LongLink", b"x" * 100, tarfile.GNUTYPE_LONGNAME) * 1024),
}


def read(*paths: Path) -> tuple[list[str], int]:
    """Read archives in a process; return its output and the growth of its memory in bytes."""
    done = subprocess.run([sys.executable, "-c", READ, *map(str, paths)], cwd=ROOT, capture_output=True, text=True, check=True)
    *lines, grown = done.stdout.splitlines()
    return lines, int(grown)


@pytest.mark.parametrize("what", HEADERS)
def test_large_headers_are_refused_before_they_are_read(tmp_path: Path, what: str) -> None:
    good = plain(tmp_path / "good.tar", [member("c.xml")])
    lines, grown = read(packed(tmp_path / "papers.tar.gz", HEADERS[what]()), good)
    first, error, last = lines
    assert first == last == f"bytes {len(DATA)}"
    assert error == f"TooLarge {tmp_path / 'papers.tar.gz'}: a member's headers take more than 65536 bytes"
    assert grown < ALLOWED


@pytest.mark.parametrize("suffix", COMPRESS)
def test_an_archive_that_unpacks_to_200_times_its_size_is_refused(tmp_path: Path, suffix: str) -> None:
    size = 2**30
    path = packed_each(tmp_path / f"papers.tar{suffix}", large(member("padding", b"", size=size), size=size))
    lines, grown = read(path, plain(tmp_path / "good.tar", [member("c.xml")]))
    assert lines == [
        f"bytes {len(DATA)}", f"TooLarge {path}: unpacks to more than 200 times its size", f"bytes {len(DATA)}",
    ]  # fmt: skip
    assert grown < ALLOWED


def test_compressed_papers_in_an_archive_count_with_their_unpacked_size(tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * (2**20 + 1))
    path = packed(tmp_path / "papers.tar.gz", (member(f"{number}.xml.gz", bomb) for number in range(400)))
    found = list(read_contents([str(path)], 2**20))
    assert isinstance(found[0][1], TooLarge)
    assert "more than 200 times its size" in str(found[-1][1])
    assert 200 < len(found) < 400


def test_members_and_global_headers_are_not_kept_in_memory(tmp_path: Path) -> None:
    rest = b"x" * (60000 - 21) + b"\n" + b"\0" * 416
    many = (pax(tarfile.XGLTYPE, 60000) + b"60000 comment%06d=" % number + rest + member("x", b"") for number in range(2000))
    lines, grown = read(plain(tmp_path / "papers.tar", chain(many, [member("a.xml")])))
    assert lines == [f"bytes {len(DATA)}"]
    assert grown < ALLOWED


def test_an_xz_header_that_demands_4_gib_is_refused(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(member("a.xml") + b"\0" * 1024))
    size = (data[12] + 1) * 4
    assert data[14:16] == b"\x21\x01"  # LZMA2, and one byte of properties: the dictionary's size
    data[16] = 40  # 4 GiB
    data[12 + size - 4 : 12 + size] = zlib.crc32(data[12 : 12 + size - 4]).to_bytes(4, "little")
    (tmp_path / "papers.tar.xz").write_bytes(data)
    ((_, error),) = read_contents([str(tmp_path / "papers.tar.xz")])
    assert isinstance(error, NotAPaper)
    assert "emory" in str(error)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.GNUTYPE_SPARSE])
@pytest.mark.parametrize("target", ["../../secret", "a.xml", "/etc/hostname", "l.xml"])
def test_a_member_that_is_not_a_file_is_refused_and_the_others_are_read(tmp_path: Path, kind: bytes, target: str) -> None:
    odd = member("l.xml", b"", kind, linkname=target)
    path = plain(tmp_path / "papers.tar", [member("a.xml"), odd, member("link", b"", kind, linkname=target), member("b.xml")])
    found = dict(read_contents([str(path)]))
    refused = found.pop(f"{path}:l.xml")
    assert isinstance(refused, NotAPaper)
    assert f"{path}:l.xml: " in str(refused)
    assert found == {f"{path}:a.xml": DATA, f"{path}:b.xml": DATA}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_concatenated_streams_are_one_archive(tmp_path: Path, suffix: str) -> None:
    whole = member("a.xml") + member("b.xml") + b"\0" * 1024
    path = packed_each(tmp_path / f"papers.tar{suffix}", [whole[:700], whole[700:]])
    assert [data for _, data in read_contents([str(path)])] == [DATA, DATA]


@pytest.mark.parametrize("end", [b"", b"\0" * 512, b"\0" * 10240])
def test_an_archive_ends_with_or_without_zeros(tmp_path: Path, end: bytes) -> None:
    path = plain(tmp_path / "papers.tar", [member("a.xml")], end=end)
    assert [data for _, data in read_contents([str(path)])] == [DATA]


@pytest.mark.parametrize("end", [b"\0" * 100 + b"x", b"no header" * 100, member("b.xml")[:300], member("b.xml")[:700]])
def test_a_cut_or_damaged_archive_is_reported(tmp_path: Path, end: bytes) -> None:
    path = plain(tmp_path / "papers.tar", [member("a.xml")], end=end)
    (_, first), (name, error) = read_contents([str(path)])
    assert first == DATA
    assert name == str(path)
    assert isinstance(error, NotAPaper)
    assert f"{path}: cannot be read: " in str(error)


def records(*lines: bytes) -> bytes:
    """Return a pax header of these lines, then a paper."""
    data = b"".join(lines)
    return member("PaxHeader", data, tarfile.XHDTYPE) + member("p.xml")


@pytest.mark.parametrize(
    "odd",
    [
        records(b"9" * 5000 + b" size=1\n"),
        records(b"12 size=-20\n"),
        records(b"13 size=9e99\n"),
        records(b"9 size=x\n"),
        records(b"22 GNU.sparse.major=1\n", b"22 GNU.sparse.minor=0\n", b"26 GNU.sparse.realsize=9\n"),
        records(b"22 GNU.sparse.major=0\n", b"22 GNU.sparse.minor=1\n", b"23 GNU.sparse.map=5,x\n"),
        member("n.xml", b"", size=-1),
    ],
)  # fmt: skip
def test_an_exception_of_tarfile_becomes_an_error_of_reflink(tmp_path: Path, odd: bytes) -> None:
    path = plain(tmp_path / "papers.tar", [member("a.xml"), odd])
    found = list(read_contents([str(path)]))
    assert found[0] == (f"{path}:a.xml", DATA)
    assert all(isinstance(data, bytes | ReflinkError) for _, data in found)


def test_damaged_archives_give_papers_and_errors_only(tmp_path: Path) -> None:
    """Change bytes of plain and of compressed archives."""
    draw = random.Random(17)
    good = b"".join([
        member("a.xml"), member("././@LongLink", b"d/" * 100 + b"l.xml\0", tarfile.GNUTYPE_LONGNAME), member("short.xml"),
        records(b"19 path=d/other.xml\n"), *islice(sparse(), 1, 2), b"\0" * 1024,
    ])  # fmt: skip
    path = tmp_path / "papers.tar"
    for whole in (good, *(compress(good) for compress in COMPRESS.values())):
        for _ in range(150):
            damaged = bytearray(whole)
            for _ in range(draw.choice((1, 1, 2, 8))):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            path.write_bytes(damaged[: draw.choice((len(damaged), draw.randrange(len(damaged))))])
            assert all(isinstance(data, bytes | ReflinkError) for _, data in read_contents([str(path)]))

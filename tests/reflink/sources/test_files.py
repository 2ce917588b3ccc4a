"""Files are found in order, opened in any compression, and read from archives whatever these hold."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.files import found, lines, opened
from reflink.sources.members import read_members
from reflink.sources.source import SourceFile
from tests.profiles import examples
from tests.reflink.sources.strategies import until_fault

COMPRESS = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress,
            "zstandard": zstandard.ZstdCompressor().compress}  # fmt: skip


def names(*paths: Path) -> list[str]:
    return [file.name for file in found(paths, lambda name: name.endswith(".json"), "tests")]


def read(path: Path) -> Iterator:
    """Yield the lines of a file or of the members of an archive."""

    def of_content(content, name):
        yield from (each if isinstance(each, BadRecord) else (name, each[1].strip()) for each in lines(content, name, 100))

    return read_members(SourceFile(path, path.name), lambda name: name.endswith(".txt"), of_content)


def archive(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_files_are_in_natural_order_and_named_from_the_folder(tmp_path):
    for name in ("b/2.json", "b/10.json", "a9.json", "a10.json", "other.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert names(tmp_path) == ["a9.json", "a10.json", "b/2.json", "b/10.json"]
    assert names(tmp_path / "other.txt", tmp_path / "b") == ["other.txt", "2.json", "10.json"]
    os.utime(tmp_path / "a9.json", ns=(0, 1_700_000_000_123_456_789))
    assert found([tmp_path / "a9.json"], str, "tests")[0].version == 1_700_000_000_123
    with pytest.raises(BadDump, match="no file of tests"):
        names()


@pytest.mark.parametrize("compress", COMPRESS.values(), ids=COMPRESS)
def test_files_of_every_compression_are_opened(compress, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(compress(b"one\ntwo\n"))
    with opened(path) as content:
        assert content.read() == b"one\ntwo\n"


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz", "zstandard"])
def test_a_truncated_file_of_every_compression_is_damaged(name, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(COMPRESS[name](os.urandom(10_000).hex().encode())[:-8])
    with pytest.raises(DamagedFile, match="truncated or damaged"), opened(path) as content:
        content.read()


def test_a_line_that_is_too_long_costs_only_itself():
    first, bad, worse, last = lines(io.BytesIO(b"1234\n\n123456789\n12345\n12"), "f", 4)
    assert (first, last) == ((1, b"1234\n"), (5, b"12"))
    assert [str(bad), str(worse)] == ["f:3: longer than 4 bytes", "f:4: longer than 4 bytes"]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_members_of_archives_are_read_in_order(mode, tmp_path):
    path = archive(tmp_path / "x.tar", {"a/1.txt": b"one\n", "2.txt": gzip.compress(b"two\n"), "no.csv": b"no\n"}, mode)
    assert list(read(path)) == [("x.tar:a/1.txt", b"one"), ("x.tar:2.txt", b"two")]


def test_links_and_devices_in_an_archive_are_reported(tmp_path):
    path = archive(tmp_path / "x.tar", {"1.txt": b"one\n"})
    with tarfile.open(path, "a") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo("link.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
    first, *others = read(path)
    assert first == ("x.tar:1.txt", b"one")
    assert [str(each) for each in others] == ["x.tar:link.txt: not a regular file, which is not read from an archive"] * 3


def test_a_header_of_many_megabytes_is_refused(tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("1.txt")
        info.pax_headers = {"comment": "x" * (4 << 20)}
        tar.addfile(info)
    with pytest.raises(DamagedFile, match="a header of"):
        list(read(path))


@settings(max_examples=examples(100))
@given(st.integers(0, 4000), st.binary(min_size=1, max_size=20))
def test_a_damaged_archive_gives_records_and_faults(tmp_path_factory, at, junk):
    path = archive(tmp_path_factory.mktemp("tar") / "x.tar", {"1.txt": b"one\n", "2.txt": gzip.compress(b"two\n")})
    data = bytearray(path.read_bytes())
    data[at : at + len(junk)] = junk
    path.write_bytes(data)
    _, fault = until_fault(read(path))
    assert fault is None or isinstance(fault, DamagedFile)

import bz2
import contextlib
import gzip
import io
import lzma
from random import Random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.storage.decompression import DAMAGED, decompressed
from tests.profiles import examples

COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstandard": zstandard.ZstdCompressor().compress}


def content(data: bytes) -> io.BufferedReader:
    found = decompressed(data[:6], io.BytesIO(data))
    assert found is not None
    return found


@pytest.mark.parametrize("compress", COMPRESS.values(), ids=COMPRESS)
@settings(max_examples=examples(40))
@given(parts=st.lists(st.binary(min_size=1, max_size=400_000), min_size=1, max_size=3))
def test_concatenated_streams_give_their_content(compress, parts):
    assert content(b"".join(map(compress, parts))).read() == b"".join(parts)


@pytest.mark.parametrize("compress", COMPRESS.values(), ids=COMPRESS)
def test_a_truncated_file_gives_what_is_before_the_end(compress):
    data = Random(1).randbytes(2_000_000).hex().encode()
    packed = compress(data)
    file, parts = content(packed[: len(packed) * 9 // 10]), list[bytes]()
    with pytest.raises(DAMAGED):
        parts.extend(iter(lambda: file.read1(1 << 16), b""))
    found = b"".join(parts)
    assert data.startswith(found)
    assert len(found) > len(data) // 2


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_changed_byte_is_noticed(compress):
    packed = bytearray(compress(b"".join(b"%d " % number for number in range(20_000))))
    packed[len(packed) // 2] ^= 1
    with pytest.raises(DAMAGED):
        content(bytes(packed)).read()


@settings(max_examples=examples(200))
@given(st.sampled_from([b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"]), st.binary(max_size=100))
def test_any_bytes_end_or_are_damaged(magic, rest):
    with contextlib.suppress(*DAMAGED):
        content(magic + rest).read()


def test_a_small_file_with_much_content_is_read_in_parts():
    file = content(zstandard.ZstdCompressor(19).compress(bytes(1 << 28)))
    sizes = list(map(len, iter(lambda: file.read1(1 << 20), b"")))
    assert sum(sizes) == 1 << 28
    assert max(sizes) <= 1 << 20


def test_other_files_are_not_compressed():
    assert decompressed(b'{"a":1', io.BytesIO()) is None
    assert decompressed(b"", io.BytesIO()) is None

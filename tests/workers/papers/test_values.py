"""The value of a record of ``papers``: a compressed paper, or a pointer to a file."""

from __future__ import annotations

import gzip
import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from reflink.errors import BadRecord, NotAPaper, ReflinkError, TooLarge
from schemas import PaperPointer
from tests.workers.papers.test_stage import CITING, XML, record, stage
from workers.papers.stage import decompress, fetch

# Compression


@pytest.mark.parametrize(
    ("encoding", "value"),
    [
        ("identity", XML),
        ("gzip", gzip.compress(XML)),
        ("zstd", zstandard.compress(XML)),
        ("zstd", zstandard.ZstdCompressor(write_content_size=False).compress(XML)),
        ("zstd", zstandard.compress(XML[:100]) + zstandard.compress(XML[100:])),
        ("gzip", gzip.compress(XML[:100]) + gzip.compress(XML[100:])),
    ],
)
def test_each_encoding_is_read(encoding: str, value: bytes):
    assert stage().decode(record(value, encoding=encoding)) == stage().decode(record(XML))


def test_no_header_means_identity():
    with pytest.raises(NotAPaper):
        stage().decode(record(gzip.compress(XML)))


def test_an_empty_encoding_is_equivalent_to_no_header():
    assert stage().decode(record(encoding=""))[0].citing == CITING


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "brotli", "GZIP"])
def test_a_wrong_encoding_is_rejected(encoding: str):
    with pytest.raises(BadRecord, match="reflink-encoding"):
        stage().decode(record(encoding=encoding))


LONG = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(20_000))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.999])
def test_a_truncated_value_is_rejected(encoding: str, kept: float):
    whole = gzip.compress(LONG) if encoding == "gzip" else zstandard.ZstdCompressor(write_content_size=False).compress(LONG)
    assert decompress(whole, encoding, len(LONG)) == LONG
    with pytest.raises(BadRecord, match=f"is {encoding}, but the value is not"):
        decompress(whole[: int(len(whole) * kept)], encoding, len(LONG))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@given(data=st.binary(min_size=1, max_size=200))
def test_any_bytes_are_a_paper_or_a_named_error(encoding: str, data: bytes):
    with pytest.raises(ReflinkError):
        stage().decode(record(data, encoding=encoding))


@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
def test_a_paper_above_the_limit_of_bytes_is_rejected(encoding: str):
    data = {"identity": LONG, "gzip": gzip.compress(LONG), "zstd": zstandard.compress(LONG)}[encoding]
    assert decompress(data, encoding, len(LONG)) == LONG
    with pytest.raises(TooLarge, match="REFLINK_MAX_PAPER_BYTES"):
        decompress(data, encoding, len(LONG) - 1)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_decompression_bomb_is_not_unpacked(encoding: str):
    size, limit = 200_000_000, 1_000_000
    if encoding == "zstd":
        packer = zstandard.ZstdCompressor(level=1).compressobj()
        bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(size // 1_000_000)) + packer.flush()
    else:
        bomb = gzip.compress(bytes(size // 10), 1) * 10
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decompress(bomb, encoding, limit)
        assert tracemalloc.get_traced_memory()[1] < 20 * limit
    finally:
        tracemalloc.stop()


# Pointers


def pointer_to(path: str, data: bytes, **changes: object) -> PaperPointer:
    digest = hashlib.sha256(data).hexdigest()
    return PaperPointer.from_dict({"schema_version": 1, "path": path, "sha256": digest, "size": len(data), **changes})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.xml").write_bytes(XML)
    (tmp_path / "secret.xml").write_bytes(XML)
    (tmp_path / "papers-too").mkdir()
    (tmp_path / "papers-too" / "b.xml").write_bytes(XML)
    return folder


def test_a_pointer_is_replaced_by_its_file_in_the_given_encoding(root: Path):
    packed = zstandard.compress(XML)
    (root / "b.zst").write_bytes(packed)
    parser = stage(pointer_root=root)
    plain = parser.decode(record(pointer_to("in/a.xml", XML).to_json(), content="pointer"))
    zipped = parser.decode(record(pointer_to("b.zst", packed).to_json(), content="pointer", encoding="zstd"))
    assert plain == zipped == parser.decode(record())


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("../secret.xml", None),
        ("in/../../secret.xml", None),
        ("../papers-too/b.xml", None),
        ("{parent}/secret.xml", None),
        ("link", "{parent}/secret.xml"),
        ("link/secret.xml", "{parent}"),
    ],
)
def test_a_pointer_that_leaves_the_root_is_rejected(root: Path, path: str, link: str | None):
    if link is not None:
        (root / "link").symlink_to(link.format(parent=root.parent))
    with pytest.raises(BadRecord, match="leaves the allowed root"):
        fetch(pointer_to(path.format(parent=root.parent), XML), root, 10**6)


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path):
    (tmp_path / "mounted").symlink_to(root)
    assert fetch(pointer_to("in/a.xml", XML), tmp_path / "mounted", 10**6) == XML


@pytest.mark.parametrize("changes", [{"sha256": "0" * 64}, {"size": len(XML) + 1}, {"size": 0}])
def test_a_file_that_differs_from_its_pointer_is_rejected(root: Path, changes: dict):
    with pytest.raises(BadRecord, match="size and SHA-256"):
        fetch(pointer_to("in/a.xml", XML, **changes), root, 10**6)


@pytest.mark.parametrize("path", ["gone.xml", "in", "in/a.xml/x", "", "a\x00b", "x" * 300])
def test_a_pointer_to_no_file_is_rejected(root: Path, path: str):
    size = (root / path).stat().st_size if path in ("in", "") else len(XML)
    with pytest.raises(BadRecord, match="pointer"):
        fetch(pointer_to(path, XML, size=size), root, 10**6)


def test_without_a_root_pointers_are_rejected():
    with pytest.raises(BadRecord, match="REFLINK_POINTER_ROOT"):
        stage().decode(record(pointer_to("a", XML).to_json(), content="pointer"))


def test_a_fifo_is_rejected_without_waiting(root: Path):
    os.mkfifo(root / "pipe")
    with pytest.raises(BadRecord):
        fetch(pointer_to("pipe", b""), root, 10**6)


def test_links_in_a_circle_are_rejected(root: Path):
    (root / "a").symlink_to(root / "b")
    (root / "b").symlink_to(root / "a")
    with pytest.raises(BadRecord, match="pointer 'a'"):
        fetch(pointer_to("a", XML), root, 10**6)


def test_a_file_above_the_limit_is_not_read(root: Path):
    assert fetch(pointer_to("in/a.xml", XML), root, len(XML)) == XML
    with pytest.raises(TooLarge, match="REFLINK_MAX_PAPER_BYTES"):
        fetch(pointer_to("in/a.xml", XML), root, len(XML) - 1)

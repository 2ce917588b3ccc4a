"""The name, length and checksum of RocksDB's list of files, which detect that the list lost its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.ledger.stores.rocksdb_manifest import FileList


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "CURRENT").write_text("MANIFEST-000005\n")
    (tmp_path / "MANIFEST-000005").write_bytes(b"one two ")
    return tmp_path


def test_a_list_that_grew_extends_its_state_and_a_truncated_list_does_not(folder: Path) -> None:
    files, path = FileList(folder), folder / "MANIFEST-000005"
    first = files.state()
    path.write_bytes(b"one two three ")
    second = files.state()
    assert first.split()[:2] == [b"MANIFEST-000005", b"8"]
    assert second.split()[:2] == [b"MANIFEST-000005", b"14"]
    for content, holds in ((b"one two three four", True), (b"one two thre", False), (b"one two threX ", False), (b"", False)):
        path.write_bytes(content)
        assert FileList(folder).extends(second) == holds
    path.write_bytes(b"one two")
    assert not FileList(folder).extends(first)


def test_the_state_of_a_former_list_is_accepted(folder: Path) -> None:
    files = FileList(folder)
    state = files.state()
    (folder / "MANIFEST-000009").write_bytes(b"anew")
    (folder / "CURRENT").write_text("MANIFEST-000009\n")
    assert FileList(folder).extends(state)
    assert files.state().startswith(b"MANIFEST-000009 4 ")


def test_an_unchanged_list_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    before = FileList._read
    monkeypatch.setattr(FileList, "_read", lambda files, start: read.append(start) or before(files, start))
    files, path = FileList(folder), folder / "MANIFEST-000005"
    first = files.state()
    assert files.state() == first
    begun = len(read)
    assert [files.state() for _ in range(5)] == [first] * 5
    assert len(read) == begun
    path.write_bytes(b"one two three ")
    assert files.state().split()[1] == b"14"
    assert read[begun:] == [8]
    (folder / "MANIFEST-000009").write_bytes(b"ONE TWO THREE ")  # of the same length as the other file
    (folder / "next").write_text("MANIFEST-000009\n")
    (folder / "next").replace(folder / "CURRENT")
    assert files.state().startswith(b"MANIFEST-000009 14 ")
    path.unlink()
    (folder / "MANIFEST-000009").unlink()
    assert files.state() == b""


def test_the_state_is_empty_without_a_list(tmp_path: Path) -> None:
    files = FileList(tmp_path)
    assert files.state() == b""
    assert files.extends(b"")


@pytest.mark.parametrize("length", [0, 1, 300, 32742, 32743, 32744, 32748, 32749, 32750, 32754])
@pytest.mark.parametrize(("type_", "readable"), [(4, True), (5, False), (8, False), (9, True)])
def test_a_list_with_a_record_type_of_no_valid_list_cannot_be_read(
    folder: Path, length: int, type_: int, readable: bool
) -> None:
    """The second record begins in the first block, or in the second one if less than a header is left of the first."""
    content = record(1, length)
    if (left := 32768 - len(content)) < 7:
        content += bytes([5]) * left
    (folder / "MANIFEST-000005").write_bytes(content + record(type_, 0))
    assert FileList(folder).can_be_read() is readable


def record(type_: int, length: int) -> bytes:
    """Return a record whose checksum and content resemble types of no valid list."""
    return bytes([5]) * 4 + length.to_bytes(2, "little") + bytes([type_]) + bytes([5]) * length

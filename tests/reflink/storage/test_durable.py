"""A file is complete under its name, or the previous file remains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflink.storage import durable


def test_a_file_replaces_the_previous_one(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with durable.replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old", "readers do not see a part of it"
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_an_error_keeps_the_previous_file(tmp_path: Path):
    path, partial = tmp_path / "a", tmp_path / "mine"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), durable.replacing(path, partial) as file:
        file.write("text")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert partial.exists()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the calls that make names and contents durable, with the name of the file."""
    found: list[str] = []
    monkeypatch.setattr("os.fsync", lambda file: found.append(f"fsync {Path(os.readlink(f'/proc/self/fd/{file}')).name}"))
    monkeypatch.setattr("os.replace", lambda _, path: found.append(f"replace {Path(path).name}"))
    return found


def test_the_content_is_flushed_before_the_name(tmp_path: Path, calls: list[str]):
    durable.write(tmp_path / "a", b"new")
    assert calls == ["fsync a.partial", "replace a", f"fsync {tmp_path.name}"]


def test_a_tree_is_flushed_from_its_files_to_its_own_name(tmp_path: Path, calls: list[str]):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a").touch()
    durable.sync_tree(tmp_path)
    assert sorted(calls[:-1]) == ["fsync a", "fsync inner"]
    assert calls[-1] == f"fsync {tmp_path.name}"

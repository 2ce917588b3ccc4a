"""Compressed lines are read again by row, in any order and from several threads; damaged files are refused."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import UnusableSnapshot
from reflink.storage.compressed_lines import CompressedLines, LinesWriter
from tests.profiles import examples


def written(lines: list[bytes], path: Path) -> CompressedLines:
    writer = LinesWriter(path)
    for line in lines:
        writer.append(line)
    return writer.finish()


def many() -> list[bytes]:
    """Lines that repeat words, enough of them for a dictionary."""
    draw = np.random.default_rng(5)
    words = [bytes(draw.integers(97, 123, 8).tolist()) for _ in range(2000)]
    return [b" ".join(words[each] for each in row) for row in draw.zipf(1.3, (40_000, 12)) % 2000]


@settings(max_examples=examples(100))
@given(lines=st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"")), max_size=30), data=st.data())
def test_lines_are_read_by_row(lines: list[bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = written(lines, Path(folder, "lines"))
        assert len(found) == len(lines)
        again = CompressedLines.open(Path(folder, "lines"), found.arrays(), len(lines))
        for row in data.draw(st.permutations(range(len(lines)))):
            assert found[row] == again[row] == lines[row]
        for row in (-1, len(lines)):
            with pytest.raises(IndexError):
                found[row]


def test_many_lines_share_a_dictionary_and_several_threads_read_them(tmp_path: Path) -> None:
    lines = many()
    found = written(lines, tmp_path / "lines")
    assert len(found.dictionary) > 8192
    assert (tmp_path / "lines").stat().st_size < 0.6 * sum(map(len, lines))
    rows = np.random.default_rng(6).integers(0, len(lines), (8, 3000)).tolist()
    with ThreadPoolExecutor(8) as threads:
        for drawn, read in zip(rows, threads.map(lambda rows: [found[row] for row in rows], rows), strict=True):
            assert read == [lines[row] for row in drawn]


def test_lines_too_alike_for_a_dictionary_are_read_again(tmp_path: Path) -> None:
    found = written([b"x" * 1000] * 5000, tmp_path / "lines")
    assert {found[row] for row in range(5000)} == {b"x" * 1000}


def test_a_mapped_file_is_not_overwritten(tmp_path: Path) -> None:
    first = written([b"old"], tmp_path / "lines")
    second = written([b"new", b"newer"], tmp_path / "lines")
    assert (first[0], second[0], second[1]) == (b"old", b"new", b"newer")


@pytest.mark.parametrize(("lines", "cut"), [(9, 1), (9, 12), (0, -1), (1, 0)])
def test_a_file_of_another_length_or_number_of_lines_is_refused(tmp_path: Path, lines: int, cut: int) -> None:
    path = tmp_path / "lines"
    arrays = written([b"line"] * lines, path).arrays()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - cut] if cut >= 0 else content + b"!")
    with pytest.raises(UnusableSnapshot, match="do not fit"):
        CompressedLines.open(path, arrays, lines if cut else lines + 4)


def test_a_damaged_block_is_refused_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    arrays = written([b"line %d" % number for number in range(8)], path).arrays()
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    found = CompressedLines.open(path, arrays, 8)
    assert found[7] == b"line 7"
    with pytest.raises(UnusableSnapshot, match="copy it again or build it again"):
        found[0]

"""Several processes share a cache of vectors without losing, mixing or repeating rows."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.vectors import CachedEncoder
from tests.profiles import examples
from tests.reflink.catalog.works_of import DIM, FakeEncoder

_BATCH = 7


def _check(cache: CachedEncoder, texts: Sequence[str]) -> None:
    np.testing.assert_allclose(cache.encode(texts), FakeEncoder().encode(texts), atol=1e-3)


def _sizes(folder: Path) -> tuple[int, int]:
    return next(folder.glob("*.keys")).stat().st_size, next(folder.glob("*.f16")).stat().st_size


def _text(n: int) -> str:
    return f"text {n}"


def _add_in_batches(folder: Path, first: int, step: int, end: int) -> None:
    """Encode texts in another process, once the file ``go`` exists."""
    cache = CachedEncoder(FakeEncoder(), folder)
    (folder / f"ready{first}").touch()
    while not (folder / "go").exists():
        time.sleep(0.001)
    for start in range(first, end, step):
        cache.encode([_text(n) for n in range(start, start + _BATCH)])
    _check(cache, [_text(n) for start in range(first, end, step) for n in range(start, start + _BATCH)])


def _started(folder: Path, first: int, step: int, end: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-m", __name__, str(folder), str(first), str(step), str(end)])
    while not (folder / f"ready{first}").exists():
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_two_processes_add_to_a_cache_at_the_same_time(tmp_path: Path) -> None:
    end = 900
    both = [_started(tmp_path, first, 3, end) for first in (0, 1)]  # their batches overlap
    (tmp_path / "go").touch()
    assert [process.wait(60) for process in both] == [0, 0]
    cache = CachedEncoder(FakeEncoder(), tmp_path)
    texts = [_text(n) for n in range(end)]
    _check(cache, texts)
    assert len(cache) == len({_text(n) for first in (0, 1) for at in range(first, end, 3) for n in range(at, at + _BATCH)})
    assert _sizes(tmp_path) == (16 * len(cache), 2 * DIM * len(cache))


def test_a_text_added_by_another_process_is_not_encoded_again(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    mine = CachedEncoder(encoder, tmp_path)
    _check(mine, [_text(0)])
    (tmp_path / "go").touch()
    assert _started(tmp_path, 1, _BATCH, 50).wait(60) == 0
    _check(mine, [_text(n) for n in range(50)])
    assert encoder.encoded == [_text(0)]


def test_all_vectors_are_right_after_a_process_was_killed(tmp_path: Path) -> None:
    for turn in range(3):
        first = turn * 1_000_000
        process = _started(tmp_path, first, _BATCH, first + 900_000)
        (tmp_path / "go").touch()
        before = len(CachedEncoder(FakeEncoder(), tmp_path))
        while len(CachedEncoder(FakeEncoder(), tmp_path)) < before + 200:
            assert process.poll() is None
        process.kill()
        process.wait()
        (tmp_path / "go").unlink()
        cache = CachedEncoder(FakeEncoder(), tmp_path)
        _check(cache, [_text(at + n) for at in range(0, first + 1, 1_000_000) for n in range(300)])
        _check(cache, [_text(first + 999_999)])  # this addition removes a half-written row
        assert _sizes(tmp_path) == (16 * len(cache), 2 * DIM * len(cache))


@settings(max_examples=examples(30))
@given(keys=st.integers(0, 40), vectors=st.integers(0, 40))
def test_a_reader_changes_nothing_and_the_next_addition_repairs(tmp_path_factory: object, keys: int, vectors: int) -> None:
    folder = tmp_path_factory.mktemp("torn")  # type: ignore[attr-defined]
    _check(CachedEncoder(FakeEncoder(), folder), ["a", "b"])
    for pattern, more in (("*.keys", keys), ("*.f16", max(vectors, keys))):
        with next(folder.glob(pattern)).open("ab") as file:
            file.write(bytes(range(100, 100 + more)))  # as if half written: never more keys than vectors
    torn = _sizes(folder)
    reader, encoder = CachedEncoder(FakeEncoder(), folder), FakeEncoder()
    _check(reader, ["b", "a"])
    assert _sizes(folder) == torn
    writer = CachedEncoder(encoder, folder)
    _check(writer, ["a", "c", "b"])
    assert encoder.encoded == ["c"]
    _check(reader, ["c", "b", "a"])
    assert _sizes(folder) == (16 * len(writer), 2 * DIM * len(writer))


def test_a_text_is_encoded_once_and_again_if_its_vector_is_cut_off(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    first = CachedEncoder(encoder, tmp_path).encode(["a b", "c", "a b"])
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_allclose(first, FakeEncoder().encode(["a b", "c", "a b"]), atol=1e-3)
    assert encoder.encoded == ["a b", "c"]
    vectors = next(tmp_path.glob("*.f16"))
    vectors.write_bytes(vectors.read_bytes()[:-5])
    again = CachedEncoder(encoder, tmp_path)
    assert len(again) == 1
    np.testing.assert_array_equal(again.encode(["c", "a b", "d"])[:2], first[[1, 0]])
    assert encoder.encoded == ["a b", "c", "c", "d"]
    assert again.encode([]).shape == (0, DIM)


def test_a_deleted_cache_is_filled_again(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    cache = CachedEncoder(encoder, tmp_path)
    _check(cache, ["a", "b"])
    for path in (*tmp_path.glob("*.keys"), *tmp_path.glob("*.f16")):
        path.unlink()
    _check(cache, ["b", "a", "c"])
    assert encoder.encoded == ["a", "b", "b", "a", "c"]


if __name__ == "__main__":
    _add_in_batches(Path(sys.argv[1]), *map(int, sys.argv[2:5]))

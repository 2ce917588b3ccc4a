"""An index stored in a folder survives kills and full disks; a damaged folder is refused."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflink.errors import SnapshotError, UnusableSnapshot
from reflink.lexical import LexicalIndex
from reflink.lexical.segments import growth
from reflink.lexical.segments.storage import CURRENT
from tests.killing import kills
from tests.profiles import examples
from tests.reflink.lexical.plain import brute

ids = st.sampled_from([f"doi:10.{n}" for n in range(12)])
batch = st.lists(st.tuples(ids, st.text(alphabet="ab ", max_size=9)), max_size=8)
operations = st.lists(st.tuples(st.sampled_from(["add", "remove", "flush", "reopen", "settle"]), batch), max_size=10)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder in memory if the machine has one, because hundreds of writers flush their files to it."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        yield Path(place)


@pytest.mark.usefixtures("laid_out")
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations, st.lists(st.text(alphabet="ab ", max_size=9), max_size=3), st.integers(0, 6))
def test_opening_restores_the_state_of_the_last_flush(
    monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, list[tuple[str, str]]]], queries: list[str], at_once: int
) -> None:
    monkeypatch.setattr(growth, "AT_ONCE", at_once)
    with tempfile.TemporaryDirectory() as place:
        index, now, flushed = LexicalIndex.living(place, "T"), dict[str, str](), dict[str, str]()
        for what, pairs in steps:
            if what == "add":
                index.add([id_ for id_, _ in pairs], [text for _, text in pairs])
                now.update(pairs)
            elif what == "remove":
                index.remove([id_ for id_, _ in pairs])
                now = {id_: text for id_, text in now.items() if id_ not in dict(pairs)}
            elif what == "flush":
                index.flush()
                flushed = dict(now)
            elif what == "settle":
                index.settle()
            else:
                index.settle()  # one process at a time
                index, now = LexicalIndex.living(place, "T", verify=True), dict(flushed)
            assert len(index) == len(now)
            assert list(index.search(queries, 4)) == [brute(now, query, 4) for query in queries]
        index.settle()


@pytest.mark.full
def test_a_killed_writer_leaves_either_the_old_or_the_new_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "AT_ONCE", 10**9)  # a thread would not live in a forked child
    place, template = folder / "index", folder / "template"
    index = LexicalIndex.living(template, "T")
    index.add(["a", "b"], ["old soil", "old water"])
    index.flush()

    def prepare() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)

    def write() -> None:
        index = LexicalIndex.living(place, "T")
        index.add(["b", "c"], ["new water", "new air"])
        index.flush()

    found: Counter[tuple[str | None, ...]] = Counter()
    for kill in kills(prepare, write):
        index = LexicalIndex.living(place, "T", verify=True)
        hits = index.search(["new air", "old water", "new water"], 1, 1.0).ids[:, 0].tolist()
        assert hits in ([None, "b", None], ["c", None, "b"]), kill
        assert len(index) == (3 if hits[0] else 2)
        found[tuple(hits)] += 1
        left = {path.name for path in place.iterdir()}
        index.flush()
        assert len(LexicalIndex.living(place, "T")) == len(index), left
    assert len(found) == 2
    assert sum(found.values()) > 40


def test_leftovers_are_removed_and_merges_write_segments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "AT_ONCE", 0)
    index = LexicalIndex.living(folder, "T")
    for at in range(9):
        index.add([f"{at}"], [f"soil {at}"])
        index.settle()
    assert any(part.segment.layout.codes.flags.owndata is False for part in index._growth.parts)
    assert not (folder / CURRENT).exists()
    index.flush()
    assert len(LexicalIndex.living(folder, "T")) == 9
    (folder / "segment-000999").mkdir()
    (folder / "not ours").mkdir()
    assert len(LexicalIndex.living(folder, "T")) == 9
    assert not (folder / "segment-000999").exists()
    assert (folder / "not ours").exists()


def test_a_damaged_folder_is_refused(folder: Path) -> None:
    index = LexicalIndex.living(folder, "T")
    index.add(["a", "b", "c"], ["soil", "water", "air and soil"])
    index.remove(["b"])
    index.flush()
    with pytest.raises(SnapshotError, match="made for mode 'T', not 'Raw'"):
        LexicalIndex.living(folder, "Raw")
    state = (folder / CURRENT).read_text()
    for content, reason in (("", "names no state"), ("../x", "names no state"), ("state-000777", "not a saved")):
        (folder / CURRENT).write_text(content)
        with pytest.raises(UnusableSnapshot, match=reason):
            LexicalIndex.living(folder, "T")
        assert (folder / state).exists(), "a state was removed that was not replaced"
    (folder / CURRENT).write_text(state)
    segment = next(folder.glob("segment-*"))
    codes = segment / "codes.npy"
    content = codes.read_bytes()
    codes.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UnusableSnapshot, match=r"codes\.npy: its content has changed"):
        LexicalIndex.living(folder, "T", verify=True)
    os.truncate(codes, len(content) - 2)
    with pytest.raises(UnusableSnapshot, match=r"codes\.npy: \d+ bytes instead of"):
        LexicalIndex.living(folder, "T")


def test_a_full_disk_raises_an_error_and_loses_no_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "AT_ONCE", 0)
    index = LexicalIndex.living(folder, "T")
    index.add(["a"], ["soil"])
    index.flush()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("reflink.lexical.segments.storage.flatfiles.save", full)
        index.add(["b"], ["water"])
        index.settle()
        with pytest.raises(OSError, match="No space left"):
            index.add(["c"], ["air and soil"])
        assert len(index) == 2
        assert index.search(["water"], 1).ids[0, 0] == "b"
        with pytest.raises(OSError, match="No space left"):
            index.flush()
    index.settle()
    index.add(["c"], ["air and soil"])
    index.flush()
    assert len(LexicalIndex.living(folder, "T")) == 3

"""Background merges block no search and no change, and lose no concurrent change."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from reflink.lexical import LexicalIndex
from reflink.lexical.segments import growth
from reflink.lexical.segments.parts import Part
from reflink.lexical.segments.segment import Segment
from tests.reflink.lexical.plain import Counted, made, vocabulary


class Held:
    """Merges that wait for an event before they end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        merged = growth._merged

        def held(parts: tuple[Part, ...]) -> Segment:
            if threading.current_thread().name == "merge":
                self.begun.set()
                assert self.go_on.wait(60)
            return merged(parts)

        monkeypatch.setattr(growth, "_merged", held)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    monkeypatch.setattr(growth, "AT_ONCE", 4)
    return Held(monkeypatch)


def fill(index: LexicalIndex, ids: range, text: str = "soil fungi") -> None:
    index.add([f"{at:03}" for at in ids], [f"{text} {at:03}" for at in ids])


def merging(held: Held) -> LexicalIndex:
    """Return an index of 40 texts whose two segments are being merged."""
    index = LexicalIndex("T")
    fill(index, range(20))
    fill(index, range(20, 40))
    assert held.begun.wait(60)
    return index


def test_changes_and_searches_during_a_merge_are_kept(held: Held) -> None:
    index = merging(held)
    index.remove(["003", "025"])
    index.add(["004", "026", "100"], ["water moss", "desert sand", "soil fungi 100"])
    assert index.search(["water moss"], 1).ids[0, 0] == "004"
    assert index.search(["soil fungi 003"], 1).ids[0, 0] != "003"
    queries = ["soil fungi 025", "water moss", "desert sand", "soil fungi 004"]
    before = list(index.search(queries, 40))
    held.go_on.set()
    index.settle()
    assert list(index.search(queries, 40)) == before
    assert len(index) == 39
    assert "003" not in index
    # The merged segment without the rows removed meanwhile, and the segment added meanwhile.
    assert [part.count for part in index._growth.parts] == [36, 3]


@pytest.mark.parametrize(
    ("removed", "again"), [([5], [5]), (range(40), []), (range(20), []), (range(20, 40), [])],
    ids=["one and added again", "all", "all of the first", "all of the second"],
)  # fmt: skip
def test_texts_removed_during_a_merge_are_absent_and_texts_added_again_occur_once(
    held: Held, removed: range | list[int], again: list[int]
) -> None:
    index = merging(held)
    index.remove([f"{at:03}" for at in removed])
    for at in again:
        fill(index, range(at, at + 1))
    held.go_on.set()
    index.settle()
    left = sorted(f"{at:03}" for at in {*range(40)} - {*removed} | {*again})
    assert len(index) == len(left) == sum(part.count for part in index._growth.parts)
    assert sorted(id_ for id_ in index.search(["soil fungi"], 60).ids[0] if id_) == left


def test_the_error_of_a_merge_is_raised_once_and_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "AT_ONCE", 4)
    index = LexicalIndex("T")
    fill(index, range(20))
    with monkeypatch.context() as patch:
        patch.setattr(growth, "_merged", no_memory)
        fill(index, range(20, 40))
        index.settle()
        with pytest.raises(MemoryError, match="of a merge"):
            fill(index, range(40, 60))
    assert len(index) == 40
    fill(index, range(40, 60))
    index.settle()
    assert len(index) == 60


def no_memory(_: object) -> Segment:
    raise MemoryError("of a merge")


def test_searches_see_each_concurrent_change_completely() -> None:
    """Two texts are always replaced together: no search may see only one of them, neither, or either twice."""
    rng = np.random.default_rng(1)
    words = vocabulary(rng, 300, "abcdefghij")
    index = LexicalIndex("T")
    index.add([f"x{at}" for at in range(6000)], made(rng, 6000, words))
    index.add(["a", "b"], ["the pair of turn 0", "the pair of turn 0"])
    done, wrong = threading.Event(), list[object]()

    def look() -> None:
        while not done.is_set():
            hits = index.search(["the pair of turn 0"], 2)
            if set(hits.ids[0]) != {"a", "b"} or hits.scores[0, 0] != hits.scores[0, 1]:
                wrong.append(hits)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(200):
        index.add(["a", "b", f"y{turn}"], [f"the pair of turn {turn}"] * 2 + ["other text"])
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_concurrent_writers_lose_no_change() -> None:
    rng = np.random.default_rng(2)
    words = vocabulary(rng, 500, "abcdefghij")
    shares = [{f"{part}-{at}": text for at, text in enumerate(made(rng, 1500, words))} for part in range(3)]
    index = LexicalIndex("T")

    def write(share: dict[str, str]) -> None:
        ids = list(share)
        for first in range(0, len(ids), 37):
            some = ids[first : first + 37]
            index.add(some, [share[id_] for id_ in some])
        index.remove(ids[::5])

    writers = [threading.Thread(target=write, args=(share,)) for share in shares]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    kept = {id_: text for share in shares for at, (id_, text) in enumerate(share.items()) if at % 5}
    index.settle()
    assert len(index) == len(kept)
    plain, queries = Counted(kept), made(rng, 10, words)
    assert list(index.search(queries, 3)) == [plain.best(query, 3) for query in queries]

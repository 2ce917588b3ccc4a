"""An index on a simulated GPU: its hits are those of the CPU, and merges keep its large segments there where they fit."""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reflink.errors import DeviceMissing, DeviceTooSmall, PackageMissing
from reflink.lexical import LexicalIndex
from reflink.lexical.gpu.device import CudaDevice
from reflink.lexical.index import Placed
from reflink.lexical.layout import LEAST_WITH_BITMAPS
from tests.reflink.lexical.gpu.accounted import AccountedDevice
from tests.reflink.lexical.plain import Counted, made, vocabulary

#: Queries of a device at once: a small number needs little memory.
BATCH = 64


class Pair:
    """Two indexes of the same texts: one on a device, one on the CPU; and the texts."""

    def __init__(self, device: Any, *, threads: int = 1) -> None:
        self.rng = np.random.default_rng(3)
        self.words = vocabulary(self.rng, 300, "abcdefghij")
        self.device = device
        self.placed, self.plain = LexicalIndex("T", threads=threads), LexicalIndex("T")
        self.texts: dict[str, str] = {}
        self.options: dict[str, Any] = {}

    def place(self) -> None:
        assert self.placed.place(self.device, smallest=LEAST_WITH_BITMAPS, batch=BATCH, room=BATCH * 9000, **self.options)

    def add(self, number: int) -> None:
        """Add texts and wait until they are merged and placed."""
        texts = made(self.rng, number, self.words)
        new = {f"{len(self.texts) + at:06}": text for at, text in enumerate(texts)}
        self.texts.update(new)
        for index in (self.placed, self.plain):
            index.add(list(new), list(new.values()))
            index.settle()

    def remove(self, ids: Sequence[str]) -> None:
        for index in (self.placed, self.plain):
            index.remove(ids)
            index.settle()
        for id_ in ids:
            self.texts.pop(id_, None)

    def check(self, queries: int = 40) -> None:
        """Fail if the hits differ, with seeds or a floor too, or if the device holds other memory than the index says."""
        texts = made(self.rng, queries, self.words)
        hits = list(self.placed.search(texts, 3))
        assert hits == list(self.plain.search(texts, 3))
        whole = Counted(self.texts)
        assert hits[:5] == [whole.best(text, 3) for text in texts[:5]]
        seeds = [[id_ for id_, _ in near[1:]] for near in hits]
        assert list(self.placed.search(texts, 3, 0.4, seeds)) == list(self.plain.search(texts, 3, 0.4))
        if isinstance(self.device, AccountedDevice):
            gc.collect()
            assert self.device.used == self.placed.placed().nbytes


@pytest.fixture
def pair() -> Pair:
    return Pair(AccountedDevice())


def test_hits_stay_the_same_while_the_index_grows_and_segments_merge(pair: Pair) -> None:
    pair.place()
    assert pair.placed.placed() == Placed(0, 0, 0)
    for number in (3000, 100, 1200, 2500, 40, 9000):
        pair.add(number)
        pair.check()
        assert pair.placed.placed().refused == 0
    assert pair.placed.placed().texts >= 9000
    pair.remove(sorted(pair.texts)[::3])
    pair.check()
    pair.remove(sorted(pair.texts)[::2])
    pair.check()


def test_small_segments_are_searched_on_the_cpu(pair: Pair) -> None:
    pair.place()
    pair.add(LEAST_WITH_BITMAPS - 1)
    pair.check()
    assert pair.placed.placed().texts == 0
    assert pair.device.searches == 0


def test_a_device_searches_all_queries_of_a_segment_at_once() -> None:
    pair = Pair(AccountedDevice(), threads=4)
    pair.add(3000)
    pair.add(100)
    pair.place()
    pair.placed.search(made(pair.rng, BATCH, pair.words), 2)
    assert pair.device.searches == 1
    pair.check(BATCH + 1)


def test_the_cpu_searches_again_after_placing_there(pair: Pair) -> None:
    pair.add(3000)
    pair.place()
    assert pair.placed.placed().texts == 3000
    assert not pair.placed.place(None)
    searches = pair.device.searches
    pair.check()
    assert (pair.device.searches, pair.device.used) == (searches, 0)


def memory(texts: int) -> int:
    """Return the memory that this number of texts takes on a device."""
    pair = Pair(AccountedDevice())
    pair.add(texts)
    pair.place()
    return pair.placed.placed().nbytes


def test_an_index_that_does_not_fit_is_refused_and_stays_on_the_cpu() -> None:
    pair = Pair(AccountedDevice(memory(3000) - 1))
    pair.add(3000)
    with pytest.raises(DeviceTooSmall, match="3,000 texts need"):
        pair.place()
    pair.check()
    pair.add(9000)
    assert pair.placed.placed() == Placed(0, 0, 0)


def test_a_merged_segment_takes_the_memory_of_the_others_if_both_do_not_fit() -> None:
    pair = Pair(AccountedDevice(memory(6000) + memory(3000) // 2))
    pair.add(3000)
    pair.place()
    pair.add(3000)
    assert pair.placed.placed().texts == 6000
    pair.check()


def test_the_memory_of_merged_segments_is_returned_to_other_users_of_the_device(pair: Pair) -> None:
    pair.add(3000)
    pair.place()
    pair.add(3000)
    assert pair.placed.placed() == Placed(6000, 0, pair.device.used)
    assert pair.device.kept == 0


def test_reserved_memory_stays_free() -> None:
    pair, reserved = Pair(AccountedDevice(memory(3000) + 2**30 - 1)), [2**30]
    pair.options = {"reserved": lambda: reserved[0]}
    pair.add(3000)
    with pytest.raises(DeviceTooSmall, match=r"the device has 0\.\d\d GiB free beside 1\.00 GiB reserved: 3,000 texts need"):
        pair.place()
    reserved[0] -= 1
    pair.place()
    pair.check()
    pair.add(3000)
    assert pair.placed.placed() == Placed(0, 6000, 0)


def test_memory_that_another_program_takes_meanwhile_is_missing_as_any_other() -> None:
    pair = Pair(AccountedDevice(memory(6000) - 1, contended=True))
    pair.add(3000)
    pair.place()
    pair.add(3000)
    assert pair.placed.placed() == Placed(0, 6000, 0)
    pair.check()


def test_a_real_gpu_finds_the_same_while_the_index_grows() -> None:
    try:
        device = CudaDevice()
    except (DeviceMissing, PackageMissing) as error:
        pytest.skip(f"no GPU: {error}")
    pair = Pair(device)
    pair.place()
    for number in (3000, 100, 3000, 9000):
        pair.add(number)
        pair.check()
    assert pair.placed.placed().texts >= 9000
    pair.remove(sorted(pair.texts)[::2])
    pair.check()


def test_what_no_longer_fits_stays_on_the_cpu_until_there_is_room() -> None:
    pair = Pair(AccountedDevice(memory(6000) - 1))
    pair.add(3000)
    pair.place()
    assert pair.placed.placed().texts == 3000
    pair.add(3000)
    assert pair.placed.placed() == Placed(0, 6000, 0)
    pair.check()
    pair.device.size *= 2
    pair.add(10)
    assert pair.placed.placed().texts == 6000
    pair.check()


def test_searches_during_a_merge_on_the_device_see_every_text() -> None:
    """Two texts are always replaced together, while their segments merge and are placed: each search finds both."""
    pair = Pair(AccountedDevice())
    pair.place()
    pair.placed.add(["a", "b"], ["the pair of turn 0"] * 2)
    done, wrong = threading.Event(), list[object]()

    def look() -> None:
        while not done.is_set():
            hits = pair.placed.search(["the pair of turn 0"], 2)
            if set(hits.ids[0]) != {"a", "b"} or hits.scores[0, 0] != hits.scores[0, 1]:
                wrong.append(hits)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(12):
        texts = made(pair.rng, 1500, pair.words)
        pair.placed.add([f"{turn} {at}" for at in range(1500)], texts)
        pair.placed.add(["a", "b"], [f"the pair of turn {turn}"] * 2)
    pair.placed.settle()
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert pair.placed.placed().texts > 15_000

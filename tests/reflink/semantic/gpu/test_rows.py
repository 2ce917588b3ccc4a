"""Rows on a torch device: capacity, refusals and views."""

import numpy as np
import pytest
import torch

from reflink.errors import DeviceTooSmall
from reflink.semantic import VectorIndex
from reflink.semantic.gpu import rows as device

DIM = 8


def filled(number: int) -> VectorIndex:
    index = VectorIndex(DIM)
    index.add([f"{n:04}" for n in range(number)], np.random.default_rng(0).standard_normal((number, DIM)))
    return index


def test_a_catalog_that_does_not_fit_is_refused_with_the_memory_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(10)
    monkeypatch.setattr(device, "free_bytes", lambda _: 2**30 + 2**29)
    with pytest.raises(DeviceTooSmall, match=r"cpu has 1\.50 GiB free: 100,000,064 rows of 8 dimensions need 1\.68 GiB"):
        index.place("cpu", spare=100_000_000)
    assert index.place("cpu", spare=64)
    assert index.search(np.ones((1, DIM)), 3).ids.tolist() == filled(10).search(np.ones((1, DIM)), 3).ids.tolist()


def test_a_catalog_that_does_not_fit_is_searched_from_host_memory_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(300)
    monkeypatch.setattr(device, "free_bytes", lambda _: 0)
    monkeypatch.setattr(device, "SENT", 128)
    assert not index.place("cpu", stream=True)
    index.remove(["0007"])
    index.add(["new"], np.ones((1, DIM)))
    assert index.search(np.ones((1, DIM)), 1).ids.tolist() == [["new"]]


def test_additions_that_no_longer_fit_are_refused_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(10)
    index.place("cpu", spare=64)
    monkeypatch.setattr(device, "free_bytes", lambda _: 0)
    before = index.search(np.ones((1, DIM)), 200)
    many = np.ones((200, DIM))
    for _ in range(2):
        with pytest.raises(DeviceTooSmall, match="more, and a search"):
            index.add([f"new {n}" for n in range(200)], many)
    assert len(index) == 10
    assert list(index.search(np.ones((1, DIM)), 200)) == list(before)
    index.add(["small"], many[:1])
    assert index.search(np.ones((1, DIM)), 1).ids.tolist() == [["small"]]
    monkeypatch.setattr(device, "free_bytes", lambda _: None)
    index.add([f"new {n}" for n in range(200)], many)
    assert len(index) == 211
    assert index.search(np.ones((1, DIM)), 3).ids.tolist() == [["new 0", "new 1", "new 10"]]


def test_spare_capacity_is_filled_in_place_and_earlier_views_do_not_change() -> None:
    index = filled(100)
    index.place("cpu", spare=100)
    before = index._rows.view
    assert before.device is not None
    assert before.device.parts is not None
    living = before.device.parts[0][2].clone()
    index.add(["a", "b"], np.ones((2, DIM)))
    index.remove(["0001"])
    after = index._rows.view
    assert after.device is not None
    assert after.device.parts is not None
    assert after.device.parts[0][1] is before.device.parts[0][1]
    assert torch.equal(before.device.parts[0][2], living)
    assert int(after.device.parts[0][2].sum()) == 101


def test_without_a_gpu_the_free_memory_is_unknown() -> None:
    assert device.free_bytes(torch.device("cpu")) is None

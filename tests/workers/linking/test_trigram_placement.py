"""A fallback's trigrams on a simulated GPU: placement, refusals, metrics, and the outcomes of the CPU."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from schemas import FallbackEvent
from tests.reflink.lexical.gpu.accounted import AccountedDevice
from tests.reflink.lexical.plain import made, vocabulary
from tests.workers.linking.test_fallback_stage import WORKS, event
from workers.config.settings import FallbackSettings
from workers.errors import BadSettings, DeviceFailed, DeviceFull
from workers.linking.fallback_stage import FallbackStage, FallbackView
from workers.linking.trigram_placement import TrigramPlacement, chosen_device
from workers.telemetry import gpu_memory, metrics


def catalog() -> Catalog:
    """Return the works of the fallback's tests, and 3,000 others."""
    rng = np.random.default_rng(4)
    titles = made(rng, 3000, vocabulary(rng, 300, "abcdefghij"))
    found = Catalog.empty(lexical_mode="Raw")
    found.add([*WORKS, *(Work(id=f"x:{at}", title=title or "empty") for at, title in enumerate(titles))])
    return found


def placement(device: AccountedDevice | None) -> TrigramPlacement:
    return TrigramPlacement(device, smallest=2048, batch=64, room=200_000)


def test_the_cpu_searches_where_no_gpu_is_and_none_is_required() -> None:
    assert chosen_device(FallbackSettings(search_device="cpu")) is None
    try:
        import cupy
    except ImportError:
        pass
    else:
        try:
            cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            pass
        else:
            pytest.skip("this machine has a GPU")
    assert chosen_device(FallbackSettings()) is None


def test_a_missing_gpu_is_a_bad_setting() -> None:
    with pytest.raises(BadSettings, match=r"REFLINK_SEARCH_DEVICE: .*cuda:63") as raised:
        chosen_device(FallbackSettings(search_device="cuda:63"))
    assert "\n" not in str(raised.value)


def test_the_outcomes_are_those_of_the_cpu() -> None:
    batch = [event("doi:10.9/a", WORKS, 3), event("doi:10.9/b", WORKS[::-1], 4, "paper")]
    device, works = AccountedDevice(), catalog()
    on_cpu = handled(batch, works, None)
    assert works.trigrams is not None
    placement(device).place(works.trigrams)
    assert handled(batch, works, placement(device)) == on_cpu
    assert device.searches == 2, "one search for each profile"


def handled(batch: list[FallbackEvent], works: Catalog, placed: TrigramPlacement | None) -> list[bytes | None]:
    stage = FallbackStage(FallbackSettings(kafka_bootstrap_servers="nowhere:1"))
    stage._placement = placed
    return [each.value for each in stage.handle(batch, FallbackView(NativeCandidates(works), Policy(), 7)).messages]


def test_trigrams_that_do_not_fit_at_the_start_end_the_worker_with_the_remedy() -> None:
    works = catalog()
    assert works.trigrams is not None
    with pytest.raises(DeviceFull, match=r"the trigrams of the catalog, 30\d\d texts, .*REFLINK_SEARCH_DEVICE=cpu") as raised:
        placement(AccountedDevice(1000)).place(works.trigrams)
    assert raised.value.exit_code == 11
    assert "\n" not in str(raised.value)


def test_metrics_show_what_the_device_holds_and_what_no_longer_fits_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    device, works = AccountedDevice(), catalog()
    assert works.trigrams is not None
    held = placement(device)
    held.place(works.trigrams)
    held.show(works.trigrams)
    gpu_memory.show("linker", 1000, device.total_bytes())
    assert metrics.GPU_MEMORY_BYTES._value.get() == device.used + 1000
    assert metrics.GPU_MEMORY_TOTAL_BYTES._value.get() == device.total_bytes()
    assert (metrics.TRIGRAMS_ON_GPU._value.get(), metrics.TRIGRAMS_REFUSED._value.get()) == (len(works.trigrams), 0)
    device.size = device.used
    works.add([Work(id=f"y:{at}", title=f"Another work {at}") for at in range(3000)])
    works.trigrams.settle()
    device.size = 1000
    works.add([Work(id="z", title="One more")])
    works.trigrams.settle()
    with caplog.at_level(logging.WARNING):
        held.show(works.trigrams)
        held.show(works.trigrams)
    assert [each.message for each in caplog.records] == ["new trigrams do not fit the device: searched on the CPU"]
    assert metrics.TRIGRAMS_REFUSED._value.get() > 3000
    gpu_memory.show("linker", 0, 0)


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


class Search:
    """A search that fails a number of times."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.failures, self.error = failures, error or MemoryError("out of memory")

    def __call__(self) -> str:
        self.failures -= 1
        if self.failures >= 0:
            raise self.error
        return "hits"


def test_a_search_without_memory_is_repeated_once_and_then_ends_the_worker() -> None:
    assert placement(AccountedDevice()).searched(Search(1)) == "hits"
    with pytest.raises(DeviceFull, match="no memory for a search: out of memory; no data is lost"):
        placement(AccountedDevice()).searched(Search(2))
    with pytest.raises(MemoryError):  # of the host, without a device
        placement(None).searched(Search(1))


def test_host_memory_that_a_search_lacks_counts_as_memory_of_the_device() -> None:
    error = CUDARuntimeError("cudaErrorMemoryAllocation: out of memory")
    assert placement(AccountedDevice()).searched(Search(1, error)) == "hits"
    with pytest.raises(DeviceFull):
        placement(AccountedDevice()).searched(Search(2, error))


@pytest.mark.parametrize("before", [(), (MemoryError("out of memory"),)], ids=["at once", "after a want of memory"])
def test_a_failed_gpu_is_not_blamed_on_records(before: tuple[Exception, ...]) -> None:
    errors = iter([*before, CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access")])

    def search() -> None:
        raise next(errors)

    with pytest.raises(DeviceFailed, match=r"the GPU failed: cudaErrorIllegalAddress.*no data is lost") as raised:
        placement(AccountedDevice()).searched(search)
    assert raised.value.exit_code == 15


def test_a_defect_is_not_a_failed_gpu() -> None:
    with pytest.raises(RuntimeError, match="a defect"):
        placement(AccountedDevice()).searched(Search(1, RuntimeError("a defect")))

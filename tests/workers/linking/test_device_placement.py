"""The device on which a linker searches, and a full device. Torch on the CPU stands in for the GPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reflink.catalog import Catalog
from reflink.entities import Reference, Work
from reflink.errors import NoMemory
from reflink.semantic import VectorIndex
from reflink.semantic.encoder.spent import Spent
from reflink.semantic.encoder.token_budget import TokenBudget
from reflink.semantic.gpu import rows as device
from reflink.semantic.index import SPARE
from schemas import ReferenceEvent
from tests.reflink.catalog.works_of import DIM, FakeEncoder, work
from workers.catalog.follower import CatalogFollower
from workers.catalog.topic_reader import CatalogChanges
from workers.config.settings import FallbackSettings, LinkerSettings
from workers.errors import BadSettings, DeviceFailed, DeviceFull
from workers.linking import device_placement
from workers.linking.encoders import load_encoder
from workers.linking.linker_stage import LinkerStage
from workers.records import Received
from workers.runtime.isolation import isolate
from workers.telemetry import metrics

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")


class OnDevice(FakeEncoder):
    """An encoder with all attributes that a linker uses."""

    tokens_read = 0

    def __init__(self) -> None:
        super().__init__()
        self.memory, self.spent = TokenBudget(1000), Spent()


class Placed(LinkerStage):
    """A linker on a torch device, without a model's weights and without a topic to follow."""

    def __init__(self, encoder: Any = None, **settings: Any) -> None:
        super().__init__(LinkerSettings(**settings))
        self.encoder = encoder or OnDevice()
        self.catalog = Catalog.empty(dim=DIM, model="fake@1", precision="fp32", lexical_mode=None)
        self.catalog.add_encoded([work(f"w{n}", f"Title {n}") for n in range(10)], FakeEncoder())
        self._search_device = "cpu"
        device_placement.place(self.vectors, "cpu", self.settings)
        self.follower = CatalogFollower(self.settings, self.catalog, self.encoder, self._make_room)

    @property
    def vectors(self) -> VectorIndex:
        assert self.catalog.vectors is not None
        return self.catalog.vectors

    def follow_works(self, works: Sequence[Work]) -> bool:
        """Follow these works as changes of the catalog. Return the result of ``follow``."""
        self.follower.reader._queue.put(changes(works))
        return self.follow(0.0)


def changes(works: Sequence[Work]) -> CatalogChanges:
    return CatalogChanges([(offset, 0, each) for offset, each in enumerate(works)], 99)


def new_works(number: int) -> list[Work]:
    return [work(f"new{n}", f"New title {n}") for n in range(number)]


def received(count: int) -> list[Received]:
    found = []
    for n in range(count):
        reference = Reference(id=f"c#r{n}", citing="c", position=n + 1, title=f"Title {n}")
        event = ReferenceEvent(schema_version=1, citing="c", paper_version=1, arrived=1, reference=reference)
        found.append(Received("references", 0, n, b"c", event.to_json(), (), 1))
    return found


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "free_bytes", lambda _: 2**20)


@pytest.mark.parametrize(
    ("wanted", "encoder", "chosen"),
    [("auto", "cpu", None), ("auto", "cuda:1", "cuda:1"), ("cpu", "cuda", None), ("cuda", "cpu", "cuda")],
)
def test_the_search_uses_the_device_of_the_encoder_by_default(
    monkeypatch: pytest.MonkeyPatch, wanted: str, encoder: str, chosen: str | None
):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_placement.chosen_device(LinkerSettings(search_device=wanted), encoder) == chosen


def test_a_missing_gpu_for_the_search_is_a_bad_setting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(BadSettings, match="REFLINK_SEARCH_DEVICE: cuda:1 is not here, which has 1 GPUs"):
        device_placement.chosen_device(LinkerSettings(search_device="cuda:1"), "cpu")


def test_a_missing_gpu_for_the_encoder_is_a_bad_setting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(BadSettings, match="REFLINK_DEVICE: cuda is not here, which has 0 GPUs"):
        load_encoder(LinkerSettings(device="cuda"), "fp16")


def test_the_settings_reach_the_index():
    assert LinkerSettings().search_spare == SPARE
    assert Placed().vectors.threads == torch.get_num_threads()
    assert Placed(search_threads=3).vectors.threads == 3


def test_hits_equal_those_of_the_processor():
    queries = np.random.default_rng(0).standard_normal((4, DIM))
    stage = Placed()
    assert stage.vectors._rows.view.device is not None
    found = stage.vectors.search(queries, 3)
    device_placement.place(stage.vectors, None, stage.settings)
    assert stage.vectors._rows.view.device is None
    assert list(stage.vectors.search(queries, 3)) == list(found)


def test_a_catalog_too_large_for_the_device_is_rejected_at_the_start(monkeypatch: pytest.MonkeyPatch):
    full(monkeypatch)
    with pytest.raises(
        DeviceFull, match=r"the 10 vectors .* cpu has 0\.00 GiB free: .* need .*REFLINK_SEARCH_STREAM=true"
    ) as raised:
        Placed()
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 11


def test_a_catalog_too_large_for_the_device_is_searched_from_host_memory_if_set(monkeypatch: pytest.MonkeyPatch):
    full(monkeypatch)
    stage = Placed(search_stream=True)
    stage.follow_works(new_works(20))
    assert len(stage.vectors) == 30
    assert len(isolate(OfOneView(stage), received(3)).output.messages) > 0


def test_a_catalog_that_outgrows_the_device_ends_the_worker_with_the_remedy(monkeypatch: pytest.MonkeyPatch):
    stage = Placed(search_spare=64)
    full(monkeypatch)
    stage.follower.reader._queue.put(changes(new_works(200)))
    with pytest.raises(
        DeviceFull, match=r"cannot grow beyond \d+ works on this device; .* GiB free: .*REFLINK_SEARCH_STREAM=true"
    ):
        stage.follow(0.9)
    assert len(stage.catalog) == len(stage.vectors) < 210


def test_a_catalog_that_outgrows_the_device_continues_from_host_memory_if_set(monkeypatch: pytest.MonkeyPatch):
    stage = Placed(search_spare=64, search_stream=True)
    full(monkeypatch)
    stage.follow_works(new_works(200))
    while stage.follow(0.0):
        pass
    assert len(stage.catalog) == len(stage.vectors) == 210
    assert stage.catalog.offset == 99
    (hits,) = stage.vectors.search(FakeEncoder().encode([stage.catalog.semantic_text(new_works(200)[177])]), 1)
    assert hits[0][0] == "new177"


def test_trigrams_leave_a_linker_in_their_process_what_its_encoder_and_search_need(monkeypatch: pytest.MonkeyPatch):
    settings = FallbackSettings(search_device="cuda:1", search_spare=64)
    kept = {"cuda:1": (3 << 30, 1 << 30)}
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda gpu: kept[gpu][0])
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda gpu: kept[gpu][1])
    search = device.needed_bytes(1_000_064, DIM)[1]
    assert device_placement.still_needed(1_000_000, settings) == (4 << 30) + search - (2 << 30)
    kept["cuda:1"] = (30 << 30, 1 << 30)
    assert device_placement.still_needed(1_000_000, settings) == 0


class Pool:
    """A stub of CuPy whose pool keeps memory. ``device``: the GPU that the pool was asked on."""

    def __init__(self) -> None:
        self.kept, self.device = 1000, -1
        self.cuda = SimpleNamespace(Device=self._on)

    def _on(self, device: int) -> AbstractContextManager[None]:
        self.device = device
        return nullcontext()

    def get_default_memory_pool(self) -> Pool:
        return self

    def free_bytes(self) -> int:
        return self.kept

    def free_all_blocks(self) -> None:
        self.kept = 0


def test_a_catalog_that_outgrows_the_device_first_takes_what_the_trigrams_of_the_process_keep(monkeypatch: pytest.MonkeyPatch):
    stage, pool = Placed(search_spare=64), Pool()
    stage._search_device = "cuda:1"
    monkeypatch.setitem(sys.modules, "cupy", pool)
    monkeypatch.setattr(device, "free_bytes", lambda _: 2**20 if pool.kept else 2**40)
    stage.follow_works(new_works(200))
    while stage.follow(0.0):
        pass
    assert len(stage.vectors) == 210
    assert (pool.kept, pool.device) == (0, 1)
    full(monkeypatch)
    with pytest.raises(DeviceFull):
        stage.follow_works(new_works(400)[200:])


class OfOneView(LinkerStage):
    """A linker with another linker's encoder, catalog and follower, which does not wait for changes."""

    def __init__(self, stage: Placed) -> None:
        super().__init__(stage.settings)
        self.encoder, self.catalog, self.follower = stage.encoder, stage.catalog, stage.follower


class Full(OnDevice):
    """An encoder on a device that has memory for at most ``texts`` texts."""

    def __init__(self, error: Exception, texts: int) -> None:
        super().__init__()
        self.error, self.max_texts = error, texts

    def encode(self, texts: Sequence[str]) -> Any:
        if len(texts) > self.max_texts:
            raise self.error
        return super().encode(texts)


NOTHING_FREE = NoMemory("no memory on cuda for one text of 9 tokens")


@pytest.mark.parametrize("error", [NOTHING_FREE, torch.OutOfMemoryError("CUDA out of memory")])
def test_a_reference_that_the_device_has_no_memory_for_is_not_blamed(error: Exception):
    with pytest.raises(DeviceFull, match=r"no memory for even one reference: .*memory.*; no data is lost: stop other programs"):
        isolate(OfOneView(Placed(Full(error, 0))), received(4))


@pytest.mark.parametrize(
    "error",
    [
        torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
        RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`"),
    ],
)
def test_no_reference_is_blamed_for_a_failed_gpu(error: Exception):
    with pytest.raises(DeviceFailed, match="the GPU failed: CUDA error: "):
        isolate(OfOneView(Placed(Full(error, 0))), received(4))


@pytest.mark.parametrize("kind", [torch.OutOfMemoryError, torch.AcceleratorError])
def test_batches_are_halved_until_they_fit(kind: type[Exception]):
    judged = isolate(OfOneView(Placed(Full(kind("CUDA error: out of memory"), 2))), received(5))
    assert not judged.poison
    assert judged.output.messages


def test_new_works_that_the_device_has_no_memory_for_end_the_worker_too():
    with pytest.raises(DeviceFull, match=r"cannot grow beyond 10 works on this device; .*no memory on cuda"):
        Placed(Full(NOTHING_FREE, 0)).follow_works(new_works(1))


def test_the_memory_of_the_encoder_is_a_metric():
    stage = Placed()
    before = metrics.ENCODER_OUT_OF_MEMORY._value.get()
    stage.encoder.memory.failed(1000)
    stage.follow(0.0)
    stage.follow(0.0)
    assert metrics.ENCODER_TOKEN_BUDGET._value.get() == 500
    assert metrics.ENCODER_OUT_OF_MEMORY._value.get() - before == 1

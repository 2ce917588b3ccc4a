"""Opening a GPU where there is none, or no CuPy, or one that cannot run the kernels."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest

from reflink.errors import DeviceMissing, PackageMissing
from reflink.lexical.gpu.device import CudaDevice


def test_without_cupy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(PackageMissing, match=r"on cuda:1 needs CuPy: pip install 'reflink-stream\[gpu\]'"):
        CudaDevice("cuda:1")


def test_a_gpu_that_is_not_here_is_named() -> None:
    pytest.importorskip("cupy", reason="CuPy is not installed: the extra gpu")
    with pytest.raises(DeviceMissing, match="cuda:99"):
        CudaDevice("cuda:99")


class CompileException(Exception):
    """As CuPy's, which is not a RuntimeError."""


class StubDevice:
    attributes: ClassVar = {"MultiProcessorCount": 1}

    def __init__(self, capability: str) -> None:
        self.compute_capability = capability

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def opened(monkeypatch: pytest.MonkeyPatch, capability: str, error: Exception | None = None) -> CudaDevice:
    """Open a GPU of this compute capability by a stub of CuPy, whose compiler raises ``error``."""

    class Module:
        def __init__(self, **_: object) -> None: ...

        def get_function(self, name: str) -> str:
            if error is not None:
                raise error
            return name

    cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError),
        compiler=SimpleNamespace(CompileException=CompileException),
        Device=lambda _: StubDevice(capability),
        Stream=lambda **_: None,
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, RawModule=Module))
    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(empty_pinned=None))
    return CudaDevice()


@pytest.mark.parametrize(
    "error",
    [CompileException("kernels.cu(211):\nundefined"), PermissionError("/var/cache"), RuntimeError("CUDA_ERROR_INVALID_IMAGE")],
    ids=lambda error: type(error).__name__,
)
def test_a_gpu_whose_kernels_cannot_be_compiled_is_missing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    with pytest.raises(DeviceMissing, match="cuda: its kernels cannot be compiled: ") as raised:
        opened(monkeypatch, "90", error)
    assert "\n" not in str(raised.value)


def test_a_gpu_too_old_for_the_kernels_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceMissing, match=r"cuda: its compute capability is 7\.5, and 8\.0 is needed"):
        opened(monkeypatch, "75")
    for enough in ("80", "120"):
        assert opened(monkeypatch, enough).processors == 1

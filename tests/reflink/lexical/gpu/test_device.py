"""Opening a GPU where there is none, or no CuPy."""

from __future__ import annotations

import sys

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

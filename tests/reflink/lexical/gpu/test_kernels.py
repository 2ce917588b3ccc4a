"""NVRTC compiles the kernels for NVIDIA GPUs; it needs none."""

from __future__ import annotations

import pytest

from reflink.lexical.gpu import kernels
from tests.cuda.nvrtc import ARCHITECTURES, compiled
from tests.reflink.lexical.gpu.simulated import library


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernels_compile_and_keep_their_values_in_registers(architecture: str) -> None:
    names, code = compiled(kernels.source(), (*kernels.OPTIONS, *kernels.definitions()), architecture)
    assert names == set(kernels.NAMES)
    assert all(name.encode() in code for name in names)


def test_the_simulated_device_has_every_kernel() -> None:
    assert all(hasattr(library(), f"launch_{name}") for name in kernels.NAMES)

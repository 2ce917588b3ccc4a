"""The search on a torch device, here the CPU, gives the hits of the search in numba bit for bit: by torch and by kernels."""

import numpy as np
import numpy.typing as npt
import pytest
import torch

from reflink.gpu.program import source
from reflink.semantic import VectorIndex
from reflink.semantic.cpu.rows import View
from reflink.semantic.gpu import products as deviceproducts
from reflink.semantic.gpu import rows as device
from reflink.semantic.gpu import scan as devicescan
from reflink.semantic.gpu.products import ByKernels, ByTorch, Products
from tests.cuda.simulated import Simulated

DIM = 384
Vectors = npt.NDArray[np.float64]


@pytest.fixture(autouse=True, params=["torch", "kernels"])
def products(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Products:
    chosen = ByTorch() if request.param == "torch" else ByKernels(Simulated(source(deviceproducts.SOURCE), {"DIM": DIM}))
    monkeypatch.setattr(devicescan, "chosen", lambda *_: chosen)
    return chosen


def clustered(rng: np.random.Generator, number: int, centres: int, noise: float) -> Vectors:
    middle = rng.standard_normal((centres, DIM))
    vectors: Vectors = middle[rng.integers(0, centres, number)] + noise * rng.standard_normal((number, DIM))
    return vectors


def same(index: VectorIndex, queries: npt.ArrayLike, k: int, **placing: bool) -> None:
    index.place(None)
    expected = index.search(queries, k)
    index.place("cpu", spare=100, **placing)
    found = index.search(queries, k)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.scores.tobytes() == expected.scores.tobytes()


@pytest.mark.parametrize("noise", [1.0, 0.1, 0.001])
def test_hits_equal_those_of_the_cpu_bit_for_bit(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    index = VectorIndex(DIM)
    vectors = clustered(rng, 3000, 40, noise)
    index.add([f"{n:05}" for n in rng.permutation(3000)], vectors)
    queries = np.concatenate([vectors[:3], vectors[:3] + 0.2 * rng.standard_normal((3, DIM))])
    for k in (1, 40):
        same(index, queries, k)
    index.remove([f"{n:05}" for n in range(0, 3000, 3)])
    same(index, queries, 5)
    monkeypatch.setattr(device, "free_bytes", lambda _: 0)
    monkeypatch.setattr(device, "SENT", 640)
    same(index, queries, 5, stream=True)


def test_rows_within_the_error_of_fp16_are_found() -> None:
    """Hundreds of groups have the same maximum in fp16, and the best rows are in any of them."""
    rng = np.random.default_rng(2)
    base = np.abs(rng.standard_normal(DIM))
    base /= np.linalg.norm(base)
    near = np.repeat(base[None].astype(np.float16), 2000, axis=0)
    for row in near:  # the last bit of some values, up or down
        some = rng.integers(0, DIM, 20)
        row.view(np.uint16)[some] += rng.choice([-1, 1], 20).astype(np.uint16)
    index = VectorIndex(DIM)
    index.add([f"{n:04}" for n in rng.permutation(2000)], near)
    same(index, base[None] + 0.05 * rng.standard_normal((20, DIM)), 5)


def test_removed_rows_with_the_best_scores_hide_no_hit() -> None:
    rng = np.random.default_rng(3)
    query = rng.standard_normal(DIM)
    index = VectorIndex(DIM)
    index.add([f"near {n}" for n in range(2000)], query + 0.01 * rng.standard_normal((2000, DIM)))
    index.add([f"far {n}" for n in range(3000)], query + 2 * rng.standard_normal((3000, DIM)))
    index.remove([f"near {n}" for n in range(2000)])
    same(index, query[None], 5)
    index.remove([f"far {n}" for n in range(2998)])
    same(index, query[None], 5)


@pytest.mark.parametrize("number", [3, 40])
def test_the_errors_of_the_products_are_within_the_bound(number: int, products: Products) -> None:
    rng = np.random.default_rng(4)
    index = VectorIndex(DIM)
    index.add([str(n) for n in range(1024)], clustered(rng, 1024, 5, 0.3))
    index.place("cpu", spare=64)
    view: View = index._rows.view
    assert view.device is not None
    ((_, matrix, _),) = view.device.read(view)
    queries = matrix[:number].float() + 0.003 * torch.randn(number, DIM, generator=torch.Generator().manual_seed(1))
    queries /= queries.norm(dim=1, keepdim=True)
    error = deviceproducts.error_of_products(queries)
    maxima = torch.full((number, 20), torch.nan, dtype=torch.float16)
    products.maxima(matrix, queries, maxima)
    exact = (queries.double() @ matrix.double().T).view(number, -1, device.GROUP).amax(2)
    assert ((maxima[:, : exact.shape[1]].double() - exact).abs() <= error.double()[:, None]).all()
    assert maxima[:, exact.shape[1] :].isnan().all()
    assert float(error.max()) < 1.2e-3


@pytest.mark.parametrize("number", [1, 4])
def test_few_queries_have_the_same_hits(number: int) -> None:
    """They are chosen on the host, unless more groups may hold one of the best."""
    rng = np.random.default_rng(6)
    index = VectorIndex(DIM)
    vectors = clustered(rng, 9000, 900, 0.4)
    index.add([f"{n:05}" for n in rng.permutation(9000)], vectors)
    for k in (1, 3, 100):
        same(index, vectors[:number] + 0.1 * rng.standard_normal((number, DIM)), k)
    index.remove([f"{n:05}" for n in range(8995)])
    same(index, vectors[:number], 10)


@pytest.mark.parametrize("dim", [64, 384, 768])
def test_maxima_and_exact_scores_are_those_of_the_definition(dim: int, products: Products) -> None:
    if isinstance(products, ByKernels):
        products = ByKernels(Simulated(source(deviceproducts.SOURCE), {"DIM": dim}))
    rng = np.random.default_rng(7)
    matrix = torch.from_numpy((rng.standard_normal((320, dim)) / dim**0.5).astype(np.float16))
    queries = torch.from_numpy((rng.integers(-(2**23), 2**23, (6, dim)) / 2**28).astype(np.float32))
    alive, groups = torch.from_numpy(rng.random(320) < 0.8), torch.from_numpy(rng.integers(0, 5, (6, 2)))
    scores = (queries.double() @ matrix.double().T).view(6, 5, device.GROUP)
    for few in (queries[:1], queries[:4], queries):
        maxima = torch.empty((len(few), 5), dtype=torch.float16)
        products.maxima(matrix, few, maxima)
        error = deviceproducts.error_of_products(few).double()[:, None]
        assert ((maxima.double() - scores[: len(few)].amax(2)).abs() <= error).all()
    found = products.exact(matrix, alive, groups, queries)
    living = scores.float().masked_fill(~alive.view(5, device.GROUP), -torch.inf)
    expected = torch.stack([living[query, groups[query]].flatten() for query in range(6)])
    assert found.numpy().tobytes() == expected.numpy().tobytes()

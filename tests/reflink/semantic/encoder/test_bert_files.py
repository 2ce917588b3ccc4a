"""A plain BERT read from its files equals the one that transformers reads; other folders are left to transformers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")
transformers = pytest.importorskip("transformers", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic.encoder.bert_files import BertFiles  # noqa: E402
from reflink.semantic.encoder.model import default_folder  # noqa: E402

Change = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the default model's folder that a test may change."""
    return Path(shutil.copytree(default_folder(), tmp_path / "model"))


def read(folder: Path) -> tuple[Any, Any]:
    """Return the model and the tokenizer that transformers reads."""
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True, dtype="float32")
    return model, transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def assert_equal(files: BertFiles | None, model: Any, tokenizer: Any) -> None:
    assert files is not None
    expected = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("pooler.")}
    assert all(torch.equal(files.state_dict()[name].float(), tensor) for name, tensor in expected.items())
    own, theirs = (json.loads(each.backend_tokenizer.to_str()) for each in (files.tokenizer, tokenizer))
    assert {name: own[name] for name in ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "model")} == {
        name: theirs[name] for name in ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "model")
    }
    assert (files.tokenizer.pad_token_id, files.tokenizer.model_max_length) == (
        tokenizer.pad_token_id, tokenizer.model_max_length,
    )  # fmt: skip
    for name in ("hidden_size", "num_attention_heads", "num_hidden_layers", "layer_norm_eps", "max_position_embeddings"):
        assert getattr(files.config, name) == getattr(model.config, name)


def test_the_default_model_is_the_one_of_transformers() -> None:
    assert_equal(BertFiles.read(default_folder()), *read(default_folder()))


def test_a_model_that_transformers_saved_with_fewer_layers_in_half_precision_is_the_same(folder: Path, tmp_path: Path) -> None:
    model, _ = read(folder)
    model.encoder.layer = model.encoder.layer[:2]
    model.config.num_hidden_layers = 2
    saved = tmp_path / "saved"
    model.half().save_pretrained(saved)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, saved / name)
    assert_equal(BertFiles.read(saved), *read(saved))


def edit(name: str, **changes: Any) -> Change:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def edit_tokenizer(part: str, **changes: Any) -> Change:
    def change(folder: Path) -> None:
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text())
        content[part] |= changes
        path.write_text(json.dumps(content))

    return change


def drop(name: str, key: str) -> Change:
    def change(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        del content[key]
        (folder / name).write_text(json.dumps(content))

    return change


def edit_weights(edited: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    def change(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        path = folder / "model.safetensors"
        save_file(edited(load_file(path)), path)

    return change


@pytest.mark.parametrize(
    "change",
    [
        edit("config.json", model_type="roberta"),
        edit("config.json", hidden_act="relu"),
        edit("config.json", num_hidden_layers=7),
        drop("config.json", "layer_norm_eps"),
        edit("tokenizer_config.json", do_lower_case=False),
        edit("tokenizer_config.json", strip_accents=True),
        edit("tokenizer_config.json", tokenizer_class="RobertaTokenizer"),
        edit("tokenizer_config.json", pad_token="[NONE]"),
        edit("tokenizer_config.json", added_tokens_decoder={"9": {"content": "new"}}),
        edit("tokenizer_config.json", additional_special_tokens=["new"]),
        edit("special_tokens_map.json", sep_token="[MASK]"),
        edit("special_tokens_map.json", pad_token="[MASK]"),
        drop("tokenizer_config.json", "model_max_length"),
        edit("tokenizer.json", post_processor=None),
        edit("tokenizer.json", pre_tokenizer={"type": "WhitespaceSplit"}),
        edit_tokenizer("normalizer", clean_text=False),
        edit_tokenizer("model", max_input_chars_per_word=200),
        drop("tokenizer.json", "model"),
        edit("config.json", quantization_config={}),
        edit("config.json", hidden_size=768),
        edit("config.json", vocab_size=100),
        edit("config.json", num_attention_heads=0),
        edit("config.json", num_hidden_layers=None),
        edit_weights(lambda weights: {f"bert.{name}": tensor for name, tensor in weights.items()}),
        edit_weights(lambda weights: weights | {"encoder.layer.1.output.dense.bias": torch.zeros(384, dtype=torch.int8)}),
        lambda folder: (folder / "added_tokens.json").write_text('{"new": 30522}'),
        lambda folder: (folder / "tokenizer.json").unlink(),
        lambda folder: (folder / "model.safetensors").write_bytes(b"damaged"),
        lambda folder: (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors"),
        lambda folder: (folder / "config.json").write_text("[]"),
    ],
)
def test_other_folders_are_left_to_transformers(folder: Path, change: Change) -> None:
    change(folder)
    assert BertFiles.read(folder) is None


def test_the_default_encoder_does_not_import_transformers() -> None:
    program = (
        "import sys; from reflink.semantic import Encoder; Encoder().encode(['a b']); print('transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_a_folder_that_needs_transformers_names_the_remedy_without_it(folder: Path) -> None:
    edit("tokenizer_config.json", do_lower_case=False)(folder)
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "from reflink.semantic import Encoder\n"
        "from reflink.errors import ModelNotFound\n"
        f"try: Encoder({str(folder)!r}, device='cpu')\n"
        "except ModelNotFound as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert "pip install reflink-stream[semantic]" in done.stdout

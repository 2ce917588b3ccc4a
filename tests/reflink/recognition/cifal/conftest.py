"""A tiny encoder with random weights, in a folder such as MiniLM's."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest

EXTRA = "CIFAL is an extra: pip install reflink-stream[semantic]"
pytest.importorskip("torch", reason=EXTRA)
pytest.importorskip("transformers", reason=EXTRA)

WORDS = ["journal", "of", "ecology", "plants", "rome", "wang", "abe", "2004", "1999"]


def save_tokenizer(folder: Path) -> int:
    """Write a tokenizer like MiniLM's with every ASCII character, and return the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    letters = string.ascii_lowercase + string.digits
    names = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{char}" for char in letters),
        *string.punctuation,
        *WORDS,
    ]
    tokenizer: Any = Tokenizer(models.WordPiece({name: at for at, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.enable_padding(length=128)
    tokenizer.enable_truncation(128)
    tokenizer.save(str(folder / "tokenizer.json"))
    return len(names)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the encoder: three layers of 24 numbers."""
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("tiny")
    config = transformers.BertConfig(
        vocab_size=save_tokenizer(folder), hidden_size=24, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=300,
    )  # fmt: skip
    torch.manual_seed(5)
    transformers.BertModel(config).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["vocab_size"] == config.vocab_size
    return folder

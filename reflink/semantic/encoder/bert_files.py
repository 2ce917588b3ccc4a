"""Reads a plain BERT from its folder without transformers, whose import takes 4 s of processor time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from reflink.semantic.encoder.bert import Bert

_CONFIG: Final = (
    "hidden_size", "intermediate_size", "layer_norm_eps", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
)  # fmt: skip
_EMBEDDINGS: Final = ("word_embeddings.weight", "position_embeddings.weight", "token_type_embeddings.weight")
_PRODUCTS: Final = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
)  # fmt: skip


@dataclass(frozen=True)
class FastTokenizer:
    """The part of a fast tokenizer of transformers that `Tokeniser` reads."""

    backend_tokenizer: Tokenizer
    pad_token_id: int
    model_max_length: int
    is_fast: bool = True


@dataclass(frozen=True)
class BertFiles:
    """The configuration, the weights and the tokenizer of a plain BERT, as transformers reads them."""

    config: SimpleNamespace
    weights: dict[str, Tensor]
    tokenizer: FastTokenizer

    def state_dict(self) -> dict[str, Tensor]:
        """Return the weights by name."""
        return self.weights

    @classmethod
    def read(cls, folder: Path) -> BertFiles | None:
        """Return the model of a folder; None if transformers must read it.

        That is so for other models than plain BERT, other names or several files of weights, tokenizers whose settings
        transformers would change, and damaged files, for which it has a better error.
        """
        try:
            config = SimpleNamespace(**_json(folder / "config.json"))
            if not all(hasattr(config, name) for name in _CONFIG) or not Bert.fits(config):
                return None
            if (tokenizer := _tokenizer(folder)) is None:
                return None
            weights = load_file(folder / "model.safetensors")
        except (OSError, ValueError, TypeError, AttributeError, SafetensorError):
            return None
        return cls(config, weights, tokenizer) if weights.keys() >= _names(config.num_hidden_layers) else None


def _tokenizer(folder: Path) -> FastTokenizer | None:
    settings, path = _json(folder / "tokenizer_config.json"), folder / "tokenizer.json"
    normalizer = _json(path).get("normalizer") or {}
    # transformers gives these settings precedence over the file of the tokenizer.
    asked = {"lowercase": "do_lower_case", "strip_accents": "strip_accents", "handle_chinese_chars": "tokenize_chinese_chars"}
    if settings.get("tokenizer_class") not in ("BertTokenizer", "BertTokenizerFast") or any(
        theirs not in settings or normalizer.get(ours) != settings[theirs] for ours, theirs in asked.items()
    ):
        return None
    backend = Tokenizer.from_file(str(path))
    padding = backend.token_to_id(settings.get("pad_token") or "[PAD]")
    limit = settings.get("model_max_length")
    return None if padding is None or limit is None else FastTokenizer(backend, padding, int(limit))


def _names(layers: int) -> set[str]:
    parts = [f"encoder.layer.{number}.{name}" for number in range(layers) for name in _PRODUCTS] + ["embeddings.LayerNorm"]
    return {f"embeddings.{name}" for name in _EMBEDDINGS} | {f"{part}.{end}" for part in parts for end in ("weight", "bias")}


def _json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content

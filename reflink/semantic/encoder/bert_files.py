"""Reads a plain BERT from its folder without transformers, whose import takes 3 s of processor time.

The folder must have the usual form in every part that changes a token or a vector. Transformers reads all others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from reflink.semantic.encoder.bert import Bert

#: Settings of the tokenizer that transformers gives precedence over the file of the tokenizer, by their names there.
_NORMALIZER: Final = {
    "lowercase": "do_lower_case", "strip_accents": "strip_accents", "handle_chinese_chars": "tokenize_chinese_chars",
}  # fmt: skip
_SPECIAL: Final = ("unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
#: Files and settings by which transformers adds tokens.
_ADDING_FILES: Final = ("added_tokens.json",)
_ADDING_SETTINGS: Final = ("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens")


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

        That is so for other models than plain BERT, weights of other names, shapes or types or in several files, tokenizers of
        another form, and damaged files, for which transformers has a better error.
        """
        try:
            config = SimpleNamespace(**_json(folder / "config.json"))
            if hasattr(config, "quantization_config") or not (Bert.fits(config) and config.layer_norm_eps > 0):
                return None
            if (tokenizer := _tokenizer(folder)) is None:
                return None
            weights = load_file(folder / "model.safetensors")
            if any(
                name not in weights or tuple(weights[name].shape) != shape or not weights[name].is_floating_point()
                for name, shape in shapes(config)
            ):
                return None
        except Exception:  # safetensors and tokenizers raise their own types, and a file may have any content
            return None
        return cls(config, weights, tokenizer)


def _tokenizer(folder: Path) -> FastTokenizer | None:
    settings, file = _json(folder / "tokenizer_config.json"), _json(folder / "tokenizer.json")
    special = settings | (_json(path) if (path := folder / "special_tokens_map.json").exists() else {})
    if settings["tokenizer_class"] not in ("BertTokenizer", "BertTokenizerFast"):
        return None
    if any((folder / name).exists() for name in _ADDING_FILES) or any(special.get(name) for name in _ADDING_SETTINGS):
        return None
    known = {token["content"]: token["id"] for token in file["added_tokens"]}
    names = {name: _content(special[name]) for name in _SPECIAL}
    if any(_content(settings[name]) != names[name] or names[name] not in known for name in _SPECIAL):
        return None
    model = file["model"]
    normal = (
        file["normalizer"]
        == {"type": "BertNormalizer", "clean_text": True, **{own: settings[theirs] for own, theirs in _NORMALIZER.items()}}
        and file["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and (model["type"], model["unk_token"], model["continuing_subword_prefix"], model["max_input_chars_per_word"])
        == ("WordPiece", names["unk_token"], "##", 100)
        and _single(file["post_processor"]) == [(names["cls_token"], known[names["cls_token"]]), "A",
                                                (names["sep_token"], known[names["sep_token"]])]
    )  # fmt: skip
    if not normal:
        return None
    limit = settings["model_max_length"]
    return FastTokenizer(Tokenizer.from_file(str(folder / "tokenizer.json")), known[names["pad_token"]], int(limit))


def _single(template: dict[str, Any]) -> list[Any]:
    """Return the steps of a template for one text: special tokens with their ids, and "A" for the text."""
    ids = template["special_tokens"]
    return [
        (name, *ids[name]["ids"]) if (name := step.get("SpecialToken", {}).get("id")) else step["Sequence"]["id"]
        for step in template["single"]
    ]


def _content(token: Any) -> str:
    return str(token["content"] if isinstance(token, dict) else token)


def shapes(config: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and the shape of each tensor that ``Bert`` reads."""
    dim, inner = config.hidden_size, config.intermediate_size
    rows = {
        "word_embeddings": config.vocab_size, "position_embeddings": config.max_position_embeddings,
        "token_type_embeddings": config.type_vocab_size,
    }  # fmt: skip
    yield from ((f"embeddings.{name}.weight", (number, dim)) for name, number in rows.items())
    products = {"intermediate.dense": (inner, dim), "output.dense": (dim, inner)} | dict.fromkeys(
        ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"), (dim, dim)
    )
    norms = ["embeddings.LayerNorm"]
    for number in range(config.num_hidden_layers):
        for name, shape in products.items():
            yield f"encoder.layer.{number}.{name}.weight", shape
            yield f"encoder.layer.{number}.{name}.bias", shape[:1]
        norms += [f"encoder.layer.{number}.{name}.LayerNorm" for name in ("attention.output", "output")]
    for name in norms:
        yield f"{name}.weight", (dim,)
        yield f"{name}.bias", (dim,)


def _json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content

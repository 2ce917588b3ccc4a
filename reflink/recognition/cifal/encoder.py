"""The encoder: the layers of a pretrained BERT, in two parts. The lower part is frozen, the upper part learns.

The lower part gives the same states in every epoch, so they are computed once (`finetuning`). The class of each token's
spelling enters between the two parts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from reflink.recognition.cifal.pieces import SPELLINGS


@dataclass(frozen=True)
class Size:
    """Numbers of a BERT: layers, width of the states, heads, width within a layer, words, positions."""

    layers: int
    dim: int
    heads: int
    inner: int
    words: int
    positions: int


class _Layer(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        dim = size.dim
        self.heads = size.heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, size.inner), nn.Linear(size.inner, dim)
        self.attended, self.passed = nn.LayerNorm(dim, eps=1e-12), nn.LayerNorm(dim, eps=1e-12)

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        count, length, dim = states.shape
        query, key, value = self.qkv(states).view(count, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, real[:, None, None, :])
        states = self.attended(states + self.out(mixed.transpose(1, 2).reshape(count, length, dim)))
        passed: Tensor = self.passed(states + self.down(functional.gelu(self.up(states))))
        return passed


class Encoder(nn.Module):
    """Word pieces → states. The first ``frozen`` layers and the embeddings do not learn."""

    def __init__(self, size: Size, frozen: int) -> None:
        super().__init__()
        self.size, self.frozen = size, frozen
        self.words, self.positions = nn.Embedding(size.words, size.dim), nn.Embedding(size.positions, size.dim)
        self.embedded = nn.LayerNorm(size.dim, eps=1e-12)
        self.spellings = nn.Embedding(SPELLINGS, size.dim)
        nn.init.normal_(self.spellings.weight, std=0.02, generator=torch.Generator().manual_seed(0))
        self.layers = nn.ModuleList(_Layer(size) for _ in range(size.layers))
        for part in (self.words, self.positions, self.embedded, *self.layers[:frozen]):
            part.requires_grad_(False)

    def lower(self, ids: Tensor, real: Tensor) -> Tensor:
        """Return the states after the frozen layers, float32 [windows, pieces, dim], of ``ids`` and ``real`` of a `Batch`."""
        with torch.no_grad():
            states: Tensor = self.embedded(self.words(ids) + self.positions.weight[: ids.shape[1]])
            for layer in self.layers[: self.frozen]:
                states = layer(states, real)
            return states

    def upper(self, states: Tensor, spellings: Tensor, real: Tensor) -> Tensor:
        """Return the states after the last layer, float32 [windows, pieces, dim], of the states of ``lower``."""
        states = states + self.spellings(spellings)
        for layer in self.layers[self.frozen :]:
            states = layer(states, real)
        return states

    @classmethod
    def load(cls, folder: Path, frozen: int) -> Self:
        """Return the encoder of a folder with ``config.json`` and ``model.safetensors`` of a BERT."""
        from safetensors.torch import load_file

        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        size = Size(
            config["num_hidden_layers"], config["hidden_size"], config["num_attention_heads"], config["intermediate_size"],
            config["vocab_size"], config["max_position_embeddings"],
        )  # fmt: skip
        encoder = cls(size, frozen)
        weights = load_file(folder / "model.safetensors")
        kind = weights["embeddings.token_type_embeddings.weight"][0]  # of every piece of a single text
        found: dict[str, Any] = {
            "words.weight": weights["embeddings.word_embeddings.weight"],
            "positions.weight": weights["embeddings.position_embeddings.weight"] + kind,
            "spellings.weight": encoder.spellings.weight.data,
        }
        for part in ("weight", "bias"):
            found[f"embedded.{part}"] = weights[f"embeddings.LayerNorm.{part}"]
            for at in range(size.layers):
                own, theirs = f"layers.{at}.", f"encoder.layer.{at}."
                found[f"{own}qkv.{part}"] = torch.cat(
                    [weights[f"{theirs}attention.self.{name}.{part}"] for name in ("query", "key", "value")]
                )
                for name, other in (
                    ("out", "attention.output.dense"), ("attended", "attention.output.LayerNorm"), ("up", "intermediate.dense"),
                    ("down", "output.dense"), ("passed", "output.LayerNorm"),
                ):  # fmt: skip
                    found[f"{own}{name}.{part}"] = weights[f"{theirs}{other}.{part}"]
        encoder.load_state_dict(found)
        return encoder

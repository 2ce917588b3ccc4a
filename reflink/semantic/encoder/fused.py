"""The forward pass of BERT for sentences on a GPU, in fp16: products by cuBLAS, all between them by the kernels of ``bert.cu``.

As ``bert.Bert``, with two differences that fp16 hides: states are rounded to fp16 after each layer normalisation, and GELU is
its approximation by tanh, which cuBLAS computes within the product (at most 0.0005 from the exact one; fp16 rounds values near
1 by as much).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log2
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reflink.gpu import program
from reflink.semantic.encoder.attention import to_device
from reflink.semantic.encoder.model import Kind, Pooling
from reflink.semantic.encoder.tokens import Integers

SOURCE: Final = Path(__file__).with_name("bert.cu")
#: Threads of a warp, and warps of a thread block: tokens, or heads of a text.
LANES: Final = 32
WARPS: Final = 8
HEADS: Final = 4
_KINDS: Final[dict[Kind, int]] = {"mean": 0, "max": 1, "cls": 2}


@dataclass(frozen=True)
class _Weights:
    """A layer's matrices [in, out] and vectors, fp16; of the normalisations float32."""

    qkv: tuple[Tensor, Tensor]
    out: tuple[Tensor, Tensor]
    attended: tuple[Tensor, Tensor]
    up: tuple[Tensor, Tensor]
    down: tuple[Tensor, Tensor]
    passed: tuple[Tensor, Tensor]


class FusedBert:
    """Token ids → one vector per text, float32, not normalised."""

    #: Texts are not padded to the longest.
    padded = False

    def __init__(self, transformer: Any, pooling: Pooling, device: torch.device, kernels: program.Kernels) -> None:
        """Convert the float32 weights of ``transformer``, a ``BertModel`` of transformers for which ``Bert.fits`` holds."""
        config = transformer.config
        self.device = device
        self.dim = int(config.hidden_size)
        self._kernels = kernels
        self._heads = int(config.num_attention_heads)
        self._kind = _KINDS[pooling.kind]
        self._epsilon = float(config.layer_norm_eps)
        self._given: dict[str, Tensor] = {name: tensor.detach().float() for name, tensor in transformer.state_dict().items()}
        self._words = self._on_device("embeddings.word_embeddings.weight")
        types = self._on_device("embeddings.token_type_embeddings.weight")
        self._positions = self._on_device("embeddings.position_embeddings.weight") + types[0]
        self._embedded = self._norm("embeddings.LayerNorm")
        self._layers = [self._layer(f"encoder.layer.{number}.") for number in range(config.num_hidden_layers)]
        self._given = {}

    @staticmethod
    def constants(config: Any) -> dict[str, int] | None:
        """Return the macros of the kernels for a model; None if they cannot compute it."""
        dim, head = int(config.hidden_size), int(config.hidden_size) // int(config.num_attention_heads)
        return {"DIM": dim, "HEAD": head} if dim % 8 == 0 and head % 16 == 0 and head <= 128 and dim <= 4096 else None

    def __call__(self, ids: Integers, lengths: Integers) -> Tensor:
        """Return vectors [n, dim] of texts of these lengths, concatenated in ``ids``. On a GPU only queues the work."""
        number, texts = len(ids), len(lengths)
        starts = np.zeros(texts + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        # One copy to the device: token ids, their positions in their texts, and the first token of each text.
        given = np.concatenate([ids, np.arange(number) - np.repeat(starts[:-1], lengths), starts]).astype(np.int32)
        sent = to_device(torch.from_numpy(given), self.device)
        tokens, positions, begins = sent[:number], sent[number : 2 * number], sent[2 * number :]
        launch, rows = self._kernels.launch, (-(-number // WARPS),)
        x = torch.empty((number, self.dim), dtype=torch.float16, device=self.device)
        norm = (*self._embedded, self._epsilon)
        launch("embedded", rows, (LANES, WARPS), tokens, positions, number, self._words, self._positions, *norm, x)
        mixed = torch.empty_like(x)
        for layer in self._layers:
            qkv = torch.addmm(layer.qkv[1], x, layer.qkv[0])
            launch("attended", (texts, -(-self._heads // HEADS)), (LANES, HEADS), qkv, begins, mixed)
            added = torch.addmm(layer.out[1], mixed, layer.out[0])
            launch("add_and_normalise", rows, (LANES, WARPS), x, added, number, *layer.attended, self._epsilon)
            added = torch.addmm(layer.down[1], _gelu(x, *layer.up), layer.down[0])
            launch("add_and_normalise", rows, (LANES, WARPS), x, added, number, *layer.passed, self._epsilon)
        vectors = torch.empty((texts, self.dim), dtype=torch.float32, device=self.device)
        launch("pooled", (texts,), (self.dim // 4,), x, begins, self._kind, vectors)
        return vectors

    def _on_device(self, name: str) -> Tensor:
        return self._given[name].to(self.device).contiguous()

    def _norm(self, name: str) -> tuple[Tensor, Tensor]:
        return self._on_device(f"{name}.weight"), self._on_device(f"{name}.bias")

    def _product(self, *parts: tuple[str, float]) -> tuple[Tensor, Tensor]:
        """Return the weights of these linear layers side by side, multiplied by their factors."""
        weight = torch.cat([self._given[f"{name}.weight"] * factor for name, factor in parts])
        bias = torch.cat([self._given[f"{name}.bias"] * factor for name, factor in parts])
        return weight.to(self.device, torch.float16).contiguous().t(), bias.to(self.device, torch.float16)

    def _layer(self, at: str) -> _Weights:
        # The kernel's softmax takes powers of two.
        scale = log2(e) / (self.dim // self._heads) ** 0.5
        parts = ((f"{at}attention.self.{name}", factor) for name, factor in (("query", scale), ("key", 1.0), ("value", 1.0)))
        return _Weights(
            qkv=self._product(*parts),
            out=self._product((f"{at}attention.output.dense", 1.0)),
            attended=self._norm(f"{at}attention.output.LayerNorm"),
            up=self._product((f"{at}intermediate.dense", 1.0)),
            down=self._product((f"{at}output.dense", 1.0)),
            passed=self._norm(f"{at}output.LayerNorm"),
        )


def _gelu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return GELU(x @ weight + bias), by its approximation."""
    product: Tensor
    try:  # one kernel of cuBLAS; a private function of torch, which may be removed
        product = torch._addmm_activation(bias, x, weight, use_gelu=True)
    except (AttributeError, RuntimeError, TypeError):
        product = functional.gelu(torch.addmm(bias, x, weight), approximate="tanh")
    return product

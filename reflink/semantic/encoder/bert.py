"""The forward pass of BERT for sentences: texts are concatenated, without padding, and weights are moved to the device once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reflink.semantic.encoder import attention
from reflink.semantic.encoder.linear import Linear, linear
from reflink.semantic.encoder.model import Pooling
from reflink.semantic.encoder.precision import DTYPES, Precision
from reflink.semantic.encoder.tokens import Integers

#: On a CPU, the tokens of a pass are padded to a multiple of this.
ROWS: Final = 64


@dataclass(frozen=True)
class _Norm:
    weight: Tensor
    bias: Tensor
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


@dataclass(frozen=True)
class _Layer:
    qkv: Linear
    out: Linear
    attended: _Norm
    up: Linear
    down: Linear
    passed: _Norm


class Bert:
    """Token ids → one vector per text, float32, not normalised.

    Products have the precision of the encoder; residual sums, layer normalisations, softmax and pooling are float32.
    """

    #: Texts are not padded to the longest.
    padded = False

    def __init__(self, transformer: Any, pooling: Pooling, device: str, precision: Precision) -> None:
        """Convert the float32 weights of ``transformer``, a ``BertModel`` of transformers for which ``fits`` holds."""
        config = transformer.config
        self.device = torch.device(device)
        self.dim = int(config.hidden_size)
        self._heads = int(config.num_attention_heads)
        self._dtype = DTYPES[precision]
        self._pooling = pooling.kind
        # oneDNN caches a compiled kernel for each number of rows: a gigabyte if every number occurs.
        self._step = ROWS if self.device.type == "cpu" else 1
        self._attend = attention.choose(self.device, self._dtype, self._heads, self.dim)
        weights = {name: tensor.detach().float() for name, tensor in transformer.state_dict().items()}
        epsilon = float(config.layer_norm_eps)
        names = weights["embeddings.word_embeddings.weight"]
        places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        self._words, self._places = names.to(self.device), places.to(self.device)
        self._embedded = self._norm(weights, "embeddings.LayerNorm", epsilon)
        self._layers = [self._layer(weights, f"encoder.layer.{number}.", epsilon) for number in range(config.num_hidden_layers)]

    @staticmethod
    def fits(config: Any) -> bool:
        """Return whether this class can compute a model of this configuration: plain BERT, not its variants."""
        return (
            config.model_type == "bert"
            and config.hidden_act == "gelu"
            and getattr(config, "position_embedding_type", "absolute") in (None, "absolute")
            and not getattr(config, "is_decoder", False)
            and config.hidden_size % config.num_attention_heads == 0
        )

    def __call__(self, ids: Integers, lengths: Integers) -> Tensor:
        """Return vectors [n, dim] of texts of these lengths, concatenated in ``ids``. On a GPU only queues the work."""
        layout = attention.Layout.of(lengths, self.device)
        places = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        tokens = np.zeros((2, -(-len(ids) // self._step) * self._step), np.int64)
        tokens[:, : len(ids)] = ids, places
        words, places = attention.to_device(torch.from_numpy(tokens), self.device)
        x = self._embedded(self._words[words] + self._places[places])
        for layer in self._layers:
            attended = layer.out(self._attend(layer.qkv(x.to(self._dtype)), self._heads, layout))
            x = layer.attended(x + attended)
            x = layer.passed(x + layer.down(layer.up(x.to(self._dtype))))
        return self._pool(x, layout)

    def _pool(self, states: Tensor, layout: attention.Layout) -> Tensor:
        if self._pooling == "cls":
            return states[layout.starts[:-1]]
        pooled, first = [], 0
        for number, length in layout.runs:
            texts = states[first : first + number * length].view(number, length, self.dim)
            pooled.append(texts.mean(1) if self._pooling == "mean" else texts.amax(1))
            first += number * length
        return torch.cat(pooled)

    def _norm(self, weights: Mapping[str, Tensor], name: str, epsilon: float) -> _Norm:
        return _Norm(weights[f"{name}.weight"].to(self.device), weights[f"{name}.bias"].to(self.device), epsilon)

    def _linear(self, weight: Tensor, bias: Tensor, *, gelu: bool = False) -> Linear:
        return linear(weight.to(self.device, self._dtype), bias.to(self.device, self._dtype), gelu=gelu)

    def _layer(self, weights: Mapping[str, Tensor], at: str, epsilon: float) -> _Layer:
        def both(name: str) -> tuple[Tensor, Tensor]:
            return weights[f"{at}{name}.weight"], weights[f"{at}{name}.bias"]

        (query, query_bias), *others = (both(f"attention.self.{name}") for name in ("query", "key", "value"))
        scale = (self.dim // self._heads) ** -0.5
        parts = [(query * scale, query_bias * scale), *others]
        return _Layer(
            qkv=self._linear(torch.cat([weight for weight, _ in parts]), torch.cat([bias for _, bias in parts])),
            out=self._linear(*both("attention.output.dense")),
            attended=self._norm(weights, f"{at}attention.output.LayerNorm", epsilon),
            up=self._linear(*both("intermediate.dense"), gelu=True),
            down=self._linear(*both("output.dense")),
            passed=self._norm(weights, f"{at}output.LayerNorm", epsilon),
        )

"""Running a transformer whose sentence vector is the mean of its token vectors, in batches bounded by tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch
from transformers.utils import logging

from reflink.semantic.batches import batches

Precision = Literal["fp32", "bf16", "fp16"]
Single = npt.NDArray[np.float32]
Tokens = list[list[int]]

DTYPES: Final[dict[Precision, torch.dtype]] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}

#: Texts tokenised at a time: bounds what lists of tokens take in memory.
CHUNK: Final = 20_000


def choose_device(device: str) -> str:
    """``auto`` is the first CUDA device where there is one, else the CPU; anything else is taken as torch does."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def choose_precision(device: str) -> Precision:
    """The fastest that keeps the order of candidates: fp16 on CUDA, bf16 on CPUs that compute in it, else fp32."""
    if device.startswith("cuda"):
        return "fp16"
    # torch tells only by functions that may go; without them fp32 is slower, never wrong.
    probes: list[Callable[[], bool] | None] = [
        getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    ]
    return "bf16" if device.startswith("cpu") and any(probe is not None and probe() for probe in probes) else "fp32"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Loading a model without progress bars and remarks; the settings of transformers' log are put back."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


class MeanPooled:
    """Vectors of texts: tokens → transformer → mean over the tokens → length 1. Arithmetic of the mean is float32."""

    def __init__(
        self, tokenizer: Any, transformer: Any, max_tokens: int, device: str, precision: Precision, token_budget: int
    ) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._device = torch.device(device)
        self._precision: Precision = precision
        self._token_budget = token_budget
        # On a GPU whole weights in fp16 are fastest; on a CPU autocast keeps normalisations and sums in float32.
        self._whole = self._device.type != "cpu"
        self._transformer = transformer.eval().to(self._device, DTYPES[precision] if self._whole else torch.float32)
        self.dim = int(transformer.config.hidden_size)
        #: Tokens encoded so far, padding not counted.
        self.tokens_read = 0

    def tokenise(self, texts: Sequence[str]) -> Tokens:
        """Token ids of each text with the special ones, cut at the model's length."""
        if not texts:
            return []
        # The tokenizer refuses lone surrogates, which JSON can carry.
        sound = [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]
        encoded = self._tokenizer(
            sound, truncation=True, max_length=self._max_tokens, return_attention_mask=False, return_token_type_ids=False
        )
        return encoded["input_ids"]  # type: ignore[no-any-return]

    def encode(self, texts: Sequence[str]) -> Single:
        """Unit vectors, float32 [n, dim], in the order of the texts."""
        vectors = np.empty((len(texts), self.dim), np.float32)
        for first in range(0, len(texts), CHUNK):
            chunk = self.tokenise(texts[first : first + CHUNK])
            self.tokens_read += sum(map(len, chunk))
            groups, parts = [], []
            for rows, part in self._forward(chunk):
                groups.append(rows)
                parts.append(part)
            # One copy from the device at the end, so that batches follow one another without waiting.
            vectors[first + np.concatenate(groups)] = torch.cat(parts).cpu().numpy()
        return vectors

    def _forward(self, tokens: Tokens) -> Iterator[tuple[npt.NDArray[np.int64], torch.Tensor]]:
        lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
        pad = self._tokenizer.pad_token_id or 0
        autocast = not self._whole and self._precision != "fp32"
        for rows in batches(lengths, self._token_budget):
            used = np.arange(lengths[rows].max()) < lengths[rows, None]
            ids = np.full(used.shape, pad, np.int64)
            ids[used] = np.concatenate([np.asarray(tokens[row], np.int64) for row in rows])
            with torch.inference_mode(), torch.autocast(self._device.type, DTYPES[self._precision], enabled=autocast):
                mask = torch.from_numpy(used).to(self._device)
                states = self._transformer(
                    input_ids=torch.from_numpy(ids).to(self._device), attention_mask=mask.long()
                ).last_hidden_state
                sums = (states.float() * mask[..., None]).sum(1)
                yield rows, torch.nn.functional.normalize(sums / mask.sum(1, keepdim=True).clamp(min=1))

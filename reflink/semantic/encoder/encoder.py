"""The sentence encoder: texts to unit vectors."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from reflink.errors import ModelNotFound
from reflink.semantic.encoder.model import (
    DEFAULT_NAME,
    DEFAULT_SHA256,
    INSTALL,
    default_folder,
    pooling_of,
    separator_of,
    weights_sha256,
)
from reflink.semantic.encoder.spent import Spent
from reflink.semantic.encoder.token_budget import TokenBudget
from reflink.text import SEP

if TYPE_CHECKING:
    from reflink.semantic.encoder.passes import Passes
    from reflink.semantic.encoder.published import Published

log = logging.getLogger(__name__)

#: Default max tokens of a pass, on a CPU, where more gains nothing, and on a GPU, where fewer passes take less of the host's
#: time (docs/performance.md).
TOKEN_BUDGET: Final = 4096
GPU_TOKEN_BUDGET: Final = 262_144

#: Max 1 - cosine of two vectors of the same text from the same model, by precision, whatever the other texts, their order and
#: the token budget. Measured on a CPU: the vectors of BERT are bit-identical (float32 vectors resolve 2e-7 at best); models
#: that pad reach 3e-5 in bf16.
BATCH_BOUND: Final[Mapping[str, float]] = {"fp32": 1e-6, "bf16": 1e-4, "fp16": 1e-4}


class Encoder:
    """A sentence encoder: ``encode(texts)`` → float32 [n, dim], each row of length 1.

    ``model``: None is all-MiniLM-L6-v2, the paper's SBERT, from its package and without network access; else a folder or a name
    on the Hugging Face hub, as for sentence-transformers. ``device``: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, …
    ``precision``: ``auto`` (fp16 on CUDA, fp32 on CPUs), ``fp32``, ``bf16``, ``fp16``.
    ``token_budget``: max tokens of a pass, None for the default of the device; halved when memory runs out, and grown back
    later (``memory``).
    ``separator``: the string between the fields of a text; None for the model's own, which is SBERT's unless its folder sets
    another.

    A text is truncated to the model's own length (256 tokens by default). The other texts of a batch change its vector by less
    than ``BATCH_BOUND``. Three backends run models: our own forward pass runs plain BERT, transformers runs other transformers
    with one pooling, and sentence-transformers any other model. Raises ModelNotFound if torch or the weights are absent or the
    weights are not the expected ones; DeviceMissing for an absent CUDA device; ValueError for another invalid argument.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        device: str = "auto",
        precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto",
        token_budget: int | None = None,
        separator: str | None = None,
    ) -> None:
        if token_budget is not None and token_budget < 1:
            raise ValueError(f"token_budget is {token_budget}: at least 1 is needed")
        if precision not in ("auto", "fp32", "bf16", "fp16"):
            raise ValueError(f"unknown precision {precision!r}: expected auto, fp32, bf16 or fp16")
        if separator == "":
            raise ValueError("separator is empty: fields would run into one another")
        source = default_folder() if model is None else model
        try:
            from reflink.semantic.encoder import loading
            from reflink.semantic.encoder.precision import choose_device, choose_precision
        except ImportError as error:
            raise ModelNotFound(f"the encoder needs torch, safetensors and tokenizers ({error}): {INSTALL}") from None
        self.device: Final = choose_device(device)
        self.precision: Final = choose_precision(self.device) if precision == "auto" else precision
        if token_budget is None:
            token_budget = GPU_TOKEN_BUDGET if self.device.startswith("cuda") else TOKEN_BUDGET
        self._backend: Passes | Published
        try:
            self._backend, folder = loading.load(source, self.device, self.precision, token_budget)
        except (ImportError, OSError, ValueError) as error:
            remedy = f": {INSTALL}" if isinstance(error, ImportError) else ""
            raise ModelNotFound(f"model {model or DEFAULT_NAME}: {' '.join(str(error).split())[:300]}{remedy}") from None
        self.separator: Final = separator or separator_of(folder)
        sha256 = DEFAULT_SHA256 if model is None else weights_sha256(folder)
        known = DEFAULT_NAME if sha256 == DEFAULT_SHA256 else Path(str(model)).name
        pooling = pooling_of(folder)
        kind = "" if pooling is None or pooling.kind == "mean" else f"+{pooling.kind}"
        join = "" if self.separator == SEP else f"+{quote(self.separator, safe='')}"
        #: Name, weights, and pooling and separator if they are not SBERT's, in one word. Saved with every snapshot of vectors.
        self.name: Final = f"{known}@{sha256[:12]}{kind}{join}"
        self.dim: Final = self._backend.dim
        about = {"model": self.name, "sha256": sha256, "pinned": model is None, "precision": self.precision}
        log.info("encoder", extra=about)

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, float32 [n, dim], in the order of the texts; an empty text has a vector too.

        Raises NoMemory if a single text does not fit the device.
        """
        return self._backend.encode(texts)

    def tokens(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the number of tokens that the model reads of each text: int64 [n]."""
        return self._backend.tokens(texts)

    @property
    def tokens_read(self) -> int:
        """Number of tokens encoded so far, without padding; 0 for a model that sentence-transformers runs."""
        return self._backend.tokens_read

    @property
    def spent(self) -> Spent:
        """Seconds spent so far on tokenising and in the model; with sentence-transformers both count as the model's."""
        return self._backend.spent

    @property
    def memory(self) -> TokenBudget:
        """The current token budget, and the number of times that memory ran out."""
        return self._backend.budget

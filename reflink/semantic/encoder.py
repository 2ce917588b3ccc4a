"""Texts to unit vectors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from reflink.errors import ModelNotFound
from reflink.semantic.model import (
    DEFAULT_NAME,
    DEFAULT_SHA256,
    INSTALL,
    PICKLES,
    Pooling,
    default_folder,
    mean_pooling,
    refuse_pickles,
    weights_sha256,
)

if TYPE_CHECKING:
    from reflink.semantic.pooled import MeanPooled

log = logging.getLogger(__name__)

#: Tokens in a batch unless told: what fits a CPU's caches.
TOKEN_BUDGET: Final = 4096


class Encoder:
    """A sentence encoder: ``encode(texts)`` → float32 [n, dim], each row of length 1.

    ``model``: None is all-MiniLM-L6-v2, the paper's SBERT, from its package and without any network; else a folder or a name on
    the Hugging Face hub, as sentence-transformers takes them. ``device``: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, …
    ``precision``: ``auto`` (fp16 on CUDA, bf16 on CPUs that compute in it, else fp32), ``fp32``, ``bf16``, ``fp16``.
    ``token_budget``: tokens in a batch, padding included.

    A text is cut at the model's own length (256 tokens by default). The rounding of a vector depends on what it is batched
    with: below 1e-6 of cosine in fp32, 1e-4 in bf16 and fp16. Models that pool by the mean run here, others by
    sentence-transformers.
    Raises ModelNotFound when torch or the weights are absent or not the right ones.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        device: str = "auto",
        precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto",
        token_budget: int = TOKEN_BUDGET,
    ) -> None:
        if token_budget < 1:
            raise ValueError(f"token_budget is {token_budget}: at least 1 is needed")
        if precision not in ("auto", "fp32", "bf16", "fp16"):
            raise ValueError(f"unknown precision {precision!r}: expected auto, fp32, bf16 or fp16")
        folder = default_folder() if model is None else Path(model)
        try:
            from reflink.semantic import pooled
        except ImportError as error:
            raise ModelNotFound(f"the encoder needs torch and transformers ({error}): {INSTALL}") from None
        self.device: Final = pooled.choose_device(device)
        self.precision: Final = pooled.choose_precision(self.device) if precision == "auto" else precision
        self._token_budget = token_budget
        self._own: MeanPooled | None = None
        self._other: Any = None
        pooling = mean_pooling(folder)
        with pooled.quiet():
            try:
                if pooling is not None:
                    self._own = self._load_own(folder, pooling)
                else:
                    self._other, folder = self._load_other(str(model))
            except (ImportError, OSError, ValueError) as error:
                raise ModelNotFound(f"model {model or DEFAULT_NAME}: {' '.join(str(error).split())[:300]}") from None
        sha256 = DEFAULT_SHA256 if model is None else weights_sha256(folder)
        known = DEFAULT_NAME if sha256 == DEFAULT_SHA256 else Path(str(model)).name
        #: Name and weights in one word, kept with every snapshot of vectors.
        self.name: Final = f"{known}@{sha256[:12]}"
        log.info("encoder", extra={"model": self.name, "sha256": sha256, "pinned": model is None})
        self.dim: Final = self._own.dim if self._own is not None else int(self.encode([""]).shape[1])

    def _load_own(self, folder: Path, pooling: Pooling) -> MeanPooled:
        from transformers import AutoModel, AutoTokenizer

        from reflink.semantic.pooled import MeanPooled

        refuse_pickles(folder)
        only = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(folder, **only)
        transformer = AutoModel.from_pretrained(folder, use_safetensors=True, **only)
        positions = getattr(transformer.config, "max_position_embeddings", None) or tokenizer.model_max_length
        max_tokens = pooling.max_tokens or min(positions, tokenizer.model_max_length)
        return MeanPooled(tokenizer, transformer, max_tokens, self.device, self.precision, self._token_budget)

    def _load_other(self, model: str) -> tuple[Any, Path]:
        from sentence_transformers import SentenceTransformer

        from reflink.semantic.pooled import DTYPES

        folder = Path(model)
        if not folder.is_dir():
            from huggingface_hub import snapshot_download

            # Brought before it is loaded, so that no pickle is.
            folder = Path(
                snapshot_download(model, ignore_patterns=[*PICKLES, "onnx/*", "openvino/*", "*.h5", "*.msgpack", "*.ot"])
            )
        refuse_pickles(folder)
        kept: dict[str, Any] = {"dtype": DTYPES[self.precision], "use_safetensors": True}
        loaded = SentenceTransformer(str(folder), device=self.device, model_kwargs=kept, trust_remote_code=False)
        return loaded, folder

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, float32 [n, dim], in the order of the texts; an empty text has one too."""
        if not len(texts):
            return np.empty((0, self.dim), np.float32)
        if self._own is not None:
            return self._own.encode(texts)
        vectors = self._other.encode(
            list(texts), batch_size=self._texts_in_batch(), normalize_embeddings=True, convert_to_tensor=True,
            show_progress_bar=False,
        )  # fmt: skip
        return np.asarray(vectors.float().cpu().numpy(), np.float32)

    @property
    def tokens_read(self) -> int:
        """Tokens encoded so far, padding not counted; 0 for a model that sentence-transformers runs."""
        return 0 if self._own is None else self._own.tokens_read

    def _texts_in_batch(self) -> int:
        return max(1, self._token_budget // (self._other.max_seq_length or 512))

    def tokens(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """The number of tokens that the model reads of each text: int64 [n]."""
        if self._own is not None:
            tokens = self._own.tokenise(texts)
        else:
            limit = self._other.max_seq_length
            cut = {"truncation": True, "max_length": limit} if limit else {}
            tokens = self._other.tokenizer(list(texts), **cut)["input_ids"] if len(texts) else []
        return np.fromiter(map(len, tokens), np.int64, len(tokens))

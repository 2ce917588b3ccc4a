"""The backend that runs sentence-transformers: the reference for every model, used if no other backend supports a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reflink.errors import NoMemory
from reflink.semantic.encoder.model import PICKLES, refuse_pickles
from reflink.semantic.encoder.precision import DTYPES, Precision
from reflink.semantic.encoder.spent import Spent
from reflink.semantic.encoder.token_budget import TokenBudget, is_out_of_memory


def fetched(model: str) -> Path:
    """Return the folder of a model: ``model`` itself, or a download from the Hugging Face hub.

    Raises ModelNotFound if weights would be read from a pickle.
    """
    folder = Path(model)
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        # Downloaded separately from loading, so that pickles are neither downloaded nor loaded.
        ignored = [*PICKLES, "onnx/*", "openvino/*", "*.h5", "*.msgpack", "*.ot"]
        folder = Path(snapshot_download(model, ignore_patterns=ignored))
    refuse_pickles(folder)
    return folder


class Published:
    """A model as sentence-transformers runs it."""

    def __init__(self, folder: Path, device: str, precision: Precision, token_budget: int) -> None:
        from sentence_transformers import SentenceTransformer

        kept: dict[str, Any] = {"dtype": DTYPES[precision], "use_safetensors": True}
        self._model: Any = SentenceTransformer(str(folder), device=device, model_kwargs=kept, trust_remote_code=False)
        self.budget = TokenBudget(token_budget)
        #: Always 0: sentence-transformers does not report it.
        self.tokens_read = 0
        self.spent = Spent()
        self.dim = int(self._encode([""]).shape[1])

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, float32 [n, dim], in the order of the texts. Raises NoMemory if a single text does not fit."""
        if not len(texts):
            return np.empty((0, self.dim), np.float32)
        started = time.perf_counter()
        vectors = self._encode([text.encode("utf-8", "replace").decode() for text in texts])
        self.spent.model_s += time.perf_counter() - started
        return vectors

    def _encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        longest = int(self._model.max_seq_length or 512)
        while True:
            number = max(1, self.budget.tokens // longest)
            try:
                vectors = self._model.encode(
                    texts, batch_size=number, normalize_embeddings=True, convert_to_tensor=True, show_progress_bar=False
                )
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self.budget.failed(number * longest)
                if number == 1:
                    raise NoMemory(f"no memory on {self._model.device} for one text of up to {longest} tokens") from None
            else:
                self.budget.passed()
                return np.asarray(vectors.float().cpu().numpy(), np.float32)

    def tokens(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the number of tokens that the model reads of each text: int64 [n]."""
        limit = self._model.max_seq_length
        cut = {"truncation": True, "max_length": limit} if limit else {}
        lists = self._model.tokenizer(list(texts), **cut)["input_ids"] if len(texts) else []
        return np.fromiter(map(len, lists), np.int64, len(lists))

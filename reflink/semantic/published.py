"""sentence-transformers itself: the reference for every model, and the backend of those that nothing else here computes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reflink.errors import NoMemory
from reflink.semantic.model import PICKLES, refuse_pickles
from reflink.semantic.precision import DTYPES, Precision
from reflink.semantic.spent import Spent
from reflink.semantic.token_budget import TokenBudget, is_out_of_memory


def fetched(model: str) -> Path:
    """The folder of a model: itself, or brought from the Hugging Face hub. Raises ModelNotFound where it holds pickles."""
    folder = Path(model)
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        # Brought before it is loaded, so that no pickle is.
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
        #: Not known here.
        self.tokens_read = 0
        self.spent = Spent()
        self.dim = int(self._encode([""]).shape[1])

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, float32 [n, dim], in the order of the texts. Raises NoMemory when one text alone does not fit."""
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
        """Tokens that the model reads of each text."""
        limit = self._model.max_seq_length
        cut = {"truncation": True, "max_length": limit} if limit else {}
        lists = self._model.tokenizer(list(texts), **cut)["input_ids"] if len(texts) else []
        return np.fromiter(map(len, lists), np.int64, len(lists))

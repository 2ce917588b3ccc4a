"""Loading of a model with the fastest backend that supports it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from reflink.gpu.program import compiled
from reflink.semantic.encoder.bert import Bert
from reflink.semantic.encoder.bert_files import BertFiles
from reflink.semantic.encoder.fused import SOURCE, FusedBert
from reflink.semantic.encoder.model import Pooling, pooling_of
from reflink.semantic.encoder.passes import Forward, Passes
from reflink.semantic.encoder.pooled import Padded
from reflink.semantic.encoder.precision import Precision
from reflink.semantic.encoder.published import Published, fetched
from reflink.semantic.encoder.tokens import Tokeniser


def load(model: str | Path, device: str, precision: Precision, token_budget: int) -> tuple[Passes | Published, Path]:
    """Return the backend and the folder of a model, which is a folder or a name on the Hugging Face hub.

    ``Bert`` runs plain BERT with one pooling (``FusedBert`` on a GPU), ``Padded`` other transformers with one pooling, and
    ``Published`` any other model. Transformers is imported only where ``BertFiles`` cannot read the folder.
    Raises ModelNotFound, ImportError, OSError or ValueError.
    """
    with contextlib.nullcontext() if Path(model).is_dir() else quiet():
        folder = fetched(str(model))
    pooling = pooling_of(folder)
    if pooling is not None and (files := BertFiles.read(folder)):
        return _passes(files, files.tokenizer, pooling, device, precision, token_budget), folder
    from transformers import AutoModel, AutoTokenizer

    with quiet():
        if pooling is None:
            return Published(folder, device, precision, token_budget), folder
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        transformer = AutoModel.from_pretrained(
            folder, use_safetensors=True, local_files_only=True, trust_remote_code=False, dtype="float32"
        )
        return _passes(transformer, tokenizer, pooling, device, precision, token_budget), folder


def _passes(transformer: Any, tokenizer: Any, pooling: Pooling, device: str, precision: Precision, token_budget: int) -> Passes:
    limit, positions = tokenizer.model_max_length, getattr(transformer.config, "max_position_embeddings", None)
    tokeniser = Tokeniser(tokenizer, min(pooling.max_tokens or positions or limit, positions or limit, limit))
    return Passes(tokeniser, _forward(transformer, pooling, device, precision, tokeniser.padding), token_budget)


def _forward(transformer: Any, pooling: Pooling, device: str, precision: Precision, padding: int) -> Forward:
    if not Bert.fits(transformer.config):
        return Padded(transformer, pooling, device, precision, padding)
    place, constants = torch.device(device), FusedBert.constants(transformer.config)
    if place.type == "cuda" and precision == "fp16" and constants and (kernels := compiled(SOURCE, constants, place)):
        return FusedBert(transformer, pooling, place, kernels)
    return Bert(transformer, pooling, device, precision)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress the progress bars and log messages of transformers; restore its settings afterwards."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()

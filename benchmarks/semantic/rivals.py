"""Run the same model by other means, for comparison: ONNX Runtime, OpenVINO and torch's int8, each if installed.

``pip install onnx onnxscript onnxruntime openvino nncf`` installs all. reflink needs none of them. Each receives sorted batches
of the same token budget, padded; its token vectors are averaged in numpy.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModel, AutoTokenizer

from reflink.semantic.encoder.batches import batches
from reflink.semantic.encoder.loading import quiet
from reflink.semantic.encoder.model import default_folder
from reflink.semantic.encoder.tokens import Tokeniser

Vectors = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
#: Token ids and mask [n, length] → token vectors [n, length, dim].
States = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.float32]]

BUDGET = 4096
MAX_TOKENS = 256
CALIBRATION = 300


class Network(torch.nn.Module):
    """The transformer with its token vectors as the only output."""

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return states


def available(texts: Sequence[str]) -> dict[str, Encode]:
    """Return the installed implementations by name.

    ``texts`` calibrate the quantised models that need it; they must differ from the measured texts.
    """
    folder = default_folder()
    with quiet():
        tokeniser = Tokeniser(AutoTokenizer.from_pretrained(folder), MAX_TOKENS)
        network = Network(AutoModel.from_pretrained(folder, dtype="float32")).eval()
    found: dict[str, States] = {}
    if hasattr(torch.ao.quantization, "quantize_dynamic"):
        found["torch int8, dynamic"] = _torch_int8(network)
    if not all(map(importlib.util.find_spec, ("onnx", "onnxscript"))):
        return {name: _encoder(tokeniser, states) for name, states in found.items()}
    with tempfile.TemporaryDirectory() as scratch:
        exported = Path(scratch) / "model.onnx"
        _export(network, exported)
        if importlib.util.find_spec("onnxruntime"):
            found |= _onnxruntime(exported)
        if importlib.util.find_spec("openvino"):
            samples = [_padded(tokeniser, [text]) for text in texts[:CALIBRATION]]
            found |= _openvino(exported, samples)
    return {name: _encoder(tokeniser, states) for name, states in found.items()}


def _export(network: torch.nn.Module, path: Path) -> None:
    ids, mask = torch.full((2, 7), 5, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64)
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        network, (ids, mask), path, input_names=["input_ids", "attention_mask"], output_names=["states"],
        dynamic_shapes={"input_ids": axes, "attention_mask": axes}, dynamo=True, external_data=False, verbose=False,
    )  # fmt: skip


def _torch_int8(network: torch.nn.Module) -> States:
    quantised = torch.ao.quantization.quantize_dynamic(network, {torch.nn.Linear}, dtype=torch.qint8)

    def states(ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        with torch.inference_mode():
            return np.asarray(quantised(torch.from_numpy(ids), torch.from_numpy(mask)).numpy())

    return states


def _onnxruntime(path: Path) -> dict[str, States]:
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    eight = path.with_name("int8.onnx")
    quantize_dynamic(path, eight, weight_type=QuantType.QInt8, per_channel=True, extra_options={"MatMulConstBOnly": True})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()

    def of(file: Path) -> States:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        return lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    return {"onnxruntime fp32": of(path), "onnxruntime int8, dynamic": of(eight)}


def _openvino(path: Path, samples: Sequence[Any]) -> dict[str, States]:
    import openvino

    core = openvino.Core()
    model = core.read_model(path)

    def of(network: Any, hint: str) -> States:
        compiled = core.compile_model(network, "CPU", {"INFERENCE_PRECISION_HINT": hint})
        return lambda ids, mask: np.array(compiled([ids, mask])[0], np.float32)

    found = {"openvino fp32": of(model, "f32"), "openvino bf16": of(model, "bf16")}
    if importlib.util.find_spec("nncf"):
        import nncf

        data = nncf.Dataset([{"input_ids": ids, "attention_mask": mask} for ids, mask in samples])
        quantised = nncf.quantize(core.read_model(path), data, model_type=nncf.ModelType.TRANSFORMER, subset_size=len(samples))
        found["openvino int8"] = of(quantised, "bf16")
    return found


def _padded(tokeniser: Tokeniser, texts: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    tokens = tokeniser(texts)
    used = np.arange(tokens.lengths.max()) < tokens.lengths[:, None]
    ids = np.full(used.shape, tokeniser.padding, np.int64)
    ids[used] = tokens.flat
    return ids, used.astype(np.int64)


def _encoder(tokeniser: Tokeniser, states: States) -> Encode:
    def encode(texts: Sequence[str]) -> Vectors:
        parts, order = [], []
        for rows in batches(tokeniser(texts).lengths, BUDGET):
            ids, mask = _padded(tokeniser, [texts[row] for row in rows])
            sums = (states(ids, mask) * mask[..., None]).sum(1)
            parts.append(sums / np.linalg.norm(sums, axis=1, keepdims=True))
            order.append(rows)
        vectors = np.empty((len(texts), parts[0].shape[1]), np.float32)
        vectors[np.concatenate(order)] = np.concatenate(parts)
        return vectors

    return encode

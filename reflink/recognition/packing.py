"""The file of a tagger's weights: a zip archive of arrays without pickles. Equal arrays give equal bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from reflink.errors import ModelNotFound
from reflink.recognition.labels import LABELS

Array = np.ndarray[Any, np.dtype[Any]]

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def pack(arrays: Mapping[str, Any], version: int) -> bytes:
    """Return the file of ``arrays``, compressed. int8 stands for values in 256 steps (`quantised`)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for key, array in {"format": np.array(version), "labels": np.array(LABELS), **arrays}.items():
            member = io.BytesIO()
            np.save(member, np.asarray(array), allow_pickle=False)
            packed.writestr(zipfile.ZipInfo(f"{key}.npy", _EPOCH), member.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def quantised(name: str, values: Array, scale: Array) -> dict[str, Array]:
    """Return the arrays that stand for ``values`` in 8 bits. ``scale``: the values of one step, broadcast to ``values``."""
    return {name: np.rint(values / scale).astype(np.int8), f"{name}_scale": np.asarray(scale, dtype=np.float32)}


def unpack(data: bytes, name: str, version: int, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Return float32 arrays of the given shapes. Raises ModelNotFound if the file is damaged or of another version."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
        stated, labels = int(found["format"]), str(found["labels"])
        values = {key: found[key].astype(np.float32) for key in shapes}
        for key in shapes:
            if found[key].dtype == np.int8:
                values[key] = values[key] * found[f"{key}_scale"].astype(np.float32)
    except Exception as error:  # numpy, zipfile, zlib and tokenize raise more than ten kinds for damaged files
        raise ModelNotFound(f"{name}: not a file of the recogniser's weights ({error}): install reflink again") from None
    sound = {key: part.shape for key, part in values.items()} == dict(shapes) and stated == version and labels == LABELS
    if not sound or not all(np.isfinite(part).all() for part in values.values()):
        raise ModelNotFound(f"{name}: the recogniser's weights are of another version: train them again with this one")
    return values

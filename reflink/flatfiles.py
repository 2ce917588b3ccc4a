"""A folder of flat arrays: written whole or not at all, opened by memory map, refused when it is not what it should be.

The manifest is removed before the first file is replaced and written after the last: a folder without one is unfinished.
Files are replaced, never overwritten, so whoever has the old ones mapped goes on reading them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reflink import checksums
from reflink.errors import UnusableSnapshot

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Blocks:
    """An array that is written piece by piece: blocks of whole rows, ``shape`` and ``dtype`` of them all together."""

    blocks: Iterable[Array]
    shape: tuple[int, ...]
    dtype: Any


def save(folder: Path, kind: str, about: Mapping[str, Any], arrays: Mapping[str, Array | Blocks]) -> None:
    """Writes ``NAME.npy`` for each array, and the manifest: ``kind`` of folder, ``about`` it (JSON), sizes and checksums.

    Raises OSError when the disk does not take them; the folder is unfinished then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    files = {}
    for name, array in arrays.items():
        path = folder / f"{name}.npy"
        blocks = array if isinstance(array, Blocks) else Blocks([array], array.shape, array.dtype)
        with open(folder / f"{name}.partial", "wb") as file:
            header = {"descr": np.dtype(blocks.dtype).str, "fortran_order": False, "shape": blocks.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in blocks.blocks:
                np.ascontiguousarray(block, blocks.dtype).tofile(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
        files[path.name] = {"size": path.stat().st_size, "sha256": checksums.sha256(path)}
    manifest: dict[str, Any] = {"format": FORMAT, "kind": kind, "about": dict(about), "files": files}
    manifest["sha256"] = _sha256(manifest)
    partial = folder / f"{MANIFEST}.partial"
    with open(partial, "w", encoding="utf-8") as text:
        json.dump(manifest, text, indent=1)
        text.flush()
        os.fsync(text.fileno())
    os.replace(partial, folder / MANIFEST)
    flush(folder)


def flush(folder: Path) -> None:
    """Has the disk take what was renamed or removed in the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load(
    folder: Path, kind: str, dtypes: Mapping[str, tuple[Any, int]], *, verify: bool = False
) -> tuple[dict[str, Any], dict[str, Array]]:
    """``about`` and the arrays, mapped read-only. ``dtypes``: name → (dtype, number of dimensions) expected.

    With ``verify`` every byte of the arrays is compared with its checksum, where the folder has them. Raises
    UnusableSnapshot when the folder is unfinished, of another kind or format, or a file is missing, cut or not as said.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        version, found, about, files = (manifest[key] for key in ("format", "kind", "about", "files"))
    except FileNotFoundError:
        raise UnusableSnapshot(f"{folder}: no {MANIFEST}: not a saved {kind}, or unfinished") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnusableSnapshot(f"{folder / MANIFEST}: cannot be read ({error}); save it anew") from None
    if not (isinstance(about, dict) and isinstance(files, dict)):
        raise UnusableSnapshot(f"{folder / MANIFEST}: not a manifest; save it anew")
    if found != kind:
        raise UnusableSnapshot(f"{folder}: holds {found!r}, not {kind!r}")
    if version != FORMAT:
        raise UnusableSnapshot(f"{folder}: format {version!r}, this version reads {FORMAT}; save it anew")
    # Those written before there were checksums have sizes only, and no sum of their own.
    hashed = any(isinstance(told, dict) for told in files.values())
    if ("sha256" in manifest or hashed) and manifest.get("sha256") != _sha256(manifest):
        raise UnusableSnapshot(f"{folder / MANIFEST}: its content has changed; copy or save it anew")
    return about, {name: _map(folder / f"{name}.npy", files, *wanted, verify=verify) for name, wanted in dtypes.items()}


def _sha256(manifest: Mapping[str, Any]) -> str:
    told = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _map(path: Path, files: Mapping[str, Any], dtype: Any, dimensions: int, *, verify: bool) -> Array:
    try:
        told = files[path.name]
        expected, checksum = (told["size"], told["sha256"]) if isinstance(told, dict) else (told, None)
        size = path.stat().st_size
        if size != expected:
            raise UnusableSnapshot(f"{path}: {size} bytes instead of {expected}; copy or save it anew")
        if verify and checksum is not None and checksums.sha256(path) != checksum:
            raise UnusableSnapshot(f"{path}: its content has changed; copy or save it anew")
        mapped: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise UnusableSnapshot(f"{path}: cannot be read ({error}); copy or save it anew") from None
    if mapped.dtype != dtype or mapped.ndim != dimensions or not mapped.flags.c_contiguous:
        raise UnusableSnapshot(f"{path}: {mapped.dtype} {mapped.shape} is not the array it should be; save it anew")
    return mapped.view(np.ndarray)  # a plain array over the same map: indexing a memmap object is slow

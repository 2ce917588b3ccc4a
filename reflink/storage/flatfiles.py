"""Save and memory-map folders of flat arrays, with a manifest that makes an incomplete or foreign folder detectable.

1. ``save`` removes the manifest before it replaces the first file and writes it after the last file. A folder without a
   manifest is therefore unfinished.
2. Files are replaced, never overwritten, so a process that has mapped the old files can continue to read them.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reflink.errors import UnusableSnapshot
from reflink.storage import checksums, durable

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Blocks:
    """An array that is written in blocks of whole rows; ``shape`` and ``dtype`` describe the whole array."""

    blocks: Iterable[Array]
    shape: tuple[int, ...]
    dtype: Any


def save(folder: Path, kind: str, about: Mapping[str, Any], arrays: Mapping[str, Array | Blocks]) -> None:
    """Write ``NAME.npy`` for each array, and the manifest: ``kind`` of folder, ``about`` (JSON), sizes and checksums.

    Raises OSError if writing fails; the folder is then unfinished.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    files = {}
    for name, array in arrays.items():
        path = folder / f"{name}.npy"
        blocks = array if isinstance(array, Blocks) else Blocks([array], array.shape, array.dtype)
        with durable.replacing(path) as file:
            header = {"descr": np.dtype(blocks.dtype).str, "fortran_order": False, "shape": blocks.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in blocks.blocks:
                np.ascontiguousarray(block, blocks.dtype).tofile(file)
        files[path.name] = {"size": path.stat().st_size, "sha256": checksums.sha256(path)}
    manifest: dict[str, Any] = {"format": FORMAT, "kind": kind, "about": dict(about), "files": files}
    manifest["sha256"] = _sha256(manifest)
    durable.write(folder / MANIFEST, json.dumps(manifest, indent=1).encode())


def load(
    folder: Path, kind: str, dtypes: Mapping[str, tuple[Any, int]], *, verify: bool = False
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return ``about`` and the arrays, mapped read-only. ``dtypes``: name → expected (dtype, number of dimensions).

    With ``verify`` the content of the arrays is compared with their checksums, if the folder has checksums. Raises
    UnusableSnapshot if the folder is unfinished or of another kind or format, or if a file is missing, of another size, or not
    the expected array.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        version, found, about, files = (manifest[key] for key in ("format", "kind", "about", "files"))
    except FileNotFoundError:
        raise UnusableSnapshot(f"{folder}: no {MANIFEST}: not a saved {kind}, or unfinished") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnusableSnapshot(f"{folder / MANIFEST}: cannot be read ({error}); save it again") from None
    if not (isinstance(about, dict) and isinstance(files, dict)):
        raise UnusableSnapshot(f"{folder / MANIFEST}: not a manifest; save it again")
    if found != kind:
        raise UnusableSnapshot(f"{folder}: holds {found!r}, not {kind!r}")
    if version != FORMAT:
        raise UnusableSnapshot(f"{folder}: format {version!r}, this version reads {FORMAT}; save it again")
    # Manifests from before checksums were introduced have sizes only, and no checksum of themselves.
    hashed = any(isinstance(entry, dict) for entry in files.values())
    if ("sha256" in manifest or hashed) and manifest.get("sha256") != _sha256(manifest):
        raise UnusableSnapshot(f"{folder / MANIFEST}: its content has changed; copy it again or save it again")
    return about, {name: _map(folder / f"{name}.npy", files, *wanted, verify=verify) for name, wanted in dtypes.items()}


def map_bytes(path: Path) -> mmap.mmap | bytes:
    """Map a file read-only; an empty file gives empty bytes. Raises UnusableSnapshot if it cannot be read."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if file.seek(0, os.SEEK_END) else b""
    except OSError as error:
        raise UnusableSnapshot(f"{path}: cannot be read: {error.strerror}") from None


def _sha256(manifest: Mapping[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _map(path: Path, files: Mapping[str, Any], dtype: Any, dimensions: int, *, verify: bool) -> Array:
    try:
        entry = files[path.name]
        expected, checksum = (entry["size"], entry["sha256"]) if isinstance(entry, dict) else (entry, None)
        size = path.stat().st_size
        if size != expected:
            raise UnusableSnapshot(f"{path}: {size} bytes instead of {expected}; copy it again or save it again")
        if verify and checksum is not None and checksums.sha256(path) != checksum:
            raise UnusableSnapshot(f"{path}: its content has changed; copy it again or save it again")
        mapped: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise UnusableSnapshot(f"{path}: cannot be read ({error}); copy it again or save it again") from None
    if mapped.dtype != dtype or mapped.ndim != dimensions or not mapped.flags.c_contiguous:
        raise UnusableSnapshot(f"{path}: {mapped.dtype} {mapped.shape} is not the expected array; save it again")
    return mapped.view(np.ndarray)  # a plain array over the same map: indexing a memmap object is slow

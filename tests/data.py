"""Where the real data lies: a folder beside the checkout, or the one REFLINK_SHARED_DATA names. Never copied."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


def find_shared_data() -> Path | None:
    """The folder with works.jsonl.gz, or None."""
    folder = Path(os.environ.get("REFLINK_SHARED_DATA", ROOT.parent / "shared" / "data"))
    return folder if (folder / "works.jsonl.gz").exists() else None


def shared_data() -> Path:
    """The same for tests, which cannot run without it."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("the real data is not here: set REFLINK_SHARED_DATA to the folder that holds works.jsonl.gz")
    return folder


def jats_folder() -> Path:
    """The 1,510 real articles, unpacked once into the git-ignored cache."""
    archive, folder = shared_data() / "jats.tar.xz", CACHE / "jats"
    if not folder.exists():
        partial = CACHE / f"jats.partial.{os.getpid()}"
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
        (partial / "jats").rename(folder)
        partial.rmdir()
    return folder

"""Location of the real data: a folder beside the checkout, or the folder in REFLINK_SHARED_DATA. It is never copied."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


def find_shared_data() -> Path | None:
    """Return the folder that contains works.jsonl.gz, or None."""
    folder = Path(os.environ.get("REFLINK_SHARED_DATA", ROOT.parent / "shared" / "data"))
    return folder if (folder / "works.jsonl.gz").exists() else None


def shared_data() -> Path:
    """Return the folder that contains works.jsonl.gz; skip the test if there is none."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("the real data is missing: set REFLINK_SHARED_DATA to the folder that contains works.jsonl.gz")
    return folder


def jats_folder() -> Path:
    """Return the folder of the 1,510 real articles, unpacked once into the git-ignored cache."""
    archive, folder = shared_data() / "jats.tar.xz", CACHE / "jats"
    if not folder.exists():
        partial = CACHE / f"jats.partial.{os.getpid()}"
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
        try:
            (partial / "jats").rename(folder)
        except OSError:  # another process of the tests unpacked them at the same time
            if not folder.is_dir():
                raise
        shutil.rmtree(partial)
    return folder

"""The real samples of papers' formats: a folder of the shared data, never copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data import shared_data


def sample(name: str) -> bytes:
    """Return a real sample; skip the test if it is not here."""
    path = shared_data() / "sources" / name
    if not path.exists():
        pytest.skip(f"the sample {name} is missing")
    return path.read_bytes()


def samples(pattern: str) -> list[Path]:
    """Return the real samples whose path matches; skip the test if there are none."""
    found = sorted((shared_data() / "sources").glob(pattern))
    if not found:
        pytest.skip(f"the samples {pattern} are missing")
    return found

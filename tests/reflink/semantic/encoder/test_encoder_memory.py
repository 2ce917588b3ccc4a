"""The memory of the encoder does not grow with batches of many sizes and texts of many lengths."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

_ENCODING = """
import ctypes, random
from pathlib import Path
from reflink.semantic import Encoder

def resident_mb():
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

draw = random.Random(1)
words = ["wheat", "yield", "drought", "gene", "of", "the", "in", "maize"]

def batch(size):
    return [" ".join(draw.choices(words, k=draw.randrange(2, 70))) for _ in range(size)]

encoder = Encoder(device="cpu")
for _ in range(4):
    encoder.encode(batch(draw.randrange(20, 120)))
before = resident_mb()
for _ in range(20):
    encoder.encode(batch(draw.randrange(20, 120)))
print(resident_mb() - before)
"""


def test_memory_does_not_grow_with_the_number_of_shapes() -> None:
    grown = subprocess.run([sys.executable, "-c", _ENCODING], check=True, capture_output=True, text=True).stdout
    assert float(grown) < 150  # 55 on two cores; 280 if oneDNN caches code for each shape

"""Semantic similarity: sentence encoders, and an exact cosine index of their vectors that grows."""

from reflink.semantic.encoder import Encoder
from reflink.semantic.index import VectorIndex

__all__ = ["Encoder", "VectorIndex"]

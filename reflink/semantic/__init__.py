"""Semantic similarity: sentence encoders, and an exact, growing cosine index of their vectors."""

from reflink.semantic.encoder.encoder import Encoder
from reflink.semantic.index import VectorIndex

__all__ = ["Encoder", "VectorIndex"]

"""Lexical similarity: character trigrams, their similarity s = 2JC/(J+C), and an exact, growing index of texts."""

from reflink.lexical.index import LexicalIndex
from reflink.lexical.trigrams import similarity, trigrams

__all__ = ["LexicalIndex", "similarity", "trigrams"]

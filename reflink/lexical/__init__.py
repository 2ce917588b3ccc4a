"""Lexical similarity: character trigrams, s = 2JC/(J+C), and an exact index of them that grows."""

from reflink.lexical.index import LexicalIndex
from reflink.lexical.trigrams import similarity, trigrams

__all__ = ["LexicalIndex", "similarity", "trigrams"]

"""LaTeX: archives of arXiv, sources, and .bbl files."""

from __future__ import annotations

from reflink.formats.latex.latex import Latex

__all__ = ["Latex"]

"""The text of a formula, of which JATS may hold several forms: MathML, TeX, a picture."""

from __future__ import annotations

from typing import Final

from lxml import etree

from reflink.markup.tree import local

NAMES: Final = frozenset(("inline-formula", "disp-formula", "math", "tex-math"))
_BEGIN: Final = "\\begin{document}"
_END: Final = "\\end{document}"
#: Parts of MathML that repeat the formula in another language.
_REPEATED: Final = frozenset(("annotation", "annotation-xml"))


def formula_text(formula: etree._Element) -> str | None:
    """Return the text of its MathML, else its TeX without preamble; None if it has neither."""
    tex: str | None = None
    for item in formula.iter():
        name = local(item)
        if name == "math":
            return "".join(_texts(item))
        if name == "tex-math" and tex is None:
            tex = _body(item.text or "")
    return tex


def _texts(item: etree._Element) -> list[str]:
    """Return the texts of MathML in order. The parser bounds the depth."""
    texts = [item.text or ""]
    for child in item:
        if local(child) not in _REPEATED:
            texts += _texts(child)
        texts.append(child.tail or "")
    return texts


def _body(tex: str) -> str:
    start, stop = tex.find(_BEGIN), tex.rfind(_END)
    if start >= 0:
        tex = tex[start + len(_BEGIN) : stop if stop > start else None]
    return tex.strip(" \t\r\n$")

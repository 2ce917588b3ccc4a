"""Remove markup and character references from the texts of JSON sources: JATS, HTML and MathML, also if escaped twice."""

from __future__ import annotations

import html
import re
from typing import Final

#: Maximum number of characters that are read of a text; longer titles do not exist.
MAX_TEXT: Final = 5_000
_NAMES: Final = (
    "i|b|u|s|p|em|strong|sub|sup|sc|scp|tt|small|big|font|span|div|br|hr|a|q|cite|code|pre|title|bold|italic|underline|overline|"
    "monospace|roman|sans-serif|strike|sec|list|list-item|styled-content|named-content|inline-formula|disp-formula|"
    "inline-graphic|alternatives|tex-math|ext-link|xref|fn|break|math|semantics|annotation|m(?:row|i|n|o|text|space|style|sub|sup|"
    "subsup|frac|sqrt|root|fenced|over|under|underover|table|tr|td|stack|padded|phantom|enclose|multiscripts|prescripts)|none"
)
#: A tag with a known name, or with a prefix, so that "p < 0.05" and "<LOD>" stay.
_TAG: Final = re.compile(rf"(?i)</?(?:[a-z]\w*:[a-z][\w-]*|{_NAMES})(?:\s[^<>]*)?/?>")
#: TeX beside MathML: the same formula once more.
_TEX: Final = re.compile(r"(?is)<(tex-math|annotation)\b[^<>]*>[^<>]*</\1>|<!--.*?-->|<!\[CDATA\[|\]\]>")
#: Tags at which words end.
_BREAK: Final = re.compile(r"(?i)</?(?:jats:)?(?:p|br|hr|div|break|title|sec|list-item)\b[^<>]*>")
_REFERENCE: Final = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,31});")
#: White space that remains of tags within brackets and before marks: "( <i>E. coli</i> )".
_LOOSE: Final = re.compile(r"(?<=[(\[])\s+|\s+(?=[)\],.;])")
#: Rounds of removal: "&amp;lt;i&amp;gt;" needs three.
_ROUNDS: Final = 3


def plain(text: str) -> str:
    """Return the text without markup, with single spaces; at most its first ``MAX_TEXT`` characters are read."""
    text = text[:MAX_TEXT]
    for _ in range(_ROUNDS):
        if "<" in text:
            text = _LOOSE.sub("", _TAG.sub("", _BREAK.sub(" ", _TEX.sub("", text))))
        if "&" not in text:
            break
        text = _REFERENCE.sub(_character, text)
    else:
        text = _TAG.sub("", text)
    return " ".join(text.split())


def _character(reference: re.Match[str]) -> str:
    return html.unescape(reference[0])

"""Decode text and attribute values of XML source."""

from __future__ import annotations

import re
from typing import Final

_REFERENCE: Final = re.compile(r"&(?:#0*(\d{1,7})|#x0*([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_BLANK: Final = re.compile("[\t\n\r]")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def unescaped(text: str) -> str:
    """Replace character references and the five predefined entities; leave other references unchanged."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def attribute(text: str) -> str:
    """Return an attribute's value, normalised as XML defines, without leading and trailing white space."""
    return unescaped(text if text.isprintable() else _BLANK.sub(" ", text)).strip()


def line(text: str) -> str:
    """Decode a text and collapse its white space."""
    if text.isalnum():
        return text
    return " ".join(unescaped(text).split())


def _character(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"

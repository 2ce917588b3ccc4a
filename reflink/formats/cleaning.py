"""Replace the characters that no text of an event may have: controls, surrogates, and U+FFFE and U+FFFF."""

from __future__ import annotations

import re
from typing import Any, Final

_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CONTROLS: Final = bytes(range(9)) + b"\x0b\x0c" + bytes(range(0x0E, 0x20))
_SPACES: Final = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))
#: U+FFFE and U+FFFF in UTF-8.
_NO_CHARACTERS: Final = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
#: What JSON with such a character has.
_IN_JSON: Final = re.compile(rb"\\u(?:00[01]|[dD][89a-fA-F]|[fF]{3}[eEfF])|\\[bf]|\xef\xbf[\xbe\xbf]")


def text_bytes(data: bytes) -> bytes:
    """Return text in UTF-8 or an 8-bit encoding with spaces for these characters."""
    data = data.translate(_SPACES)
    for each in _NO_CHARACTERS:
        data = data.replace(each, b"   ") if each in data else data
    return data


def json_value(value: Any, data: bytes) -> Any:
    """Return the value of this JSON with spaces for these characters in its texts, changed in place."""
    if _IN_JSON.search(data) is None:
        return value
    whole = [value]
    waiting: list[Any] = [whole]
    while waiting:
        held = waiting.pop()
        for key, each in list(held.items() if type(held) is dict else enumerate(held)):
            if type(each) is str:
                held[key] = _FORBIDDEN.sub(" ", each)
            elif type(each) in (dict, list):
                waiting.append(each)
    return whole[0]

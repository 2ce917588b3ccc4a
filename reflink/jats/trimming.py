"""Remove the body and the reference lists from an article before the tree is built.

1. The tree of these parts is not needed: the scanner reads references from the bytes, and nothing reads the body.
2. Building it would be most of the work of parsing.
3. Invariant: the remaining bytes are well-formed if and only if the whole article is. Therefore a part is removed only if
   `reflink.jats.scanner.balance` confirms that it is well-formed.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from reflink.jats.scanner.balance import element_end, next_start
from reflink.jats.scanner.vocabulary import name_hash

_ROOT: Final = re.compile(rb"<article(?=[\s>])(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
_PREFIX: Final = re.compile(rb"\sxmlns:([\w.-]+)\s*=")
#: Elements that may be removed. An element that contains relations to other articles stays.
_PARTS: Final = np.array([name_hash(b"body"), name_hash(b"ref-list")], np.uint64)
_ANY: Final = np.zeros(0, np.uint64)
_RELATION: Final = b"related-"
_DECLARATION: Final = re.compile(rb"<\?xml\s[^>]*\?>")
_OTHER_ENCODING: Final = re.compile(rb"\sencoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)
#: Maximum number of elements to remove; bounds the time.
_TRIALS: Final = 64


def trimmed(data: bytes) -> bytes | None:
    """Return the article without bodies and reference lists; None if nothing can be removed."""
    declaration = _DECLARATION.match(data)
    if b"<![CDATA[" in data or (declaration and _OTHER_ENCODING.search(declaration[0])):
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    array = np.frombuffer(data, np.uint8)
    at = next_start(array, declaration.end() if declaration else 0, _ANY)
    root = _ROOT.match(data, at) if at >= 0 else None
    if root is None:
        return None
    prefixes = np.array([name_hash(prefix) for prefix in _PREFIX.findall(root[0])], np.uint64)
    at = done = root.end()
    parts = [data[:done]]
    for _ in range(_TRIALS):
        start = next_start(array, at, _PARTS)
        if start < 0:
            break
        end = element_end(array, start, prefixes)
        if end < 0 or data.find(_RELATION, start, end) >= 0:
            break
        parts.append(data[done:start])
        at = done = end
    return b"".join((*parts, data[done:])) if len(parts) > 1 else None

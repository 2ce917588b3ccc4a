"""Leaving out of an article what its tree is not needed for: the body, and the lists of references.

The scanner reads the references from the bytes, and nobody reads the body: a tree of both would be most of the work. They
are left out only where they certainly are well-formed, so that the rest is broken if and only if the whole is.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from reflink.jats.scanner.balance import element_end, next_start
from reflink.jats.scanner.vocabulary import name_hash

_ROOT: Final = re.compile(rb"<article(?=[\s>])(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
_PREFIX: Final = re.compile(rb"\sxmlns:([\w.-]+)\s*=")
#: What may be left out. A body is needed when it holds relations to other articles.
_PARTS: Final = np.array([name_hash(b"body"), name_hash(b"ref-list")], np.uint64)
_ANY: Final = np.zeros(0, np.uint64)
_RELATION: Final = b"related-"
_DECLARATION: Final = re.compile(rb"<\?xml\s[^>]*\?>")
_OTHER_ENCODING: Final = re.compile(rb"\sencoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)
#: Most elements that are tried: those in doubt cost time.
_TRIALS: Final = 64


def trimmed(data: bytes) -> bytes | None:
    """The bytes of an article without bodies and lists of references; None when nothing can be left out."""
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

"""The id of a work: its first identifier, else the id that its source gives it."""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import quote

from reflink.entities import ID_KINDS, Ids
from reflink.identifiers import NORMALISERS

#: Maximum length, in UTF-8 bytes, of a work id made from a source's own id; a longer one is cut and ends in a digest.
MAX_SOURCE_ID: Final = 200


def work_id(ids: Ids, source: str | None) -> str:
    """Return the first identifier of ``ids`` as ``doi:…``, ``pmid:…``, ``pmcid:…`` or ``arxiv:…``, else the source's own id.

    ``#``, white space and control characters are percent-encoded. Raises ValueError if there is neither an identifier nor a
    source.
    """
    keys = ids.keys()
    if keys:
        return _safe(keys[0])
    name = (source or "").strip()
    if not name:
        raise ValueError("a work needs an identifier or its source's id")
    kind, _, value = name.partition(":")
    if kind.lower() in ID_KINDS and (known := NORMALISERS[kind.lower()](value)):
        return _safe(f"{kind.lower()}:{known}")
    name = _safe(name)
    encoded = name.encode()
    if len(encoded) <= MAX_SOURCE_ID:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:32]
    return f"{encoded[: MAX_SOURCE_ID - 33].decode(errors='ignore')}~{digest}"


def _safe(text: str) -> str:
    """Percent-encode the characters that a work id must not contain."""
    if text.isascii() and text.isprintable() and " " not in text and "#" not in text:
        return text
    unsafe = {char for char in text if char == "#" or char.isspace() or not char.isprintable()}
    return "".join(quote(char, safe="", errors="surrogatepass") if char in unsafe else char for char in text)

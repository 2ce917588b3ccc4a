"""The id of a work: its first identifier, else what its source calls it."""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import quote

from reflink.entities import ID_KINDS, Ids
from reflink.identifiers import NORMALISERS

#: Longest work id made of a source's own id, in UTF-8 bytes; longer ones end in a digest.
MAX_SOURCE_ID: Final = 200


def work_id(ids: Ids, source: str | None) -> str:
    """``doi:…``, ``pmid:…``, ``pmcid:…`` or ``arxiv:…``, the first that ``ids`` has; else the source's own id made safe.

    Never contains ``#``, white space or control characters: those are percent-encoded. Raises ValueError when there is
    neither an identifier nor a source.
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
    """Percent-encodes what a work's id must not hold."""
    if text.isascii() and text.isprintable() and " " not in text and "#" not in text:
        return text
    unsafe = {char for char in text if char == "#" or char.isspace() or not char.isprintable()}
    return "".join(quote(char, safe="", errors="surrogatepass") if char in unsafe else char for char in text)

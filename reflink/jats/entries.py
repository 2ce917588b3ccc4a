"""Run the scanner over an article's XML; return its entries and their citations as JSON-like Python values."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import orjson

from reflink.errors import TooLarge
from reflink.jats.document import Document
from reflink.jats.scanner.layout import FULL, TOO_DEEP, TOO_MANY, buffers
from reflink.jats.scanner.scan import scan
from reflink.limits import Limits

#: One entry: its citations (see `reflink.jats.scanner.records`), then its XML id as spelled in the XML, then its label.
Scanned = list[Any]

# Minimum size, in bytes of XML, of a citation and of an item of a citation.
_CITATION: Final = len("<ref>x</ref>")
_ITEM: Final = len("<uri></uri>")


def scanned(document: Document, name: str, limits: Limits) -> tuple[list[Scanned], list[list[int]]]:
    """Return all entries in document order, and for each citation its row (`reflink.jats.scanner.layout.Buffers`).

    Raises TooLarge beyond ``limits.references``, and if elements are nested too deep for the scanner.
    """
    data = np.frombuffer(document.source, np.uint8)
    n = len(data)
    room, citations, items = 4 * n + 4096, min(limits.references, n // _CITATION) + 1, n // _ITEM + 16
    while True:
        js = np.empty(room, np.uint8)
        js[0] = ord("[")
        used = buffers(data, js[1:], citations, items)
        scan(used, document.prefixed)
        (state,) = used.state
        if state["result"] != FULL:
            break
        room *= 2
    if state["result"] == TOO_DEEP:
        raise TooLarge(f"{name}: elements nested too deep")
    if state["result"] == TOO_MANY or state["citations"] > limits.references:
        raise TooLarge(f"{name}: more than {limits.references} references")
    written = int(state["written"])
    if not written:
        return [], []
    js[written] = ord("]")  # in place of the last comma
    return orjson.loads(js[: written + 1].data), used.rows[: state["citations"]].tolist()

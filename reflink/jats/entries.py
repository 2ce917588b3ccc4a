"""An article's XML → its entries, each with the citations in it, as JSON-like Python values."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import orjson

from reflink.errors import TooLarge
from reflink.jats.document import Document, Limits
from reflink.jats.scanner.scan import DEEP, FULL, MANY, scan

#: One entry: its citations (see `reflink.jats.scanner.records`), then its XML id as written in the XML, and its label.
Scanned = list[Any]

# The fewest bytes of XML that a citation and an item of one take.
_CITATION: Final = len("<ref>x</ref>")
_ITEM: Final = len("<uri></uri>")


def scanned(document: Document, name: str, limits: Limits) -> tuple[list[Scanned], list[list[int]]]:
    """All entries in document order, and for each citation its element's code and its ``<citation-alternatives>``.

    Raises TooLarge beyond ``limits.references``.
    """
    data = np.frombuffer(document.source, np.uint8)
    n = len(data)
    out, aside = np.empty(n + 16, np.uint8), np.empty(n + 16, np.uint8)
    items = np.empty((n // _ITEM + 16, 6), np.int64)
    rows = np.empty((min(limits.references, n // _CITATION) + 1, 2), np.int64)
    room = 4 * n + 4096
    happened = FULL
    while happened == FULL:
        js = np.empty(room, np.uint8)
        js[0] = ord("[")
        happened, citations, written = scan(data, document.prefixed, out, aside, js[1:], rows, items)
        room *= 2
    if happened == MANY or citations > limits.references:
        raise TooLarge(f"{name}: more than {limits.references} references")
    if happened == DEEP:
        raise TooLarge(f"{name}: elements nested too deep")
    if not written:
        return [], []
    js[written] = ord("]")  # in place of the last comma
    return orjson.loads(js[: written + 1].data), rows[:citations].tolist()

"""Scan an article's XML bytes once and write its citations, their text and their tagged fields as JSON.

Invariants:

1. The bytes are well-formed UTF-8, since libxml2 accepted or wrote them; the scanner therefore checks nothing.
2. The state is complete after each tag: `starting` and `ending` update the records of `layout` for one tag each.
3. The text of a citation is one line in ``out``; fields and items are spans of ``out``. `records` writes them as JSON when the
   citation ends.
4. An element of the same kind within itself counts once (``inside``), however deep it is nested.

Cost: one pass, linear in the number of bytes. Outside bibliography entries the scanner first compares the first letter of a
tag, unless element names have prefixes, and skips a tag that cannot matter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from reflink.compiled import compiled
from reflink.jats.scanner.bytecodes import BANG, CLOSE_SQUARE, GT, HYPHEN, LT, OPEN_SQUARE, QUESTION, SLASH
from reflink.jats.scanner.characters import write
from reflink.jats.scanner.compiling import PLAIN, inlined, kernel
from reflink.jats.scanner.ending import end_tag
from reflink.jats.scanner.layout import CITATION_TEXT, DONE, LABEL_TEXT, Buffers
from reflink.jats.scanner.starting import start_tag
from reflink.jats.scanner.tags import past, tag_end

# First bytes of the tags that matter outside entries. A prefix may begin with any letter, so this needs unprefixed names.
_RELEVANT: Final = np.zeros(256, np.bool_)
_RELEVANT[np.frombuffer(b"!?/refmcn", np.uint8)] = True
_CDATA, _CDATA_END = len("[CDATA["), len("]]>")


@compiled(plain=PLAIN, boundscheck=True, nogil=True)
def scan(buffers: Buffers, prefixed: bool) -> None:
    """Write the entries as JSON to ``js``: [citation, …, XML id, label] for each, followed by a comma.

    ``prefixed``: element names may have prefixes. Sets ``result``, ``citations`` and ``written`` of the state.
    """
    _scan(buffers, prefixed)


@kernel
def _scan(buffers: Buffers, prefixed: bool) -> None:
    data, state = buffers.data, buffers.state[0]
    n, at = len(data), 0
    while at < n and state.result == DONE:
        begin = at
        while at < n and data[at] != LT:
            at += 1
        if at > begin:
            _text(buffers, state, begin, at, False)
        at += 1
        if at >= n:
            break
        first = data[at]
        if state.level == 0 and not (prefixed or _RELEVANT[first]):
            continue
        if first == SLASH:
            at = end_tag(buffers, state, at + 1)
        elif first == BANG:
            at = _declaration(buffers, state, at + 1)
        elif first == QUESTION:
            while at + 1 < n and not (data[at] == QUESTION and data[at + 1] == GT):
                at += 1
            at += 2
        else:
            at = start_tag(buffers, state, at)


@inlined
def _text(buffers: Buffers, state: Any, begin: int, end: int, verbatim: bool) -> None:
    """Append a text to the open label or citation, unless it is in a skipped element."""
    if state.in_label:
        write(buffers.data, begin, end, verbatim, buffers.labels, buffers.texts[LABEL_TEXT])
    elif state.citation >= 0 and state.silent < 0:
        write(buffers.data, begin, end, verbatim, buffers.out, buffers.texts[CITATION_TEXT])


@kernel
def _declaration(buffers: Buffers, state: Any, at: int) -> int:
    """Read the comment, CDATA section or declaration whose "<!" ends at ``at``; return its end."""
    data = buffers.data
    if data[at] == HYPHEN:
        return past(data, at + 2, HYPHEN, HYPHEN, GT)
    if data[at] == OPEN_SQUARE:
        begin = at + _CDATA
        end = past(data, begin, CLOSE_SQUARE, CLOSE_SQUARE, GT)
        _text(buffers, state, begin, end - _CDATA_END, True)
        return end
    return tag_end(data, at) + 1

"""Read an end tag: end a label, a part of a citation, a citation or an entry."""

from __future__ import annotations

from typing import Any

from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner import writing as w
from reflink.jats.scanner.bytecodes import SPACE
from reflink.jats.scanner.characters import year_in
from reflink.jats.scanner.compiling import inlined, kernel
from reflink.jats.scanner.layout import CITATION_TEXT, FULL, LABEL_TEXT, TOO_MANY, Buffers
from reflink.jats.scanner.records import OVERHEAD, max_bytes, write_citation, write_entry
from reflink.jats.scanner.starting import forget_person
from reflink.jats.scanner.tags import element, tag_end


@inlined
def end_tag(buffers: Buffers, state: Any, at: int) -> int:
    """Read the end tag whose name begins at ``at``; return a position in the tag or at its end, before the next text."""
    if state.level == 0:
        if state.front:
            code, at = element(buffers.data, at)
            state.front -= code == v.SELF
        return at
    at = tag_end(buffers.data, at) + 1
    state.level -= 1
    if state.silent >= 0:
        if state.level == state.silent:
            _end_silence(buffers, state)
        return at
    closed, text = buffers.stack[state.level], buffers.texts[CITATION_TEXT]
    if closed.code == v.INLINE:
        return at
    buffers.inside[closed.code] = 0
    text.apart = 1
    if state.citation >= 0:
        _end_part(buffers, state, closed, text)
    if state.level == state.alternatives:
        state.alternatives, state.number = closed.alternatives, closed.number
    if state.level == state.citation:
        _end_citation(buffers, state, closed, text)
    if state.level == 0:
        _end_entry(buffers, state)
        text.written = state.labels = 0
    return at


@kernel
def _end_silence(buffers: Buffers, state: Any) -> None:
    if state.in_label:
        state.labels = buffers.texts[LABEL_TEXT].written
        if state.in_element:
            state.label_stop = state.labels
        else:
            state.entry_label_stop = state.labels
    state.silent, state.in_label = -1, 0


@inlined
def _end_part(buffers: Buffers, state: Any, closed: Any, text: Any) -> None:
    """End an element within a citation: add its text to the citation's fields and items."""
    code, start, stop = closed.code, closed.start, text.written
    empty = stop <= start
    if not empty and buffers.out[start] == SPACE:
        start += 1
    if code >= v.FIRST:
        field = buffers.fields[code - v.FIRST]
        if not empty and field[1] == 0:
            field[0], field[1] = start, stop
    elif code == v.SURNAME:
        if not empty:
            named = state.given_stop > state.given_start
            _add_item(buffers, state, v.PERSON, start, stop, state.group, state.given_start, state.given_stop)
            forget_person(state)
            state.person = -1 if named else state.items - 1
            state.people += 1
    elif code == v.GIVEN:
        if empty:
            return
        if state.person >= 0:
            item = buffers.items[state.person]
            item.extra_start, item.extra_stop = start, stop
            state.person = -1
        else:
            state.given_start, state.given_stop = start, stop
    elif code == v.YEAR:
        if state.accessed < 0 and state.year == 0:
            state.year = year_in(buffers.out, start, stop)
    elif code == v.STRING_NAME or code == v.COLLAB or code == v.TITLE:
        if empty:
            return
        state.person = -1
        if code == v.TITLE:
            _add_item(buffers, state, code, start, stop, closed.seamless, 0, 0)
            state.title_end = stop
        elif code == v.COLLAB:
            _add_item(buffers, state, code, start, stop, state.group, 0, 0)
        elif closed.people == state.people:
            _add_item(buffers, state, v.UNSPLIT, start, stop, state.group, 0, 0)
    elif v.NUMBER <= code <= v.SELF_URI:
        item = buffers.items[closed.identifier]
        item.start, item.stop = start, stop
        text.hints = closed.hints  # the text of this element is examined separately
    elif code == v.GROUP:
        state.group = closed.group
        forget_person(state)
    elif code == v.NAME:
        forget_person(state)
    elif code == v.ACCESSED and state.level == state.accessed:
        state.accessed = -1


@kernel
def _add_item(
    buffers: Buffers, state: Any, code: int, start: int, stop: int, kind: int, extra_start: int, extra_stop: int
) -> None:  # fmt: skip
    item = buffers.items[state.items]
    item.code, item.start, item.stop, item.kind = code, start, stop, kind
    item.extra_start, item.extra_stop = extra_start, extra_stop
    state.items += 1


@kernel
def _end_citation(buffers: Buffers, state: Any, closed: Any, text: Any) -> None:
    """Write the citation; a <ref> without citation elements is one if it has text or items."""
    state.citation, state.in_element = -1, 0
    if closed.code == v.REF and not (text.filled or state.items):
        return
    if state.citations >= len(buffers.rows):
        state.result = TOO_MANY
        return
    room = max_bytes(buffers, state, text.written - closed.start)
    if state.written + room > len(buffers.js):
        state.result = FULL
        return
    if state.entry_citations == 0:
        state.written = w.literal(buffers.js, state.written, w.LIST)
    write_citation(buffers, state, closed.start, text.written, text.hints)
    buffers.rows[state.citations, 1] = closed.number
    state.citations += 1
    state.entry_citations += 1


@kernel
def _end_entry(buffers: Buffers, state: Any) -> None:
    if state.entry_citations == 0 or state.result:
        return
    if state.written + 6 * (state.id_stop - state.id_start + state.labels) + OVERHEAD > len(buffers.js):
        state.result = FULL
        return
    write_entry(buffers, state)

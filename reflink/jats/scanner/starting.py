"""Read a start tag: begin an entry, a citation, a label or a part of a citation."""

from __future__ import annotations

from typing import Any

from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner.bytecodes import SLASH
from reflink.jats.scanner.compiling import inlined, kernel
from reflink.jats.scanner.layout import CITATION_TEXT, DEPTH, LABEL_TEXT, TOO_DEEP, Buffers
from reflink.jats.scanner.tags import attributes, element, tag_end, value_code


@inlined
def start_tag(buffers: Buffers, state: Any, at: int) -> int:
    """Read the start tag whose name begins at ``at``; return a position in the tag or at its end, before the next text."""
    data, begin = buffers.data, at
    code, at = element(data, at)
    cites = v.MIXED <= code <= v.NLM
    if state.level == 0 and not (code == v.REF or code == v.SELF or (cites and state.front == 0)):
        return at
    if code == v.REF or cites or code == v.GROUP or v.PUB_ID <= code <= v.SELF_URI:
        at = attributes(data, at, buffers.spans)
    else:
        at = tag_end(data, at)
    if at >= len(data):
        return at
    empty = data[at - 1] == SLASH
    at += 1
    if state.level == 0 and (empty or code == v.SELF):
        state.front += code == v.SELF and not empty
        return at
    if state.level >= DEPTH:
        state.result = TOO_DEEP
        return at
    if state.silent < 0:
        if state.level == 0:
            _begin_entry(buffers, state)
        if state.level == 0 or (cites and not empty and not state.in_element):
            _begin_citation(buffers, state, code, begin)
        elif code == v.LABEL or code == v.SILENT:
            if not empty:
                _begin_silence(buffers, state, code)
        elif code != v.INLINE:
            code = _begin_part(buffers, state, code, empty)
    if not empty:
        opened = buffers.stack[state.level]
        opened.code, opened.start = code, buffers.texts[CITATION_TEXT].written
        state.level += 1
    return at


@kernel
def _begin_entry(buffers: Buffers, state: Any) -> None:
    state.id_start, state.id_stop = buffers.spans[2 * v.XML_ID], buffers.spans[2 * v.XML_ID + 1]
    state.entry_label_start = state.entry_label_stop = state.entry_citations = state.numbers = state.number = 0
    state.alternatives = -1


@kernel
def _begin_citation(buffers: Buffers, state: Any, code: int, begin: int) -> None:
    """Begin a citation with the element at the current level; text of the <ref> before it is not part of it."""
    text, opened = buffers.texts[CITATION_TEXT], buffers.stack[state.level]
    if state.citation >= 0:
        text.written = buffers.stack[state.citation].start
    if state.citations < len(buffers.rows):
        buffers.rows[state.citations, 0], buffers.rows[state.citations, 2] = code, begin
    state.citation, state.in_element = state.level, code != v.REF
    state.items = state.year = state.label_start = state.label_stop = 0
    state.kind_start, state.kind_stop = buffers.spans[2 * v.KIND], buffers.spans[2 * v.KIND + 1]
    opened.number = state.number if state.alternatives >= 0 else 0
    buffers.fields.fill(0)
    buffers.inside.fill(0)
    text.gap = text.apart = text.filled = text.last = text.hints = 0
    text.strict = code == v.ELEMENT
    state.group, state.people, state.title_end, state.accessed = v.AUTHORS, 0, -1, -1
    forget_person(state)


@kernel
def _begin_silence(buffers: Buffers, state: Any, code: int) -> None:
    """Begin an element whose text is not part of the citation; keep the text of the first label of a citation or entry."""
    state.silent = state.level
    if code != v.LABEL:
        return
    if state.in_element:
        if state.label_stop == state.label_start:
            state.in_label, state.label_start = 1, state.labels
    elif state.entry_label_stop == state.entry_label_start:
        state.in_label, state.entry_label_start = 1, state.labels
    label = buffers.texts[LABEL_TEXT]
    label.written = state.labels
    label.gap = label.filled = 0


@inlined
def _begin_part(buffers: Buffers, state: Any, code: int, empty: bool) -> int:
    """Begin an element that separates texts; return its code, OTHER if the element does not count."""
    text, opened = buffers.texts[CITATION_TEXT], buffers.stack[state.level]
    cites = v.MIXED <= code <= v.NLM
    if cites and state.citation >= 0 and not state.in_element:  # an empty citation
        text.written = buffers.stack[state.citation].start
        state.citation = -1
    if cites or code == v.REF or (code >= v.NAME and buffers.inside[code]):
        code = v.OTHER
    elif code >= v.NAME and not empty:
        buffers.inside[code] = 1
    text.apart = 1
    if code == v.ALTERNATIVES and not empty:
        opened.alternatives, opened.number = state.alternatives, state.number
        state.numbers += 1
        state.alternatives, state.number = state.level, state.numbers
    elif state.citation < 0:
        return code
    elif code == v.GROUP:
        forget_person(state)
        if not empty:
            opened.group = state.group
            start, stop = buffers.spans[2 * v.GROUP_TYPE], buffers.spans[2 * v.GROUP_TYPE + 1]
            state.group = value_code(buffers.data, start, stop) if stop > start else v.AUTHORS
    elif code == v.NAME or code == v.STRING_NAME:
        forget_person(state)
        opened.people = state.people
    elif code == v.TITLE:
        opened.seamless = text.gap == 0 and state.title_end == text.written
    elif code == v.ACCESSED and not empty and state.accessed < 0:
        state.accessed = state.level
    elif v.NUMBER <= code <= v.SELF_URI:
        _begin_identifier(buffers, state, code, empty)
    return code


@kernel
def _begin_identifier(buffers: Buffers, state: Any, code: int, empty: bool) -> None:
    """Add an item for an element that may hold an identifier, unless it has neither text nor address."""
    spans, text, opened = buffers.spans, buffers.texts[CITATION_TEXT], buffers.stack[state.level]
    if code == v.NUMBER:
        spans.fill(0)
    if empty and spans[2 * v.HREF] == 0:
        return
    opened.identifier, opened.hints = state.items, text.hints
    item = buffers.items[state.items]
    state.items += 1
    item.code, item.start, item.stop = code, text.written, text.written
    item.kind = value_code(buffers.data, spans[2 * v.TYPE], spans[2 * v.TYPE + 1])
    item.extra_start, item.extra_stop = spans[2 * v.HREF], spans[2 * v.HREF + 1]


@kernel
def forget_person(state: Any) -> None:
    """A name that follows does not complete the person before it."""
    state.person, state.given_start, state.given_stop = -1, 0, 0

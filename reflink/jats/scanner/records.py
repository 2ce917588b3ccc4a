"""Write the findings of one citation as a JSON object, so that one call turns all its strings into Python strings.

Keys are fields of `reflink.entities.Reference`. `reflink.jats.citation` completes the keys that begin with an underscore:

- ``_titles``: parts of the title (seamless, text between, part)
- ``_names``: (group, whole, last, given) of each person
- ``_ids``: (element, type, text, address) of each element that may hold an identifier
- ``_bare``: the text with marks for identifiers: `TAKEN` in place of an identifier, a link between `BEGINS` and `ENDS`
- ``_hints``: the text may hold identifiers that are not tagged

``ids`` holds the identifiers that `reflink.jats.scanner.plain` recognised. ``raw_noid`` is present if the text without
identifiers is the text before them.

Most kernels write to ``js`` from ``at`` on and return the end of what they wrote.
"""

from __future__ import annotations

from typing import Any, Final

from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner import writing as w
from reflink.jats.scanner.bytecodes import LOWER, LOWER_A, LOWER_Z, QUOTE, is_digit, lower
from reflink.jats.scanner.characters import Bytes
from reflink.jats.scanner.compiling import kernel
from reflink.jats.scanner.layout import Buffers, Records
from reflink.jats.scanner.plain import plain_kind, text_before

#: Marks in ``_bare``; XML does not allow these characters.
TAKEN: Final = "\x01"
BEGINS: Final = "\x02"
ENDS: Final = "\x03"

_FIELDS: Final = len(v.FIRST_FIELDS)
#: Bytes of JSON that a citation needs beyond its texts, and bytes for each of its items.
OVERHEAD, _PER_ITEM = 1024, 64


@kernel
def max_bytes(buffers: Buffers, state: Any, length: int) -> int:
    """Return the maximum size in bytes of the JSON of the current citation, whose text has ``length`` bytes."""
    room = 8 * length + _PER_ITEM * state.items + OVERHEAD + 6 * (state.labels + state.kind_stop - state.kind_start)
    for field in range(_FIELDS):
        room += 2 * (buffers.fields[field, 1] - buffers.fields[field, 0])
    for i in range(state.items):
        item = buffers.items[i]
        room += 4 * (item.stop - item.start) + 6 * (item.extra_stop - item.extra_start)
    return int(room)


@kernel
def write_citation(buffers: Buffers, state: Any, start: int, stop: int, hints: int) -> None:
    """Write the object of the citation with the text ``out[start:stop]`` to the JSON, followed by a comma."""
    js, out, items, fields = buffers.js, buffers.out, buffers.items[: state.items], buffers.fields
    at = w.literal(js, state.written, w.RAW)
    at = w.tight(js, at, out, start, stop)
    at = w.literal(js, at, w.END)
    if state.year:
        at = w.literal(js, at, w.YEAR)
        at = w.number(js, at, state.year)
    for field in range(_FIELDS):
        if fields[field, 1] > fields[field, 0]:
            at = w.string(js, at, w.FIELD + field, out, fields[field, 0], fields[field, 1])
    at = _people(js, at, out, items)
    at = _titles(js, at, out, items)
    at = _identifiers(js, at, buffers.data, out, items, start, stop, hints)
    if hints:
        at = w.literal(js, at, w.HINTS)
    if state.kind_stop > state.kind_start:  # as spelled in the XML
        at = w.string(js, at, w.KIND, buffers.data, state.kind_start, state.kind_stop)
    if state.label_stop > state.label_start:
        at = w.string(js, at, w.LABEL, buffers.labels, state.label_start, state.label_stop)
    at = w.literal(js, at, w.OBJECT)
    state.written = w.literal(js, at, w.COMMA)


@kernel
def write_entry(buffers: Buffers, state: Any) -> None:
    """End the list of an entry with its XML id, as spelled in the XML, and its label, followed by a comma."""
    js, at = buffers.js, state.written
    js[at] = QUOTE
    at = w.copy(js, at + 1, buffers.data, state.id_start, state.id_stop)
    at = w.literal(js, at, w.NEXT)
    at = w.copy(js, at, buffers.labels, state.entry_label_start, state.entry_label_stop)
    at = w.literal(js, at, w.CLOSE)
    state.written = w.literal(js, at, w.COMMA)


@kernel
def _people(js: Bytes, at: int, out: Bytes, items: Records) -> int:
    """Write the persons and groups; ``_names`` if a name is not divided into last name and given name."""
    authors = editors = given = unsplit = groups = 0
    for item in items:
        if item.code == v.PERSON:
            authors += item.kind == v.AUTHORS
            given += item.kind == v.AUTHORS and item.extra_stop > item.extra_start
            editors += item.kind == v.EDITORS
        elif item.code == v.UNSPLIT:
            unsplit += 1
        elif item.code == v.COLLAB:
            groups += 1
    if unsplit:
        key = w.NAMES
        for item in items:
            if item.code == v.PERSON or item.code == v.UNSPLIT:
                at = w.literal(js, at, key)
                at = w.number(js, at, item.kind)
                at = w.literal(js, at, w.COMMA)
                at = w.number(js, at, item.code == v.UNSPLIT)
                at = w.texts(js, at, out, item.start, item.stop, out, item.extra_start, item.extra_stop)
                key = w.AGAIN
        at = w.literal(js, at, w.DONE)
    else:
        if authors:
            at = _strings(js, at, w.LAST, out, items, v.PERSON, v.AUTHORS, False)
        if given:
            at = _strings(js, at, w.GIVEN, out, items, v.PERSON, v.AUTHORS, True)
        if editors:
            at = _strings(js, at, w.EDITORS, out, items, v.PERSON, v.EDITORS, False)
    return _strings(js, at, w.COLLECTIVES, out, items, v.COLLAB, -1, False) if groups else at


@kernel
def _strings(js: Bytes, at: int, key: int, out: Bytes, items: Records, code: int, kind: int, extra: bool) -> int:
    """Write a list of the texts, or extra texts, of the items with this code and kind; a kind of -1 is any kind."""
    for item in items:
        if item.code == code and (item.kind == kind or kind < 0):
            at = w.literal(js, at, key)
            at = w.copy(js, at, out, item.extra_start if extra else item.start, item.extra_stop if extra else item.stop)
            key = w.NEXT
    return w.literal(js, at, w.CLOSE)


@kernel
def _titles(js: Bytes, at: int, out: Bytes, items: Records) -> int:
    """Write the title; ``_titles`` if it has several parts, or no ASCII letter or digit."""
    parts, title = 0, 0
    for i in range(len(items)):
        if items[i].code == v.TITLE:
            parts, title = parts + 1, i
    if not parts:
        return at
    if parts == 1 and _has_letter(out, items[title].start, items[title].stop):
        return w.string(js, at, w.TITLE, out, items[title].start, items[title].stop)
    key, end = w.TITLES, -1
    for item in items:
        if item.code == v.TITLE:
            at = w.literal(js, at, key)
            at = w.number(js, at, item.kind)
            at = w.texts(js, at, out, item.start if end < 0 else end, item.start, out, item.start, item.stop)
            key, end = w.AGAIN, item.stop
    return w.literal(js, at, w.DONE)


@kernel
def _has_letter(out: Bytes, start: int, stop: int) -> bool:
    """Return whether ``out[start:stop]`` has an ASCII letter or digit."""
    for i in range(start, stop):  # noqa: SIM110
        if LOWER_A <= out[i] | LOWER <= LOWER_Z or is_digit(out[i]):
            return True
    return False


@kernel
def _identifiers(
    js: Bytes, at: int, data: Bytes, out: Bytes, items: Records, start: int, stop: int, hints: int
) -> int:  # fmt: skip
    """Write the identifiers and the text without them, or what `reflink.jats.citation` needs to determine both."""
    count = texts = 0
    for item in items:
        if v.NUMBER <= item.code <= v.SELF_URI:
            count += 1
            texts += item.stop > item.start
    if not count:
        return at
    plain = _all_plain(data, out, items)
    if plain:
        at = _plain_ids(js, at, out, items)
    cut = text_before(out, start, stop, items) if plain and not hints else -1
    if cut >= 0:
        at = w.literal(js, at, w.NOID)
        at = w.tight(js, at, out, start, cut)
        at = w.literal(js, at, w.END)
    elif texts:
        at = _bare(js, at, out, start, stop, items, plain)
    if plain:
        return at
    key = w.IDS
    for item in items:
        if v.NUMBER <= item.code <= v.SELF_URI:
            at = w.literal(js, at, key)
            at = w.number(js, at, item.code)
            at = w.literal(js, at, w.COMMA)
            at = w.number(js, at, item.kind)
            at = w.texts(js, at, out, item.start, item.stop, data, item.extra_start, item.extra_stop)
            key = w.AGAIN
    return w.literal(js, at, w.DONE)


@kernel
def _all_plain(data: Bytes, out: Bytes, items: Records) -> bool:
    """Return whether every item that may hold an identifier is in canonical spelling; set the kind of each."""
    for item in items:
        if item.code == v.NUMBER:
            return False
        if v.PUB_ID <= item.code <= v.SELF_URI:
            kind = plain_kind(out, item.start, item.stop, item.kind, data, item.extra_start, item.extra_stop)
            if not kind:
                return False
            item.kind = kind
    return True


@kernel
def _plain_ids(js: Bytes, at: int, out: Bytes, items: Records) -> int:
    """Write the first identifier of each kind, DOIs in lower case."""
    at = w.literal(js, at, w.PLAIN)
    seen = 0
    for item in items:
        kind = item.kind
        if v.PUB_ID <= item.code <= v.SELF_URI and kind != v.MEDLINE and not (seen >> kind) & 1:
            if seen:
                at = w.literal(js, at, w.COMMA)
            seen |= 1 << kind
            at = w.literal(js, at, w.DOI if kind == v.DOI else w.PMID if kind == v.PMID else w.PMCID)
            for i in range(item.start, item.stop):
                js[at] = lower(out[i]) if kind == v.DOI else out[i]
                at += 1
            at = w.literal(js, at, w.END)
    return w.literal(js, at, w.OBJECT)


@kernel
def _bare(js: Bytes, at: int, out: Bytes, start: int, stop: int, items: Records, plain: bool) -> int:
    """Write the text with marks for its identifiers. An item within another item counts as part of it."""
    at = w.literal(js, at, w.BARE)
    for item in items:
        code, begin, end = item.code, item.start, item.stop
        if end > begin and begin >= start and v.NUMBER <= code <= v.SELF_URI:
            at = w.tight(js, at, out, start, begin)
            if not plain and (code == v.EXT_LINK or code == v.URI or code == v.NUMBER):
                at = w.literal(js, at, w.BEGINS)
                at = w.tight(js, at, out, begin, end)
                at = w.literal(js, at, w.ENDS)
            else:
                at = w.literal(js, at, w.TAKEN)
            start = end
    at = w.tight(js, at, out, start, stop)
    return w.literal(js, at, w.END)

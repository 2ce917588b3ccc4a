"""Writing what was found in one citation as a JSON object, so that its strings become Python's in one call.

Keys are fields of `reflink.entities.Reference`; those with an underscore are left to `reflink.jats.citation`:
``_titles`` (parts: seamless, text between, part), ``_names`` (group, whole, last, given), ``_ids`` (element, type, text,
address),
``_bare`` (the text with marks for identifiers: `TAKEN` in place of one, a link between `BEGINS` and `ENDS`), ``_hints``.
What `reflink.jats.scanner.plain` settles is in ``ids``; ``raw_noid`` is there where that is simply the text before them.
"""

from __future__ import annotations

from typing import Final

from numba import njit

from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner import writing as w
from reflink.jats.scanner.characters import Bytes, Integers
from reflink.jats.scanner.plain import plain_kind, text_before

#: Marks in ``_bare``; XML has no such characters.
TAKEN: Final = "\x01"
BEGINS: Final = "\x02"
ENDS: Final = "\x03"

_FIELDS: Final = len(v.FIRST_FIELDS)
#: Bytes of JSON that a citation takes beyond its texts, and that each of its items takes.
OVERHEAD, _PER_ITEM = 1024, 64
#: Columns of the items of a citation: what they are, their text, what else is known, and another span.
CODE, START, STOP, WHICH, FROM, TO = range(6)


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def most_bytes(length: int, fields: Integers, items: Integers, n_items: int) -> int:
    """The most that a citation whose text has this many bytes can take, what comes from attributes and labels apart."""
    room = 8 * length + _PER_ITEM * n_items + OVERHEAD
    for i in range(_FIELDS):
        room += 2 * (fields[i, 1] - fields[i, 0])
    for i in range(n_items):
        room += 4 * (items[i, STOP] - items[i, START]) + 6 * (items[i, TO] - items[i, FROM])
    return int(room)


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _lettered(out: Bytes, start: int, stop: int) -> bool:
    """Whether there certainly is a letter or digit: an ASCII one."""
    for i in range(start, stop):
        c = out[i] | 32
        if 97 <= c <= 122 or 48 <= out[i] <= 57:
            return True
    return False


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def write_citation(
    js: Bytes,
    at: int,
    data: Bytes,
    out: Bytes,
    start: int,
    stop: int,
    fields: Integers,
    items: Integers,
    n_items: int,
    year: int,
    hints: int,
) -> int:
    """Appends the object of one citation, all but its end. Returns where it ends."""
    at = w.literal(js, at, w.RAW)
    at = w.tight(js, at, out, start, stop)
    at = w.literal(js, at, w.END)
    if year:
        at = w.literal(js, at, w.YEAR)
        at = w.number(js, at, year)
    for field in range(_FIELDS):
        if fields[field, 1] > fields[field, 0]:
            at = w.literal(js, at, w.FIELD + field)
            at = w.copy(js, at, out, fields[field, 0], fields[field, 1])
            at = w.literal(js, at, w.END)
    people = editors = given = unsplit = titles = title = ids = texts = groups = 0
    for i in range(n_items):
        code = items[i, CODE]
        if code == v.PERSON:
            people += items[i, WHICH] == v.AUTHORS
            given += items[i, WHICH] == v.AUTHORS and items[i, TO] > items[i, FROM]
            editors += items[i, WHICH] == v.EDITORS
        elif code == v.UNSPLIT:
            unsplit += 1
        elif code == v.TITLE:
            titles += 1
            title = i
        elif code == v.COLLAB:
            groups += 1
        elif v.PUB_ID <= code <= v.SELF_URI or code == v.NUMBER:
            ids += 1
            texts += items[i, STOP] > items[i, START]
    if unsplit:
        at = w.literal(js, at, w.NAMES)
        first = True
        for i in range(n_items):
            if items[i, CODE] == v.PERSON or items[i, CODE] == v.UNSPLIT:
                at = at if first else w.literal(js, at, w.AGAIN)
                first = False
                at = w.number(js, at, items[i, WHICH])
                at = w.literal(js, at, w.COMMA)
                at = w.number(js, at, items[i, CODE] == v.UNSPLIT)
                at = w.literal(js, at, w.TEXT)
                at = w.copy(js, at, out, items[i, START], items[i, STOP])
                at = w.literal(js, at, w.NEXT)
                at = w.copy(js, at, out, items[i, FROM], items[i, TO])
                at = w.literal(js, at, w.END)
        at = w.literal(js, at, w.DONE)
    else:
        if people:
            at = _strings(js, at, w.LAST, out, items, n_items, v.PERSON, v.AUTHORS, START)
        if given:
            at = _strings(js, at, w.GIVEN, out, items, n_items, v.PERSON, v.AUTHORS, FROM)
        if editors:
            at = _strings(js, at, w.EDITORS, out, items, n_items, v.PERSON, v.EDITORS, START)
    if groups:
        at = _strings(js, at, w.COLLECTIVES, out, items, n_items, v.COLLAB, 0, START)
    if titles == 1 and _lettered(out, items[title, START], items[title, STOP]):
        at = w.literal(js, at, w.TITLE)
        at = w.copy(js, at, out, items[title, START], items[title, STOP])
        at = w.literal(js, at, w.END)
    elif titles:
        at = w.literal(js, at, w.TITLES)
        ended = -1
        for i in range(n_items):
            if items[i, CODE] == v.TITLE:
                at = at if ended < 0 else w.literal(js, at, w.AGAIN)
                at = w.number(js, at, items[i, WHICH])
                at = w.literal(js, at, w.TEXT)
                at = w.copy(js, at, out, items[i, START] if ended < 0 else ended, items[i, START])
                at = w.literal(js, at, w.NEXT)
                at = w.copy(js, at, out, items[i, START], items[i, STOP])
                at = w.literal(js, at, w.END)
                ended = items[i, STOP]
        at = w.literal(js, at, w.DONE)
    plain = ids > 0 and _all_plain(data, out, items, n_items)
    if plain:
        at = _plain_ids(js, at, out, items, n_items)
    cut = text_before(out, start, stop, items, n_items) if plain and not hints else -1
    if cut >= 0:
        at = w.literal(js, at, w.NOID)
        at = w.tight(js, at, out, start, cut)
        at = w.literal(js, at, w.END)
    elif texts:
        at = w.literal(js, at, w.BARE)
        at = _bare(js, at, out, start, stop, items, n_items, plain)
        at = w.literal(js, at, w.END)
    first = True
    for i in range(0 if plain else n_items):
        code = items[i, CODE]
        if v.PUB_ID <= code <= v.SELF_URI or code == v.NUMBER:
            at = w.literal(js, at, w.IDS if first else w.AGAIN)
            first = False
            at = w.number(js, at, code)
            at = w.literal(js, at, w.COMMA)
            at = w.number(js, at, items[i, WHICH])
            at = w.literal(js, at, w.TEXT)
            at = w.copy(js, at, out, items[i, START], items[i, STOP])
            at = w.literal(js, at, w.NEXT)
            at = w.copy(js, at, data, items[i, FROM], items[i, TO])
            at = w.literal(js, at, w.END)
    if not first:
        at = w.literal(js, at, w.DONE)
    if hints:
        at = w.literal(js, at, w.HINTS)
    return at


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _all_plain(data: Bytes, out: Bytes, items: Integers, n_items: int) -> bool:
    """Whether every item that may hold an identifier is one in its one spelling; then its type is what it is one of."""
    for i in range(n_items):
        code = items[i, CODE]
        if code == v.NUMBER:
            return False
        if v.PUB_ID <= code <= v.SELF_URI:
            kind = plain_kind(out, items[i, START], items[i, STOP], items[i, WHICH], data, items[i, FROM], items[i, TO])
            if not kind:
                return False
            items[i, WHICH] = kind
    return True


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _plain_ids(js: Bytes, at: int, out: Bytes, items: Integers, n_items: int) -> int:
    """Appends the identifiers by kind, the first of each, in lower case but for the PMC of a PMCID."""
    at = w.literal(js, at, w.PLAIN)
    seen = 0
    for i in range(n_items):
        which = items[i, WHICH]
        if v.PUB_ID <= items[i, CODE] <= v.SELF_URI and which != v.MEDLINE and not (seen >> which) & 1:
            if seen:
                at = w.literal(js, at, w.COMMA)
            seen |= 1 << which
            at = w.literal(js, at, w.DOI if which == v.DOI else w.PMID if which == v.PMID else w.PMCID)
            for j in range(items[i, START], items[i, STOP]):
                lower = which == v.DOI and 65 <= out[j] <= 90
                js[at] = out[j] + 32 if lower else out[j]
                at += 1
            at = w.literal(js, at, w.END)
    return int(w.literal(js, at, w.OBJECT))


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _strings(
    js: Bytes, at: int, key: int, out: Bytes, items: Integers, n_items: int, code: int, group: int, column: int
) -> int:
    """Appends one list of strings: this span of the items of this code and group."""
    at = w.literal(js, at, key)
    first = True
    for i in range(n_items):
        if items[i, CODE] == code and (items[i, WHICH] == group or code == v.COLLAB):
            at = at if first else w.literal(js, at, w.NEXT)
            first = False
            at = w.copy(js, at, out, items[i, column], items[i, column + 1])
    return int(w.literal(js, at, w.CLOSE))


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _bare(js: Bytes, at: int, out: Bytes, start: int, stop: int, items: Integers, n_items: int, plain: bool) -> int:
    """Appends the text with marks for its identifiers; what lies within another one counts as part of it."""
    for i in range(n_items):
        code, begin, end = items[i, CODE], items[i, START], items[i, STOP]
        if end > begin and begin >= start and (v.PUB_ID <= code <= v.SELF_URI or code == v.NUMBER):
            at = w.tight(js, at, out, start, begin)
            if not plain and code in (v.EXT_LINK, v.URI, v.NUMBER):
                at = w.literal(js, at, w.BEGINS)
                at = w.tight(js, at, out, begin, end)
                at = w.literal(js, at, w.ENDS)
            else:
                at = w.literal(js, at, w.TAKEN)
            start = end
    return int(w.tight(js, at, out, start, stop))


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def write_attributes(
    js: Bytes, at: int, data: Bytes, kind_start: int, kind_stop: int, aside: Bytes, label_start: int, label_stop: int
) -> int:
    """Appends the kind, as XML has it, and the label; ends the object, and puts a comma."""
    if kind_stop > kind_start:
        at = w.literal(js, at, w.KIND)
        at = w.copy(js, at, data, kind_start, kind_stop)
        at = w.literal(js, at, w.END)
    if label_stop > label_start:
        at = w.literal(js, at, w.LABEL)
        at = w.copy(js, at, aside, label_start, label_stop)
        at = w.literal(js, at, w.END)
    at = w.literal(js, at, w.OBJECT)
    return int(w.literal(js, at, w.COMMA))


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def write_entry(
    js: Bytes, at: int, data: Bytes, id_from: int, id_to: int, aside: Bytes, label_from: int, label_to: int
) -> int:  # fmt: skip
    """Ends the list of an entry with its XML id, as XML has it, and its label; puts a comma."""
    js[at] = 34
    at = w.copy(js, at + 1, data, id_from, id_to)
    at = w.literal(js, at, w.NEXT)
    at = w.copy(js, at, aside, label_from, label_to)
    at = w.literal(js, at, w.CLOSE)
    return int(w.literal(js, at, w.COMMA))

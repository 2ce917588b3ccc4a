"""One pass over an article's XML bytes that finds its citations, their text and their tagged fields.

The bytes are well-formed UTF-8 (libxml2 has accepted or written them), so nothing is checked here. Outside entries of the
bibliography, tags are looked at by their first letter only.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from reflink.jats.scanner import characters as c
from reflink.jats.scanner import plain, records, tags
from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner import writing as w
from reflink.jats.scanner.caching import kept
from reflink.jats.scanner.characters import Bytes, Integers
from reflink.jats.scanner.records import (
    CODE,
    FROM,
    OVERHEAD,
    START,
    STOP,
    TO,
    WHICH,
    most_bytes,
    write_attributes,
    write_citation,
    write_entry,
)
from reflink.jats.scanner.tags import attributes, element, past, tag_end, value_code

#: What the scanner answers: all went well, a buffer is full, there are too many citations, elements are nested too deep.
DONE, FULL, MANY, DEEP = range(4)

_DEPTH: Final = 1024
_FIELDS: Final = len(v.FIRST_FIELDS)

# First bytes of the tags that matter outside entries; a prefix may begin with any letter.
_MAY_BEGIN: Final = np.zeros(256, np.bool_)
_MAY_BEGIN[np.frombuffer(b"!?/refmcn", np.uint8)] = True

# Columns of the stack: code, bytes written at its start, two of its own.
_CODE, _START, _OWN, _HINTS = range(4)


@kept(c, plain, records, tags, v, w)
def scan(
    data: Bytes, prefixed: bool, out: Bytes, aside: Bytes, js: Bytes, rows: Integers, items: Integers
) -> tuple[int, int, int]:
    """Writes the entries as JSON to ``js`` (uint8): a list of [citation, …, XML id, label].

    ``prefixed``: names of elements may have prefixes. ``out``, ``aside`` (uint8), ``items`` (int64 [n, 6]) are room to work in.
    ``rows`` (int64 [n, 2]) gets each citation's element and which <citation-alternatives> of its entry it is in (0: none).
    Returns (what happened, citations, bytes of JSON).
    """
    n = len(data)
    state = np.zeros(c.STATE, np.int64)
    heading = np.zeros(c.STATE, np.int64)
    spans = np.zeros(12, np.int64)
    stack = np.zeros((_DEPTH, 4), np.int64)
    fields = np.zeros((_FIELDS, 2), np.int64)
    inside = np.zeros(v.ATTRIBUTE, np.int64)
    n_rows = n_items = n_aside = written = 0
    level = 0  # elements open within the entry at hand
    within = -1  # level of the citation at hand; a <ref> without any is read as one
    silent = labelling = accessed = alternatives = -1  # levels of the elements that are being passed over or matter within
    selves = numbered = n_alternatives = in_entry = year = 0
    group, person, given_from, given_to, people, title_end = v.AUTHORS, -1, 0, 0, 0, -1
    kind_from = kind_to = label_from = label_to = id_from = id_to = name_from = name_to = 0
    at = 0
    while at < n:
        begin = at
        while at < n and data[at] != c.LT:
            at += 1
        if at > begin:
            if labelling >= 0:
                c.write(data, begin, at, False, aside, heading)
            elif within >= 0 and silent < 0:
                c.write(data, begin, at, False, out, state)
        at += 1
        if at >= n:
            break
        first = data[at]
        if level == 0 and not (prefixed or _MAY_BEGIN[first]):
            continue
        if first == 33:  # <!
            if data[at + 1] == 45:
                at = past(data, at + 3, 45, 45, c.GT)
            elif data[at + 1] == 91:
                begin, at = at + 8, past(data, at + 8, 93, 93, c.GT)
                if labelling >= 0:
                    c.write(data, begin, at - 3, True, aside, heading)
                elif within >= 0 and silent < 0:
                    c.write(data, begin, at - 3, True, out, state)
            else:
                at = tag_end(data, at) + 1
            continue
        if first == 63:  # <?
            while at + 1 < n and not (data[at] == 63 and data[at + 1] == c.GT):
                at += 1
            at += 2
            continue
        if first == 47:  # the end of an element
            if level == 0:
                if selves:
                    code, at = element(data, at + 1)
                    selves -= code == v.SELF
                continue
            at = tag_end(data, at) + 1
            level -= 1
            if silent >= 0:
                if level == silent:
                    if labelling >= 0:
                        n_aside = heading[c.WRITTEN]
                        if within >= 0 and stack[within, _CODE] != v.REF:
                            label_to = n_aside
                        else:
                            name_to = n_aside
                    silent = labelling = -1
                continue
            code = stack[level, _CODE]
            if code == v.INLINE:
                continue
            inside[code] = 0
            state[c.APART] = 1
            if within >= 0:
                start, stop = stack[level, _START], state[c.WRITTEN]
                empty = stop <= start
                if not empty and out[start] == c.SPACE:
                    start += 1
                if code >= v.FIRST:
                    if not empty and fields[code - v.FIRST, 1] == 0:
                        fields[code - v.FIRST, 0], fields[code - v.FIRST, 1] = start, stop
                elif code == v.SURNAME:
                    if not empty:
                        items[n_items, CODE], items[n_items, START], items[n_items, STOP] = v.PERSON, start, stop
                        items[n_items, WHICH], items[n_items, FROM], items[n_items, TO] = group, given_from, given_to
                        person = n_items if given_to == given_from else -1
                        given_from = given_to = 0
                        people += 1
                        n_items += 1
                elif code == v.GIVEN:
                    if empty:
                        pass
                    elif person >= 0:
                        items[person, FROM], items[person, TO] = start, stop
                        person = -1
                    else:
                        given_from, given_to = start, stop
                elif code == v.YEAR:
                    if accessed < 0 and year == 0:
                        year = c.year_in(out, start, stop)
                elif code == v.STRING_NAME or code == v.COLLAB or code == v.TITLE:
                    if not empty:
                        person = -1
                    if not empty and (code != v.STRING_NAME or stack[level, _OWN] == people):
                        items[n_items, CODE], items[n_items, START], items[n_items, STOP] = code, start, stop
                        if code == v.STRING_NAME:
                            items[n_items, CODE] = v.UNSPLIT
                        items[n_items, WHICH] = stack[level, _OWN] if code == v.TITLE else group
                        items[n_items, FROM] = items[n_items, TO] = 0
                        n_items += 1
                    if code == v.TITLE and not empty:
                        title_end = stop
                elif code == v.NUMBER or v.PUB_ID <= code <= v.SELF_URI:
                    item = stack[level, _OWN]
                    items[item, START], items[item, STOP] = start, stop
                    state[c.HINTS] = stack[level, _HINTS]  # its own text is looked at apart
                elif code == v.GROUP:
                    group, person, given_from, given_to = stack[level, _OWN], -1, 0, 0
                elif code == v.NAME:
                    person, given_from, given_to = -1, 0, 0
                elif code == v.ACCESSED and level == accessed:
                    accessed = -1
            if level == alternatives:
                alternatives, numbered = stack[level, _OWN], stack[level, _HINTS]
            if level == within:
                if code != v.REF or state[c.ANY] or n_items:
                    start, stop = stack[level, _START], state[c.WRITTEN]
                    if n_rows >= len(rows):
                        return MANY, 0, 0
                    room = most_bytes(stop - start, fields, items, n_items) + 6 * (n_aside + kind_to - kind_from)
                    if written + room > len(js):
                        return FULL, 0, 0
                    if not in_entry:
                        written = w.literal(js, written, w.LIST)
                    written = write_citation(js, written, data, out, start, stop, fields, items, n_items, year, state[c.HINTS])
                    written = write_attributes(js, written, data, kind_from, kind_to, aside, label_from, label_to)
                    rows[n_rows, 1] = stack[level, _OWN]
                    n_rows += 1
                    in_entry += 1
                within = -1
            if level == 0:
                if in_entry:
                    if written + 6 * (id_to - id_from + n_aside) + OVERHEAD > len(js):
                        return FULL, 0, 0
                    written = write_entry(js, written, data, id_from, id_to, aside, name_from, name_to)
                state[c.WRITTEN] = n_aside = 0
            continue
        # The start of an element.
        code, at = element(data, at)
        cites = v.MIXED <= code <= v.NLM
        if level == 0 and not (code == v.REF or code == v.SELF or (cites and selves == 0)):
            continue
        if code == v.REF or cites or code == v.GROUP or v.PUB_ID <= code <= v.SELF_URI:
            at = attributes(data, at, spans)
        else:
            at = tag_end(data, at)
        if at >= n:
            break
        empty = data[at - 1] == 47
        at += 1
        if level == 0 and code == v.SELF:
            selves += not empty
            continue
        if level == 0 and empty:
            continue
        if level >= _DEPTH:
            return DEEP, 0, 0
        if silent < 0:
            if level == 0:
                id_from, id_to = spans[2 * v.XML_ID], spans[2 * v.XML_ID + 1]
                name_from = name_to = in_entry = n_alternatives = numbered = 0
                alternatives = -1
            if level == 0 or (cites and not empty and (within < 0 or stack[within, _CODE] == v.REF)):
                if within >= 0:  # what stood before the first citation of a <ref> is not its text
                    state[c.WRITTEN] = stack[within, _START]
                if n_rows < len(rows):
                    rows[n_rows, 0] = code
                within, n_items, year = level, 0, 0
                fields.fill(0)
                inside.fill(0)
                kind_from, kind_to = spans[2 * v.KIND], spans[2 * v.KIND + 1]
                label_from = label_to = 0
                stack[level, _OWN] = numbered if alternatives >= 0 else 0
                state[c.GAP] = state[c.APART] = state[c.ANY] = state[c.LAST] = state[c.HINTS] = 0
                state[c.STRICT] = code == v.ELEMENT
                group, person, given_from, given_to, people, title_end, accessed = v.AUTHORS, -1, 0, 0, 0, -1, -1
            elif code == v.LABEL or code == v.SILENT:
                if not empty:
                    silent = level
                    if code == v.LABEL:
                        if within >= 0 and stack[within, _CODE] != v.REF:
                            if label_to == label_from:
                                labelling = level
                                label_from = n_aside
                        elif name_to == name_from:
                            labelling = level
                            name_from = n_aside
                        heading[c.WRITTEN] = n_aside
                        heading[c.GAP] = heading[c.ANY] = 0
            elif code != v.INLINE:
                if cites and within >= 0 and stack[within, _CODE] == v.REF:  # an empty one
                    state[c.WRITTEN] = stack[within, _START]
                    within = -1
                if cites or code == v.REF or (code >= v.NAME and inside[code]):
                    code = v.OTHER  # nothing counts twice, however deep it is nested in itself
                elif code >= v.NAME and not empty:
                    inside[code] = 1
                state[c.APART] = 1
                if code == v.ALTERNATIVES and not empty:
                    stack[level, _OWN], stack[level, _HINTS] = alternatives, numbered
                    n_alternatives += 1
                    alternatives, numbered = level, n_alternatives
                elif within >= 0:
                    if code == v.GROUP and empty:
                        person, given_from, given_to = -1, 0, 0
                    elif code == v.GROUP:
                        stack[level, _OWN] = group
                        start, stop = spans[2 * v.GROUP_TYPE], spans[2 * v.GROUP_TYPE + 1]
                        group = value_code(data, start, stop) if stop > start else v.AUTHORS
                        person, given_from, given_to = -1, 0, 0
                    elif code == v.NAME or code == v.STRING_NAME:
                        person, given_from, given_to = -1, 0, 0
                        stack[level, _OWN] = people
                    elif code == v.TITLE:
                        stack[level, _OWN] = state[c.GAP] == 0 and title_end == state[c.WRITTEN]
                    elif code == v.ACCESSED and not empty and accessed < 0:
                        accessed = level
                    elif (code == v.NUMBER and not empty) or (
                        v.PUB_ID <= code <= v.SELF_URI and not (empty and spans[2 * v.HREF] == 0)
                    ):
                        stack[level, _OWN], stack[level, _HINTS] = n_items, state[c.HINTS]
                        items[n_items, CODE] = code
                        items[n_items, START] = items[n_items, STOP] = state[c.WRITTEN]
                        if code == v.NUMBER:
                            spans.fill(0)
                        items[n_items, WHICH] = value_code(data, spans[2 * v.TYPE], spans[2 * v.TYPE + 1])
                        items[n_items, FROM], items[n_items, TO] = spans[2 * v.HREF], spans[2 * v.HREF + 1]
                        n_items += 1
        if not empty:
            stack[level, _CODE], stack[level, _START] = code, state[c.WRITTEN]
            level += 1
    return DONE, n_rows, written

"""The state of a scan: the buffers and records that the scanner's kernels share.

A record is a structure of int64 numbers; kernels read and write a field as ``record.name``. A kernel takes a record from its
array in `Buffers`, which the caller of the scan holds: numba does not keep the array alive for a record.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner.characters import Bytes, Integers

Records = npt.NDArray[Any]

#: Results of a scan: success, the JSON buffer is full, too many citations, elements nested too deep.
DONE, FULL, TOO_MANY, TOO_DEEP = range(4)


def _record(names: str) -> np.dtype[Any]:
    return np.dtype((np.record, [(name, np.int64) for name in names.split()]))


#: The state of a scan.
#: ``level``: number of open elements of the current entry. ``front``: number of open elements that describe the article itself.
#: Levels of open elements, -1 for none: ``citation``, the current citation; ``silent``, an element whose text is skipped;
#: ``accessed``, an access date; ``alternatives``, <citation-alternatives>. A <ref> counts as a citation until a citation
#: element begins (``in_element``). ``in_label``: the skipped element is a label whose text is kept.
#: ``number``: number of the open <citation-alternatives>; ``numbers``: how many the entry has had.
#: ``citations`` and bytes of JSON (``written``) of the article; ``entry_citations`` and bytes of ``labels`` of the entry.
#: Of the citation: number of ``items``; ``year``; ``group`` of people; ``person``, the item that lacks a given name, or -1;
#: ``people``, number of persons; ``title_end``, the end of the last part of the title, or -1; spans of a ``given`` name that
#: precedes its last name, of the ``kind`` and of the ``label``. Of the entry: spans of its ``id`` and ``entry_label``.
#: ``result``: DONE, FULL, TOO_MANY or TOO_DEEP.
STATE: Final = _record(
    "level front citation silent accessed alternatives in_element in_label number numbers entry_citations items citations "
    "written labels year group person people title_end given_start given_stop kind_start kind_stop label_start label_stop "
    "id_start id_stop entry_label_start entry_label_stop result"
)
#: A text that `reflink.jats.scanner.characters.write` appends to. ``written``: bytes in its buffer. ``gap``: white space
#: followed the last character. ``apart``: a separating tag followed it. ``last``: the last character. ``filled``: there is a
#: character. ``strict``: every separating tag becomes a space. ``hints``: the text may contain identifiers. ``recent``: the
#: last four bytes in lower case.
TEXT: Final = _record("written gap apart last filled strict hints recent")
#: An open element, and what its end needs. ``start``: bytes of text written when it began. ``number``: of a citation, the
#: number of the <citation-alternatives> that contains it, or 0. Of <citation-alternatives>: ``alternatives`` and ``number``
#: around it. Of a group: the ``group`` around it. Of a name: ``people`` when it began. Of an identifier: its item,
#: ``identifier``, and ``hints`` when it began. Of a title: whether it follows another part without a character between
#: (``seamless``).
ELEMENT: Final = _record("code start number alternatives group people identifier hints seamless")
#: A person, title or identifier of a citation. ``start``, ``stop``: span of the text. ``kind``: the group of a person, the type
#: of an identifier, whether a title is seamless. ``extra_start``, ``extra_stop``: span of the given name, or in the XML of the
#: address.
ITEM: Final = _record("code start stop kind extra_start extra_stop")

#: Elements of ``Buffers.texts``.
CITATION_TEXT, LABEL_TEXT = 0, 1
#: Maximum number of open elements of an entry.
DEPTH: Final = 1024
_FIELDS: Final = len(v.FIRST_FIELDS)


class Buffers(NamedTuple):
    """Everything that a scan reads and writes.

    ``data``: the XML. ``js``: the JSON. ``rows`` [n, 3]: element code of each citation, the number of the
    <citation-alternatives> of its entry that contains it (0: none), and where in ``data`` the element's name begins. ``out``:
    text of the current entry; ``labels``: text of its labels. ``items`` (`ITEM`): of the current citation. ``fields`` [fields,
    2]: spans of the citation's fields in ``out``. ``spans``: of the attributes of the current tag in ``data``, by code.
    ``inside`` [codes]: 1 for the kinds of open elements. ``stack`` (`ELEMENT`), ``texts`` (`TEXT`), ``state`` [1] (`STATE`).
    """

    data: Bytes
    js: Bytes
    rows: Integers
    out: Bytes
    labels: Bytes
    items: Records
    fields: Integers
    spans: Integers
    inside: Integers
    stack: Records
    texts: Records
    state: Records


def buffers(data: Bytes, js: Bytes, citations: int, items: int) -> Buffers:
    """Return the buffers for one scan of ``data``: at most ``citations`` citations, each with at most ``items`` items."""
    state = np.zeros(1, STATE)
    for level in ("citation", "silent", "accessed", "alternatives"):
        state[level] = -1
    n = len(data) + 16
    return Buffers(
        data, js, np.empty((citations, 3), np.int64), np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(items, ITEM),
        np.zeros((_FIELDS, 2), np.int64), np.zeros(2 * v.ATTRIBUTE_CODES, np.int64), np.zeros(v.FIRST + _FIELDS, np.int64),
        np.empty(DEPTH, ELEMENT), np.zeros(2, TEXT), state,
    )  # fmt: skip

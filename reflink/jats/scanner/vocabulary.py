"""Codes of the names of elements, attributes and values that matter in a bibliography.

Each element name has one code. The elements with a code from `FIRST` on are fields of a citation. If a citation has several
elements of one such field, the first with text counts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

#: An unknown element: its start and end separate texts.
OTHER: Final = 0
#: Markup within a word or phrase: its text joins the text around it.
INLINE: Final = 1
#: An element whose text is not part of the citation.
SILENT: Final = 2
LABEL: Final = 3
REF: Final = 4
ALTERNATIVES: Final = 5
#: An element in which a citation describes the article itself.
SELF: Final = 6
MIXED: Final = 8
ELEMENT: Final = 9
CITATION: Final = 10
NLM: Final = 11
NAME: Final = 12
STRING_NAME: Final = 13
SURNAME: Final = 14
GIVEN: Final = 15
GROUP: Final = 16
ACCESSED: Final = 17
YEAR: Final = 18
TITLE: Final = 19
COLLAB: Final = 20
NUMBER: Final = 21
PUB_ID: Final = 22
OBJECT_ID: Final = 23
EXT_LINK: Final = 24
URI: Final = 25
SELF_URI: Final = 26
MATH: Final = 27
FIRST: Final = 32

#: Elements whose first occurrence with text becomes a field, and the field's name in a reference. A field with an underscore is
#: a substitute for another field.
FIRST_FIELDS: Final = {
    "source": "venue", "volume": "volume", "issue": "issue", "fpage": "first_page", "lpage": "last_page",
    "publisher-name": "publisher", "chapter-title": "chapter_title", "trans-title": "translated_title",
    "part-title": "_part_title", "data-title": "_data_title", "page-range": "_pages",
}  # fmt: skip

_NAMES: Final = {
    INLINE: "italic bold sup sub sc underline overline strike monospace roman sans-serif xref styled-content named-content "
    "abbrev inline-formula alternatives fixed-case ruby rb bdi hi "
    "mi mn mo mtext mrow msub msup msubsup mfrac mover munder mstyle semantics",
    SILENT: "tex-math inline-graphic graphic annotation-xml fn",
    LABEL: "label", REF: "ref", ALTERNATIVES: "citation-alternatives", SELF: "front front-stub",
    MIXED: "mixed-citation", ELEMENT: "element-citation", CITATION: "citation", NLM: "nlm-citation",
    NAME: "name", STRING_NAME: "string-name", SURNAME: "surname", GIVEN: "given-names", GROUP: "person-group",
    ACCESSED: "date-in-citation", YEAR: "year", TITLE: "article-title", COLLAB: "collab", NUMBER: "elocation-id",
    PUB_ID: "pub-id", OBJECT_ID: "object-id", EXT_LINK: "ext-link", URI: "uri", SELF_URI: "self-uri", MATH: "math",
}  # fmt: skip

INLINE_NAMES: Final = frozenset(_NAMES[INLINE].split())
SILENT_NAMES: Final = frozenset(f"{_NAMES[SILENT]} {_NAMES[LABEL]}".split())

#: Item codes for people: a person with last name and given name, and a person with an undivided name.
PERSON: Final = SURNAME
UNSPLIT: Final = STRING_NAME

#: Groups of people by ``person-group-type``; any other group counts as OTHERS.
AUTHORS: Final = 1
EDITORS: Final = 2
OTHERS: Final = 0
#: Identifiers by ``pub-id-type`` or ``ext-link-type``. MEDLINE numbers its own records, unlike PubMed.
DOI: Final = 3
PMID: Final = 4
PMCID: Final = 5
ID_CODES: Final = {"doi": DOI, "pmid": PMID, "pmcid": PMCID, "pmc": PMCID, "arxiv": 6}
MEDLINE: Final = 7
_VALUES: Final = {
    **dict.fromkeys("author authors allauthors all-authors inventor".split(), AUTHORS),
    **dict.fromkeys("editor editors guest-editor series-editor ed eds".split(), EDITORS),
    **ID_CODES, "medline": MEDLINE,
}  # fmt: skip

#: Attributes that the scanner reads.
TYPE: Final = 1
HREF: Final = 2
XML_ID: Final = 3
KIND: Final = 4
GROUP_TYPE: Final = 5
#: Number of codes of attributes, with 0 for any other attribute.
ATTRIBUTE_CODES: Final = 6
_ATTRIBUTES: Final = {
    TYPE: "pub-id-type ext-link-type", HREF: "href", XML_ID: "id", KIND: "publication-type citation-type",
    GROUP_TYPE: "person-group-type",
}  # fmt: skip
#: Attributes and values are in the table of elements as ``@name`` and ``=value``; their codes begin here.
ATTRIBUTE: Final = 100
VALUE: Final = 200

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
#: Slots of the table: a power of two, several times the number of names.
SLOTS: Final = 512


def name_hash(name: bytes) -> int:
    """Return the 64-bit FNV-1a hash of a name. The scanner's kernels compute the same hash."""
    value = _OFFSET
    for byte in name:
        value = ((value ^ byte) * _PRIME) % 2**64
    return value


def _table() -> tuple[np.ndarray, np.ndarray]:
    """Return hashes (uint64) and codes (int64) by slot; a hash of 0 marks an empty slot."""
    codes = {name: code for code, names in _NAMES.items() for name in names.split()}
    codes |= {name: FIRST + at for at, name in enumerate(FIRST_FIELDS)}
    codes |= {f"@{name}": ATTRIBUTE + code for code, names in _ATTRIBUTES.items() for name in names.split()}
    codes |= {f"={value}": VALUE + code for value, code in _VALUES.items()}
    hashes, values = np.zeros(SLOTS, np.uint64), np.zeros(SLOTS, np.int64)
    for name, code in codes.items():
        value = name_hash(name.encode())
        slot = value % SLOTS
        while hashes[slot]:
            slot = (slot + 1) % SLOTS
        hashes[slot], values[slot] = value, code
    return hashes, values


HASHES, CODES = _table()

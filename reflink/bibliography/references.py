"""From the entries of a bibliography to references, with ids that are stable between versions of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from reflink.bibliography import division
from reflink.bibliography.citation import DESCRIBING, Citation, raw_query
from reflink.bibliography.cleaning import allowed, line
from reflink.entities import Inferred, Reference
from reflink.errors import TooLarge
from reflink.limits import Limits
from reflink.recognition import recognise
from reflink.recognition.kinds import kind_of

#: Maximum characters per paper of the citations whose fields are inferred, which bounds the time (3 µs a character). It is
#: 20,000 citations of 100 characters; the longest real bibliographies have a tenth of it.
MAX_INFERRED: Final = 2_000_000
#: Maximum length, in characters, of XML id, label and kind, which are attributes of any length in hostile files.
_MAX_NAME: Final = 1_000
#: Maximum length, in characters, of an XML id that is used in a reference's id.
_MAX_XML_ID: Final = 100


@dataclass(slots=True)
class Entry:
    """One entry of a bibliography, and the works it cites.

    ``xml_id``: the entry's name in its file, by which the text refers to it: an XML id, a key of BibTeX. ``label``: as printed
    before it, e.g. "[3]".
    """

    xml_id: str | None
    label: str | None
    works: list[Citation]


def references(
    entries: Iterable[Entry], citing: str, name: str, limits: Limits, *, infer: bool
) -> tuple[tuple[Reference, ...], int]:
    """Return the references of a paper in the order of its entries; with ``infer``, recognise the fields of untagged citations.

    Also return the number of untagged citations that were not read because they exceed MAX_INFERRED. Raises TooLarge beyond
    ``limits.references``.
    """
    found = [_divided(entry) for entry in entries]
    if sum(len(entry.works) for entry in found) > limits.references:
        raise TooLarge(f"{name}: more than {limits.references} references")
    made: list[Reference] = []
    remaining, unread = MAX_INFERRED, 0
    for entry, key in zip(found, _keys(found), strict=True):
        about: dict[str, Any] = {"citing": citing}
        if entry.xml_id and (xml_id := allowed(entry.xml_id)[:_MAX_NAME]):
            about["xml_id"] = xml_id
        if entry.label and (label := line(entry.label)[:_MAX_NAME].rstrip()):
            about["label"] = label
        for ordinal, citation in enumerate(entry.works, start=1):
            if len(citation.get("kind") or "") > _MAX_NAME:
                citation["kind"] = citation["kind"][:_MAX_NAME].rstrip()
            if infer and citation.keys().isdisjoint(DESCRIBING):
                text = raw_query(citation)
                remaining -= len(text)
                if remaining < 0:
                    unread += 1
                elif inferred := _inferred(text, citation["raw_text"]):
                    citation["inferred"] = inferred
            made.append(Reference.made({**about, "id": f"{citing}#{key}.{ordinal}", "position": len(made) + 1, **citation}))
    return tuple(made), unread


def _inferred(text: str, printed: str) -> Inferred | None:
    """Return the fields recognised in ``text``, and the kind that the ``printed`` citation, with its addresses, shows."""
    inferred, kind = recognise(text), kind_of(printed)
    return inferred if kind is None else (inferred or Inferred()).model_copy(update={"kind": kind})


def _divided(entry: Entry) -> Entry:
    """Return the entry with one citation for each work that a text of it cites."""
    found = [work for citation in entry.works for work in division.works(citation)]
    return entry if len(found) == len(entry.works) else Entry(entry.xml_id, entry.label, found)


def _keys(found: list[Entry]) -> list[str]:
    """Return the unique name of each entry within the paper: its XML id if unique, else the position of its first work."""
    positions: list[str] = []
    position = 1
    for entry in found:
        positions.append(str(position))
        position += len(entry.works)
    ids = [entry.xml_id for entry in found]
    times = Counter(ids)
    keys = [xml_id if xml_id and times[xml_id] == 1 and _usable(xml_id) else None for xml_id in ids]
    # An XML id may equal the position of an entry that has no usable one; the position wins.
    holders = {key: at for at, key in enumerate(keys) if key is not None}
    waiting = [positions[at] for at, key in enumerate(keys) if key is None]
    while waiting:
        if (at := holders.pop(waiting.pop(), None)) is not None:
            keys[at] = None
            waiting.append(positions[at])
    return [key if key is not None else positions[at] for at, key in enumerate(keys)]


def _usable(xml_id: str) -> bool:
    return len(xml_id) <= _MAX_XML_ID and xml_id.isprintable() and "#" not in xml_id and len(xml_id.split()) == 1

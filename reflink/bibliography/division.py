"""Divide a citation of several works into one citation for each, with the tags and identifiers that belong to it."""

from __future__ import annotations

from typing import Final

from reflink.bibliography.citation import DESCRIBING, Citation, raw_query
from reflink.entities import Ids
from reflink.identifiers import NO_IDS
from reflink.recognition.several import Part, divide
from reflink.stripping import REMOVED, separate

#: Minimum characters after year and first page of a tagged citation that may cite another work.
_MIN_REST: Final = 25
#: Fields that the citation's text and identifiers determine.
_OWN: Final = ("raw_text", "raw_noid", "ids", "ids_weak")


def works(citation: Citation) -> list[Citation]:
    """Return one citation for each work that the text of ``citation`` cites; ``[citation]`` if it cites one.

    The tagged fields belong to the first work; later works are mere text. A tagged identifier belongs to the work in whose text
    it stands, or to the work that a notice such as "Retraction in:" follows. If that is unclear, the citation is not divided.
    """
    parts = divide(citation["raw_text"]) if _may_be_several(citation) else []
    if not parts or (places := _places(citation, parts)) is None:
        return [citation]
    found: list[Citation] = []
    for at, part in enumerate(parts):
        own = {kind: value for kind, value in _stated(citation).items() if places[kind] == at}
        found.append(_work(citation["raw_text"], part, own, _stated(citation)))
    tags = {name: value for name, value in citation.items() if name not in _OWN}
    found[0] = {**tags, **found[0]}
    if "kind" in tags:
        found[1:] = [{"kind": tags["kind"], **work} for work in found[1:]]
    return found


def _may_be_several(citation: Citation) -> bool:
    """Return whether the citation may cite several works: a fast test, as nearly all citations are tagged and cite one.

    Text must follow the year and the first page of a tagged one.
    """
    if citation.keys().isdisjoint(DESCRIBING):
        return True
    if "year" not in citation or "first_page" not in citation:
        return False
    text = raw_query(citation)
    return len(text) - max(text.find(str(citation["year"])), text.rfind(citation["first_page"])) > _MIN_REST


def _places(citation: Citation, parts: list[Part]) -> dict[str, int] | None:
    """Return the number of the part to which each tagged identifier belongs; None if that of one is unclear."""
    text = citation["raw_text"].lower()
    places: dict[str, int] = {}
    for kind, value in _stated(citation).items():
        position = text.find(value.lower())
        at = next((at for at, part in enumerate(parts) if 0 <= position < part.stop), None)
        if at is None:
            return None
        while at and parts[at].notice:
            at -= 1
        if at and not citation.keys().isdisjoint(DESCRIBING):
            return None
        places[kind] = at
    return places


def _stated(citation: Citation) -> dict[str, str]:
    return {kind: value for kind, value in citation.get("ids", NO_IDS) if value}


def _work(text: str, part: Part, ids: dict[str, str], tagged: dict[str, str]) -> Citation:
    """Return one work as mere text. ``ids``: those of ``tagged``, the citation's tagged identifiers, that belong to it."""
    raw = text[part.start : part.stop]
    work: Citation = {"raw_text": raw}
    query = part.query
    for value in tagged.values():
        at = query.lower().find(value.lower())
        if at >= 0:
            query = f"{query[:at]}{REMOVED}{query[at + len(value) :]}"
    weak, query = separate(query)
    query = query.rstrip(" ,;")
    if ids:
        work["ids"] = Ids.made(ids)
    if weak := {kind: value for kind, value in weak.items() if kind not in ids}:
        work["ids_weak"] = Ids.made(weak)
    if query != raw:
        work["raw_noid"] = query
    return work

"""Insert the links of references into the original bytes of a document.

Invariants:

1. Without the inserted texts the result is the original, byte for byte.
2. The result parses to the same papers and references with the added identifiers: it is parsed before it is returned. A
   reference that would change otherwise, or change another one, stays as it is.
3. A link to a work with another identifier than the reference states, in tags or text, is left out.
4. With the same links the result stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reflink.entities import ID_KINDS, Ids, Link, Paper, Reference, Work
from reflink.errors import NotAPaper
from reflink.identifiers import NORMALISERS
from reflink.jats.document import documents
from reflink.jats.reading import Read, papers_of
from reflink.jats.writing.marking import XLINK, Statement, added_by, marking
from reflink.jats.writing.original import Element, Original, elements
from reflink.limits import Limits

_DECLARED: Final = re.compile(rb"\sxmlns:([\w.-]+)\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_ROOT: Final = re.compile(rb"<[^\s!?/<>](?:[^\"'<>]|\"[^\"<]*\"|'[^'<]*')*+>")
#: Fields that added identifiers may change.
_CHANGED: Final = {"raw_text", "raw_noid", "ids", "ids_weak"}


def with_links(
    data: bytes,
    links: Mapping[str, tuple[Link, Work | None]],
    *,
    source: str | None = None,
    limits: Limits | None = None,
) -> bytes:
    """Return the document with links added to its references. ``links``: by the id of the reference, with the linked work.

    A reference gets a ``pub-id`` for each identifier of the work that it lacks, and an ``ext-link`` to the work, or a
    ``pub-id`` with the id of a work that has no identifier. A reference that is one of several in one text gets nothing, and
    neither does a link to another version of the cited work. Raises as `reflink.jats.parse_all` does, and NotAPaper if the
    document cannot be written.
    """
    name, limits = source or "paper", limits or Limits()
    original = Original(data, name)
    found = list(papers_of(documents(data, source, limits, numbered=True), data, source, limits, infer=False, located=True))
    before = _papers(found)
    insertions = _insertions(original, found, links, name)
    for _ in range(2):
        texts = [text for insertion in insertions.values() for text in insertion.texts]
        written = original.with_insertions(texts, name)
        after = _papers(list(papers_of(documents(written, source, limits), written, source, limits, infer=False)))
        changed = _changed(before, after, insertions)
        if not changed:
            return written
        insertions = {key: insertion for key, insertion in insertions.items() if key not in changed}
    raise NotAPaper(f"{name}: cannot be written: the references would change")


@dataclass(frozen=True, slots=True)
class _Insertion:
    """What to insert for one reference: texts with their places. ``added``: the identifiers that the texts state."""

    texts: list[tuple[int, str]]
    added: dict[str, str]


def _papers(found: list[Read]) -> dict[str, Paper]:
    papers: dict[str, Paper] = {}
    for each in found:
        papers.setdefault(each.paper.id, each.paper)
    return papers


def _insertions(
    original: Original, found: list[Read], links: Mapping[str, tuple[Link, Work | None]], name: str
) -> dict[str, _Insertion]:
    """Return what to insert, by the id of the reference."""
    places = elements(original.view)
    if places is None or len(places) != found[0].document.all_citing:
        reason = next((each for each in found[0].document.warnings if "well-formed" in each), "its tags do not match")
        raise NotAPaper(f"{name}: cannot be written: {reason}")
    xlink = _xlink(original.view)
    insertions: dict[str, _Insertion] = {}
    seen: set[str] = set()
    for each in found:
        if each.paper.id in seen:
            continue
        seen.add(each.paper.id)
        for reference, described in _located(each, places, name):
            if (statement := _statement(reference, links.get(reference.id))) is not None:
                texts = [_insertion(original.view, element, statement, xlink) for element in described]
                insertions[reference.id] = _Insertion([text for text in texts if text[1]], added_by(statement, described[0]))
    return insertions


def _located(read: Read, places: list[Element], name: str) -> Iterator[tuple[Reference, list[Element]]]:
    """Yield each reference that is alone in its text, with the elements of the original that describe it."""
    references = iter(read.paper.references)
    inside = elements(read.document.source)
    if inside is None or len(inside) != len(read.document.citing):
        raise NotAPaper(f"{name}: cannot be written: its tags do not match")
    numbers = {element.name: number for element, number in zip(inside, read.document.citing, strict=True)}
    for parts, starts in read.works:
        for _ in range(parts):
            reference = next(references)
        if parts == 1:
            yield reference, [places[numbers[start]] for start in starts]


def _statement(reference: Reference, decided: tuple[Link, Work | None] | None) -> Statement | None:
    if decided is None or decided[0].cited is None or decided[0].related is not None:
        return None
    link, work = decided
    cited = link.cited or ""
    ids = work.ids if work is not None else _ids(cited)
    lacking: dict[str, str] = {}
    for kind in ID_KINDS:
        value: str | None = getattr(ids, kind)
        stated: str | None = getattr(reference.ids, kind)
        if value is not None and (stated or getattr(reference.ids_weak, kind) or value) != value:
            return None
        if value is not None and stated is None:
            lacking[kind] = value
    return Statement(lacking, ids, cited, link.probability)


def _ids(work: str) -> Ids:
    kind, _, value = work.partition(":")
    known = NORMALISERS[kind](value) if kind in ID_KINDS else None
    return Ids(**{kind: known}) if known else Ids()


def _insertion(view: bytes, element: Element, statement: Statement, xlink: str | None) -> tuple[int, str]:
    """Return what to insert into an element, and where: after its content, without the white space at its end."""
    content = view[element.start : element.stop]
    stop = len(content)
    if element.tag == b"nlm-citation":
        annotation = content.rfind(b"<%sannotation" % element.prefix)
        stop = annotation if annotation >= 0 else stop
    elif element.tag == b"ref":
        paragraph = content.rfind(b"</%sp>" % element.prefix)
        stop = paragraph if paragraph >= 0 else stop
    text = marking(statement, element, content, xlink) if element.stop > element.start else ""
    return element.start + len(content[:stop].rstrip()), text


def _xlink(view: bytes) -> str | None:
    """Return the prefix of the namespace of links, if the root declares it and no other element declares it otherwise."""
    root = _ROOT.search(view)
    if root is None:
        return None
    found = {prefix: one or other for prefix, one, other in _DECLARED.findall(view)}
    for prefix, one, other in _DECLARED.findall(root[0]):
        if (one or other).decode("ascii", "replace") == XLINK and found[prefix] == (one or other):
            return str(prefix.decode("ascii"))
    return None


def _changed(before: dict[str, Paper], after: dict[str, Paper], insertions: dict[str, _Insertion]) -> set[str]:
    """Return the references that the result does not read as it should; all of a paper whose references are not the same."""
    changed: set[str] = set()
    for key, paper in before.items():
        again = after.get(key)
        if again is None or [each.id for each in again.references] != [each.id for each in paper.references]:
            changed |= {each.id for each in paper.references}
            continue
        for old, new in zip(paper.references, again.references, strict=True):
            insertion = insertions.get(old.id)
            if _differs(old, new, {} if insertion is None else insertion.added):
                changed.add(old.id)
    return changed


def _differs(old: Reference, new: Reference, added: dict[str, str]) -> bool:
    if not added and old == new:
        return False
    weak = {kind: value for kind, value in old.ids_weak.to_dict().items() if kind not in added}
    return (
        old.model_dump(exclude=_CHANGED) != new.model_dump(exclude=_CHANGED)
        or new.ids.to_dict() != {**old.ids.to_dict(), **added}
        or new.ids_weak.to_dict() != weak
    )

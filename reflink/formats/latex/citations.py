"""From the source of one entry of a bibliography to citations: text, identifiers, and the fields that its style marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from reflink.bibliography.citation import MAX_TEXT, Citation, described
from reflink.entities import Ids
from reflink.formats.latex.commands import bibliography_commands
from reflink.formats.latex.items import Item
from reflink.formats.latex.macros import Macro, closing
from reflink.formats.latex.rendering import Mark, Renderer
from reflink.identifiers import NO_IDS, extract
from reflink.names import divided, is_group
from reflink.recognition.several import divide, has_locator
from reflink.sources import values
from reflink.sources.pages import first_and_last
from reflink.stripping import separate

#: An old arXiv id, or a new one with its archive behind it, without the label "arXiv".
_BARE: Final = re.compile(
    r"(?<![\w./-])((?:hep-(?:th|ph|ex|lat)|astro-ph|gr-qc|quant-ph|cond-mat|nucl-(?:th|ex)|math-ph|math|physics|nlin|chao-dyn|solv-int"
    r"|q-alg|alg-geom|funct-an|dg-ga|q-bio|cs|adap-org|patt-sol|comp-gas|cmp-lg|supr-con|mtrl-th)(?:\.[A-Z]{2})?/\d{7})(?!\d)"
    r"|(?<![\w./-])(\d{4}\.\d{4,5})(?:v\d{1,2})?(?=\s?\[[a-z-]{2,10}(?:\.[A-Za-z-]{2,10})?\])"
)
_ENDS: Final = " ,.;:()[]{}“”\"'‘’"
_NAME_ENDS: Final = ' ,;:()[]“”"&'
_YEAR: Final = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)(?!\d)")
_AND: Final = re.compile(r"\s*(?:,?\s+and\s+|,?\s*&\s*)\s*")
_OTHERS: Final = frozenset(("et al", "et al.", "others", "et. al."))
_FIELDS: Final = {
    "title": "title", "volume": "volume", "number": "issue", "issue": "issue", "publisher": "publisher", "year": "year",
}  # fmt: skip
_AUTHOR_YEAR: Final = re.compile(r"\\citeauthoryear(?![A-Za-z])")
_OPENING: Final = re.compile(r"\s*\{")
#: Maximum length of a field.
_MAX_FIELD: Final = 2_000


class Reading:
    """Reads the entries of one paper. ``size``: of its source, which bounds what its macros may cost."""

    def __init__(self, macros: dict[str, Macro], size: int) -> None:
        self._renderer = Renderer(macros, bibliography_commands(), size)

    def plain(self, source: str) -> str:
        """Return the text that a source prints."""
        return self._renderer.render(source).text

    def label(self, source: str) -> str:
        """Return the printed label of an entry; natbib's own command for it reads "authors (year)"."""
        found = _AUTHOR_YEAR.search(source)
        if found is not None:
            groups: list[str] = []
            at = found.end()
            while (
                len(groups) < 3 and (opened := _OPENING.match(source, at)) and (close := closing(source, opened.end() - 1)) >= 0
            ):
                groups.append(source[opened.end() : close])
                at = close + 1
            if len(groups) > 1:
                source = f"{groups[-2]} ({groups[-1]})"
        return self.plain(source)

    def citations(self, item: Item) -> list[Citation]:
        """Return the works that an entry cites; an empty list if it has no text."""
        text, marks = self._renderer.render(item.source)
        text = text[: 4 * MAX_TEXT]
        works = _tagged_works(text, marks)
        if works is None:
            works = _untagged_works(text, marks)
        return [each for each in works if each is not None]


# Styles that mark fields.


def _tagged_works(text: str, marks: Sequence[Mark]) -> list[Citation | None] | None:
    """Return the works whose fields are marked, in order; None if too few are marked.

    A work begins where authors follow a journal or year.
    """
    infos = sorted((mark for mark in marks if mark.name.startswith("info:")), key=lambda mark: mark.start)
    if len({mark.name for mark in infos}) < 2:
        return None
    starts, complete = [0], False
    for mark in infos:
        kind = mark.name[5:]
        if kind == "author" and complete:
            starts.append(_begin(marks, mark.start))
            complete = False
        complete = complete or kind in ("year", "pages", "eid")
    stops = [*starts[1:], len(text) + 1]
    found: list[Citation | None] = []
    for start, stop in zip(starts, stops, strict=True):
        inside = [mark for mark in marks if start <= mark.start < stop]
        fields = _fields(text, inside)
        found.append(described(text[start:stop].strip(" ;"), fields, _ids(inside)))
    return found


def _begin(marks: Sequence[Mark], at: int) -> int:
    """Return the begin of the field of authors that holds the author at ``at``."""
    return min((mark.start for mark in marks if mark.name == "field:author" and mark.start <= at <= mark.stop), default=at)


def _fields(text: str, marks: Sequence[Mark]) -> Citation:
    """Return the fields that marks state."""
    fields: dict[str, Any] = {}
    lasts: list[str] = []
    givens: list[str] = []
    groups: list[str] = []
    editors: list[str] = []
    venues: list[str] = []
    kinds = {mark.name for mark in marks if mark.name in ("info:booktitle", "info:journal")}
    for mark in sorted(marks, key=lambda mark: mark.start):
        value = text[mark.start : mark.stop][:_MAX_FIELD]
        kind = mark.name.removeprefix("info:")
        if kind in ("author", "person", "editor") and kind != mark.name:
            for last, given in _people(
                value, [each for each in marks if mark.start <= each.start and each.stop <= mark.stop], text
            ):
                if kind == "editor" or _within(mark, marks, "field:editor"):
                    editors.append(last)
                elif given is None:
                    groups.append(last)
                else:
                    lasts.append(last)
                    givens.append(given)
        elif kind == "collaboration":
            groups.append(value.strip(_ENDS))
        elif kind in ("journal", "booktitle", "series") and kind != mark.name:
            venues.append(value.strip(' ,;:“”"'))
        elif kind in _FIELDS and kind != mark.name and kind not in fields:
            fields.setdefault(_FIELDS[kind], value.strip(' ,;:“”"' if kind == "title" else _ENDS))
        elif kind in ("pages", "eid", "lastpage") and kind != mark.name:
            first, to = first_and_last(value.strip(_ENDS))
            if kind == "lastpage":
                fields.setdefault("last_page", first)
            elif first and "first_page" not in fields:
                fields |= {"first_page": first} | ({"last_page": to} if to else {})
    if year := fields.pop("year", None):
        stated = _YEAR.search(year)
        fields["year"] = int(stated[1]) if stated else None
    if "title" not in fields and kinds == {"info:booktitle"}:
        fields["title"] = venues.pop() if venues else ""
    if "title" in fields:
        fields["title"] = fields["title"].rstrip(".") or None
    if lasts:
        fields["last_names"] = tuple(lasts)
        if any(givens):
            fields["given_names"] = tuple(givens)
    fields |= {"editors": tuple(editors), "venue": next(filter(None, venues), None)}
    if groups := [each for each in dict.fromkeys(groups) if each]:
        fields |= {"collectives": tuple(groups), "collab": groups[0]}
    return fields


def _within(mark: Mark, marks: Sequence[Mark], name: str) -> bool:
    return any(each.name == name and each.start <= mark.start and mark.stop <= each.stop for each in marks)


def _people(value: str, inside: Sequence[Mark], text: str) -> list[tuple[str, str | None]]:
    """Return last and given names of an author's mark; the given name of a group is None."""
    lasts = [mark for mark in inside if mark.name == "last"]
    if lasts:
        found: list[tuple[str, str | None]] = []
        for last in lasts:
            name = text[last.start : last.stop].strip(_NAME_ENDS)
            firsts = [text[mark.start : mark.stop].strip(_NAME_ENDS) for mark in inside if mark.name == "first"]
            if not name or name.lower() in _OTHERS:
                continue
            if not firsts and is_group(name):
                found.append((name, None))
            else:
                found.append((name, " ".join(firsts) if len(lasts) == 1 else ""))
        return found
    return names_of(value)


def names_of(value: str) -> list[tuple[str, str | None]]:
    """Return last and given names of persons in one text, joined by "and"; the given name of a group is None."""
    found: list[tuple[str, str | None]] = []
    for each in _AND.split(value):
        name = each.strip(_NAME_ENDS)
        if not name or name.lower() in _OTHERS:
            continue
        found.append((name, None) if is_group(name) else divided(name))
    return found


# Text without marked fields.


def _untagged_works(text: str, marks: Sequence[Mark]) -> list[Citation | None]:
    """Return the works of an entry whose fields are not marked, each with the identifiers of its part of the text."""
    found: list[Citation | None] = []
    for start, stop in _pieces(text, marks):
        inside = [mark for mark in marks if start <= mark.start < stop or stop == len(text) <= mark.start]
        stated = [mark for mark in inside if mark.name in _KINDS]
        parts = divide(text[start:stop]) if _conflicting(stated) or _invisible(text, stated) else []
        if not parts:
            found.append(_work(text[start:stop], _ids(inside), inside))
            continue
        begin = start
        for number, part in enumerate(parts):
            end = start + parts[number + 1].start if number + 1 < len(parts) else stop + 1
            own = [mark for mark in inside if begin <= mark.start < end]
            work = _work(text[start + part.start : start + part.stop], _ids(own), own)
            if work is not None and part.query != work["raw_text"]:
                _, work["raw_noid"] = separate(" ".join(part.query.split()))
            found.append(work)
            begin = end
    return found


def _pieces(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the parts of the text between line breaks and INSPIRE's names, if each may be a work."""
    cuts = sorted({mark.start for mark in marks if mark.name in ("break", "work-end") and 0 < mark.start < len(text)})
    if not cuts or len(cuts) > 200:
        return [(0, len(text))]
    pieces: list[tuple[int, int]] = []
    start = 0
    for cut, after in zip(cuts, [*cuts[1:], len(text)], strict=True):
        if _is_work(text[start:cut]) and _is_work(text[cut:after]):
            pieces.append((start, cut))
            start = cut
    return [*pieces, (start, len(text))]


def _is_work(text: str) -> bool:
    return has_locator(text) or _BARE.search(text) is not None or bool(extract(text).keys())


def _work(text: str, ids: Ids, marks: Sequence[Mark]) -> Citation | None:
    """Return a citation of mere text. Identifiers without label, and those of other addresses, are weak."""
    citation = described(text.strip(" ;\x01"), {}, ids)
    if citation is None:
        return None
    weak: dict[str, Any] = {kind: value for kind, value in citation.get("ids_weak", NO_IDS) if value}
    for mark in marks:
        if mark.name == "address":
            weak = {**{kind: value for kind, value in extract(mark.value) if value}, **weak}
    bare = _BARE.findall(citation["raw_text"])
    if bare:
        weak.setdefault("arxiv", bare[0][0].lower() or bare[0][1])
    weak = {kind: value for kind, value in weak.items() if value and not getattr(ids, kind)}
    if "arxiv" in weak:
        weak |= {"arxiv": values.ids(arxiv=weak["arxiv"]).arxiv}
    if weak := {kind: value for kind, value in weak.items() if value}:
        citation["ids_weak"] = Ids.made(weak)
    return citation


_KINDS: Final = ("doi", "arxiv", "pmid")


def _ids(marks: Sequence[Mark]) -> Ids:
    """Return the first identifier of each kind that commands state."""
    found: dict[str, str] = {}
    for mark in marks:
        if mark.name in _KINDS and (value := getattr(values.ids(**{mark.name: mark.value}), mark.name)):
            found.setdefault(mark.name, value)
    return values.ids(**found) if found else NO_IDS


def _conflicting(stated: Sequence[Mark]) -> bool:
    return any(len({mark.value.lower() for mark in stated if mark.name == kind}) > 1 for kind in _KINDS)


def _invisible(text: str, stated: Sequence[Mark]) -> bool:
    """Return whether an identifier does not stand in the text, so that the division of the text would not find its work."""
    return any(mark.value.lower() not in text.lower() for mark in stated)

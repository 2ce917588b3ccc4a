"""Convert one scanned citation to the fields of a reference."""

from __future__ import annotations

import re
from typing import Final

from reflink.bibliography.citation import MAX_TEXT, Citation
from reflink.entities import Ids
from reflink.identifiers import normalise_doi
from reflink.jats.links import identify
from reflink.jats.people import named
from reflink.jats.scanner.records import BEGINS, ENDS
from reflink.jats.scanner.vocabulary import NUMBER
from reflink.jats.sourcetext import line, unescaped
from reflink.stripping import REMOVED, separate

_PAGE_BREAK: Final = re.compile(r"[-‐‑–—,;]+")
#: Substitute fields, and the field that each replaces if it is absent.
_STAND_INS: Final = {"_data_title": "title", "_part_title": "chapter_title", "_number": "first_page"}
_LOOSE: Final = re.compile(r" +([,.;:)\]])")
_LINK: Final = re.compile(f"{BEGINS}([^{ENDS}]*){ENDS}")


def read_citation(fields: Citation, *, spaced: bool) -> None:
    """Complete the scanner's object of one citation in place: identifiers, names, titles and substitute fields.

    Of the untagged text this function reads only identifiers (``ids_weak``). ``spaced``: white space between the citation's
    elements is significant.
    """
    printed: str = fields["raw_text"]
    ids: dict[str, str] = {}
    hints: bool = "_hints" in fields and bool(fields.pop("_hints"))
    bare: str = fields.pop("_bare", "")
    if "_ids" in fields:
        items: list[tuple[int, int, str, str]] = fields.pop("_ids")
        kept = {_LOOSE.sub(r"\1", item[2]) for item in items if not _taken(*item, fields, ids)}
        if BEGINS in bare:
            bare = _LINK.sub(lambda link: link[1] if link[1] in kept else REMOVED, bare)
            hints = hints or any(kept)  # the scanner has not searched the text of these elements
    elif "ids" in fields:
        ids = fields.pop("ids")
    if ids:
        fields["ids"] = Ids.made(ids)
    _finish(fields, spaced)
    if len(printed) > MAX_TEXT:
        fields["raw_text"] = printed[:MAX_TEXT].rstrip()
        fields.pop("raw_noid", None)
        hints = True  # the shortened text as a whole is not yet searched
        bare = (bare or printed)[:MAX_TEXT].rstrip()
    if hints or (bare and bare != printed):
        found, noid = separate(bare or printed, plain=not hints)
        if found and (weak := {kind: value for kind, value in found.items() if kind not in ids}):
            fields["ids_weak"] = Ids.made(weak)
        if noid != fields["raw_text"]:
            fields["raw_noid"] = noid


def _taken(code: int, declared: int, text: str, href: str, fields: Citation, ids: dict[str, str]) -> bool:
    """Read one element that may hold an identifier; return whether its text is only an identifier."""
    if code != NUMBER:
        return identify(code, text, declared, unescaped(href) if href else href, ids)
    if text.startswith("10.") and (doi := normalise_doi(text)):  # some publishers put the DOI in place of the article number
        ids.setdefault("doi", doi)
        return True
    if text:
        fields.setdefault("_number", text)
    return False


def _finish(fields: Citation, spaced: bool) -> None:
    """Move names, titles, lists and substitutes to the fields that they belong to."""
    if "_names" in fields:
        fields.update(named(fields.pop("_names")))
    for name in ("last_names", "given_names", "editors"):
        if name in fields:
            fields[name] = tuple(fields[name])
    if "collectives" in fields:
        fields["collab"], fields["collectives"] = fields["collectives"][0], tuple(fields["collectives"])
    if "_titles" in fields and (title := _title(fields.pop("_titles"), spaced)):
        fields["title"] = title
    if "kind" in fields:
        fields["kind"] = line(fields["kind"])
        if not fields["kind"]:
            del fields["kind"]
    for stand_in, field in _STAND_INS.items():
        if stand_in in fields:
            fields.setdefault(field, fields.pop(stand_in))
    if "_pages" in fields:
        for field, page in zip(("first_page", "last_page"), _PAGE_BREAK.split(fields.pop("_pages")), strict=False):
            if page.strip():
                fields.setdefault(field, page.strip())


def _title(parts: list[tuple[int, str, str]], spaced: bool) -> str | None:
    """Join the parts of a title, with the text between them, until that text contains a letter or digit.

    A part without letters and digits counts as text between parts.
    """
    title = pending = ""
    for seamless, between, part in parts:
        pending += "" if spaced and seamless else between
        if not any(map(str.isalnum, part)):
            pending += part
        elif not title:
            title, pending = part, ""
        elif any(map(str.isalnum, pending)):
            break
        else:
            title += pending + part
            pending = ""
    return title or None

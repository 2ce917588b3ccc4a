"""One scanned citation → the fields of one reference."""

from __future__ import annotations

import re
from typing import Any, Final

from reflink.entities import Ids
from reflink.identifiers import normalise_doi
from reflink.jats.links import identify
from reflink.jats.people import named
from reflink.jats.scanner.records import BEGINS, ENDS
from reflink.jats.scanner.vocabulary import NUMBER
from reflink.jats.sourcetext import line, unescaped
from reflink.stripping import REMOVED, separate

#: Fields of `reflink.entities.Reference` by name; what the citation does not say is absent.
Citation = dict[str, Any]

#: A citation's text is cut here, in characters: real ones are a quarter of it at most, and reading more costs without bound.
MAX_TEXT: Final = 10_000
#: What describes a work; without any of it the publisher tagged nothing.
DESCRIBING: Final = ("title", "chapter_title", "last_names", "collab", "editors", "venue", "year", "volume", "first_page")

_PAGE_BREAK: Final = re.compile(r"[-‐‑–—,;]+")
#: What stands in for fields that have no element of their own.
_STAND_INS: Final = {"_data_title": "title", "_part_title": "chapter_title", "_number": "first_page"}
_LOOSE: Final = re.compile(r" +([,.;:)\]])")
_LINK: Final = re.compile(f"{BEGINS}([^{ENDS}]*){ENDS}")


def tagged(citation: Citation) -> int:
    """How many of the fields that describe a work the markup gave."""
    return sum(name in citation for name in DESCRIBING)


def raw_query(citation: Citation) -> str:
    """As `reflink.entities.Reference.raw_query`."""
    return str(citation["raw_noid" if "raw_noid" in citation else "raw_text"])


def read_citation(said: Citation, *, spaced: bool) -> None:
    """Finishes what the scanner made of one citation, in place: identifiers, and what comes in parts.

    What only the text says is left to others, identifiers excepted (``ids_weak``). ``spaced``: white space between its elements
    means something.
    """
    printed: str = said["raw_text"]
    ids: dict[str, str] = {}
    hints: bool = "_hints" in said and bool(said.pop("_hints"))
    bare: str = said.pop("_bare", "")
    if "_ids" in said:
        items: list[tuple[int, int, str, str]] = said.pop("_ids")
        kept = {_LOOSE.sub(r"\1", item[2]) for item in items if not _taken(*item, said, ids)}
        if BEGINS in bare:
            bare = _LINK.sub(lambda link: link[1] if link[1] in kept else REMOVED, bare)
            hints = hints or any(kept)  # their text was not looked at yet
    elif "ids" in said:
        ids = said.pop("ids")
    if ids:
        said["ids"] = Ids.made(ids)
    _finish(said, spaced)
    if len(printed) > MAX_TEXT:
        said["raw_text"] = printed[:MAX_TEXT].rstrip()
        said.pop("raw_noid", None)
        hints = True  # what is left was not looked at as a whole
        bare = (bare or printed)[:MAX_TEXT].rstrip()
    if hints or (bare and bare != printed):
        found, noid = separate(bare or printed, plain=not hints)
        if found and (weak := {kind: value for kind, value in found.items() if kind not in ids}):
            said["ids_weak"] = Ids.made(weak)
        if noid != said["raw_text"]:
            said["raw_noid"] = noid


def _taken(code: int, declared: int, text: str, href: str, said: Citation, ids: dict[str, str]) -> bool:
    """Reads one element that may hold an identifier; true when its text is nothing else."""
    if code != NUMBER:
        return identify(code, text, declared, unescaped(href) if href else href, ids)
    if text.startswith("10.") and (doi := normalise_doi(text)):  # some publishers give the DOI for the article's number
        ids.setdefault("doi", doi)
        return True
    if text:
        said.setdefault("_number", text)
    return False


def _finish(said: Citation, spaced: bool) -> None:
    """Puts what comes in parts, in lists or in place of something else where it belongs."""
    if "_names" in said:
        said.update(named(said.pop("_names")))
    if "last_names" in said:
        said["last_names"] = tuple(said["last_names"])
        if "given_names" in said:
            said["given_names"] = tuple(said["given_names"])
    if "editors" in said:
        said["editors"] = tuple(said["editors"])
    if "collectives" in said:
        said["collab"], said["collectives"] = said["collectives"][0], tuple(said["collectives"])
    if "_titles" in said and (title := _title(said.pop("_titles"), spaced)):
        said["title"] = title
    if "kind" in said:
        said["kind"] = line(said["kind"])
        if not said["kind"]:
            del said["kind"]
    for stand_in, field in _STAND_INS.items():
        if stand_in in said:
            said.setdefault(field, said.pop(stand_in))
    if "_pages" in said:
        for field, page in zip(("first_page", "last_page"), _PAGE_BREAK.split(said.pop("_pages")), strict=False):
            if page.strip():
                said.setdefault(field, page.strip())


def _title(parts: list[tuple[int, str, str]], spaced: bool) -> str | None:
    """One title of the parts it may be split into: those with letters, and what stands between adjacent ones."""
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

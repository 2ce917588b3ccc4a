"""The links of an article to the entries of its bibliography."""

from __future__ import annotations

import re
from typing import Final

from lxml import etree

_SEPARATOR: Final = re.compile(r"[\s,;]+")
_BIBLIOGRAPHIC: Final = "bibr"
_CITATIONS: Final = tuple(f"{{*}}{name}" for name in ("mixed-citation", "element-citation", "citation", "nlm-citation"))
_REF: Final = "{*}ref"
_XREF: Final = "{*}xref"


class Targets:
    """The mentions of an article, and the elements that hold one."""

    def __init__(self, article: etree._Element) -> None:
        names = _names(article)
        self._entries: dict[etree._Element, tuple[str, ...]] = {}
        self._above: set[etree._Element] = set()
        for xref in article.iter(_XREF):
            if (entries := _entries(xref, names)) is not None:
                self._entries[xref] = entries
                for outer in xref.iterancestors():
                    if outer in self._above:
                        break
                    self._above.add(outer)

    def of(self, xref: etree._Element) -> tuple[str, ...] | None:
        """Return the names of the entries that a link refers to; None if it is not a link to the bibliography."""
        return self._entries.get(xref)

    def named_in(self, element: etree._Element) -> bool:
        """Return whether an element holds a link to the bibliography."""
        return element in self._above


def _names(article: etree._Element) -> dict[str, str]:
    """Return the name of the entry by XML id: of each entry of the document, and of each citation within an entry."""
    tree = article.getroottree()
    names = {name: name for ref in tree.iter(_REF) if (name := _id(ref))}
    for citation in tree.iter(*_CITATIONS):
        if name := _id(citation):
            ref = next(citation.iterancestors(_REF), None)
            names.setdefault(name, (_id(ref) if ref is not None else "") or name)
    return names


def _entries(xref: etree._Element, names: dict[str, str]) -> tuple[str, ...] | None:
    rid = _collapsed(xref.get("rid"))
    if rid in names:
        return (names[rid],)
    named = [each for each in _SEPARATOR.split(rid) if each]
    known = dict.fromkeys(names[each] for each in named if each in names)
    if known:
        return tuple(known)
    return tuple(dict.fromkeys(named)) if xref.get("ref-type") == _BIBLIOGRAPHIC else None


def _id(element: etree._Element) -> str:
    return _collapsed(element.get("id"))


def _collapsed(text: str | None) -> str:
    return " ".join((text or "").split())

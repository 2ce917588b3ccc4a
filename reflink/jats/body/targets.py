"""The links of an article to the entries of its bibliography."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from typing import Final

from lxml import etree

from reflink.jats.rawtext import text_of

_SEPARATOR: Final = re.compile(r"[\s,;]+")
_BIBLIOGRAPHIC: Final = "bibr"
_CITATIONS: Final = tuple(f"{{*}}{name}" for name in ("mixed-citation", "element-citation", "citation", "nlm-citation"))
_REF: Final = "{*}ref"
_XREF: Final = "{*}xref"
#: Punctuation around a label.
_AROUND: Final = "[](){}.,;: "
#: Maximum length of a label, in characters and in elements.
_MAX_LABEL: Final = 50


class Targets:
    """The mentions of an article, and the elements that hold one."""

    def __init__(self, article: etree._Element) -> None:
        names = _Names(article)
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


class _Names:
    """The names of the entries of a document: by XML id, of each entry and of each citation within it, and by label."""

    def __init__(self, article: etree._Element) -> None:
        self._tree = article.getroottree()
        self.by_id = {name: name for ref in self._tree.iter(_REF) if (name := _id(ref))}
        within: list[tuple[str, str]] = []
        for citation in self._tree.iter(*_CITATIONS):
            if (name := _id(citation)) and name not in self.by_id:
                ref = next(citation.iterancestors(_REF), None)
                within.append((name, (_id(ref) if ref is not None else "") or name))
        self.by_id |= _unique(within)

    @cached_property
    def by_lower(self) -> dict[str, str]:
        """The names of `by_id` in lower case, of those that differ in more than case."""
        return _unique((each.lower(), name) for each, name in self.by_id.items())

    @cached_property
    def by_label(self) -> dict[str, str]:
        """The names of the entries by their labels, of those with a label of their own."""
        labels: dict[str, str] = {}
        for ref in self._tree.iter(_REF):
            label = ref.find("{*}label")
            if label is None:
                label = ref.find("{*}*/{*}label")
            if label is not None and (text := _label(label)):
                labels[text] = "" if text in labels else _id(ref)
        return {text: name for text, name in labels.items() if name}


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the pairs as a mapping, without keys that have several values."""
    found: dict[str, str | None] = {}
    for key, value in pairs:
        found[key] = value if found.get(key, value) == value else None
    return {key: value for key, value in found.items() if value is not None}


def _entries(xref: etree._Element, names: _Names) -> tuple[str, ...] | None:
    rid = _collapsed(xref.get("rid"))
    if rid in names.by_id:
        return (names.by_id[rid],)
    named = [each for each in _SEPARATOR.split(rid) if each]
    known = dict.fromkeys(names.by_id[each] for each in named if each in names.by_id)
    if known:
        return tuple(known)
    if xref.get("ref-type") != _BIBLIOGRAPHIC:
        return None
    if not named:
        name = names.by_label.get(_label(xref))
        return (name,) if name else None
    return tuple(dict.fromkeys(names.by_lower.get(each.lower(), each) for each in named))


def _label(element: etree._Element) -> str:
    """Return the text of an element without punctuation around it; empty if it is too long for a label."""
    # Links within each other would have many elements, or a long text, read again for each of them.
    inside = list(islice(element.iter(), _MAX_LABEL))
    if len(inside) == _MAX_LABEL or sum(len(each.text or "") for each in inside) > 20 * _MAX_LABEL:
        return ""
    text = _collapsed(text_of(element))
    return text.strip(_AROUND) if len(text) <= _MAX_LABEL else ""


def _id(element: etree._Element) -> str:
    return _collapsed(element.get("id"))


def _collapsed(text: str | None) -> str:
    return " ".join((text or "").split())

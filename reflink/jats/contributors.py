"""Read the authors from the contributors of an article's front matter: last names, given names, groups."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Final

from lxml import etree

from reflink.jats.rawtext import text_of
from reflink.names import divided

_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_NAMES: Final = frozenset(("name", "string-name"))
_GROUPS: Final = frozenset(("collab", "collab-alternatives"))
_ALTERNATIVES: Final = frozenset(("name-alternatives", "collab-alternatives"))
#: ``contrib-type`` of an author, in lower case with hyphens for spaces; types that end in "author" count too, no others.
_AUTHORS: Final = frozenset(("", "author", "authors", "aut", "au", "group", "collab", "person"))
#: ``content-type`` of a group of contributors that are not authors, and of the members of a group that is an author.
_NO_AUTHORS: Final = re.compile(r"editor|review|referee|translat|advis|staff")
_MEMBERS: Final = re.compile(r"collab-list|non-byline|collaborator|investigator|member")
_OTHER_ROLE: Final = re.compile(r"\b(?:editor|reviewer|referee|translator)s?\b", re.IGNORECASE)
#: Elements within a group's element that are not part of its name.
_BESIDE: Final = (
    "contrib-group", "contrib", "xref", "fn", "aff", "address", "email", "role", "contrib-id", "ext-link", "uri", "bio",
    "author-comment", "etal",
)  # fmt: skip
_FOR_SORTING: Final = frozenset(("index", "search", "sort"))

#: Last name or group name, given names, whether it is a group.
_Author = tuple[str, str, bool]
Contributors = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def contributors(items: list[etree._Element], language: str | None) -> Contributors:
    """Return the authors among ``<contrib-group>`` and ``<contrib>`` elements in order: names, given names, and the groups.

    Editors, reviewers and the members of a group are not authors. ``language``, the article's, selects one of several
    spellings of a name.
    """
    authors: list[_Author] = []
    doubtful: list[_Author] = []  # without a contrib-type, but with another role than author
    for item in items:
        if item.tag == "contrib":
            _read(item, "", language, authors, doubtful)
            continue
        kind = (item.get("content-type") or "").lower()
        if _MEMBERS.search(kind):
            continue
        for contrib in item:
            if contrib.tag == "contrib":
                _read(contrib, kind, language, authors, doubtful)
    found = authors or doubtful
    return (
        tuple(name for name, _, _ in found),
        tuple(given for _, given, _ in found),
        tuple(name for name, _, group in found if group),
    )


def _read(contrib: etree._Element, group: str, language: str | None, authors: list[_Author], doubtful: list[_Author]) -> None:
    kind = (contrib.get("contrib-type") or "").strip().lower().replace(" ", "-").replace("_", "-")
    if kind not in _AUTHORS and not kind.endswith("author"):
        return
    if not kind and group and _NO_AUTHORS.search(group):
        return
    names: list[_Author] = []
    groups: list[_Author] = []
    translated = False  # whether a name with a language was read
    other = False
    for item in contrib:
        tag = item.tag
        if tag in _NAMES:
            if not (translated and item.get(_LANG)):
                names.append(_name(item))
            translated = translated or item.get(_LANG) is not None
        elif tag == "name-alternatives":
            names += _alternative(item, _NAMES, language)
        elif tag in _GROUPS:
            groups += _alternative(item, _GROUPS, language) if tag in _ALTERNATIVES else (_collective(item),)
        elif tag == "role" and not kind and not group:
            other = other or _OTHER_ROLE.search(text_of(item)) is not None
    (doubtful if other else authors).extend(author for author in names or groups if author[0])


def _alternative(item: etree._Element, tags: frozenset[str], language: str | None) -> list[_Author]:
    """Return the spelling in the article's language, else one without a language, else the English one, else the first."""
    choice: list[tuple[int, int, etree._Element]] = []
    for at, part in enumerate(item):
        if part.tag in tags:
            own = (part.get(_LANG) or "").lower()[:2]
            rank = 1 if not own else 0 if language and own == language[:2] else 2 if own == "en" else 3
            if part.get("specific-use") in _FOR_SORTING:
                rank += 4
            choice.append((rank, at, part))
    for _, _, part in sorted(choice, key=lambda entry: entry[:2]):
        author = _name(part) if part.tag in _NAMES else _collective(part)
        if author[0]:
            return [author]
    return []


def _name(item: etree._Element) -> _Author:
    surname = given = initials = ""
    for part in item:
        tag = part.tag
        if tag == "surname":
            surname = surname or text_of(part)
        elif tag == "given-names" and not given:
            given, initials = text_of(part), part.get("initials") or ""
    given = given or initials
    if surname:
        return surname, given, False
    return *divided(text_of(item) if item.tag == "string-name" else given), False


def _collective(item: etree._Element) -> _Author:
    if len(item):
        named = next(item.iter("collab-name"), None)
        if named is None:
            named = next((part for part in item.iterchildren("named-content") if part.get("content-type") == "name"), None)
        item = item if named is None else named
        if next(item.iter(*_BESIDE), None) is not None:
            item = deepcopy(item)
            etree.strip_elements(item, *_BESIDE, with_tail=False)
    return text_of(item).rstrip(" *†‡,;:"), "", True

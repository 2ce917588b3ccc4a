"""A plain reading of the entries of a bibliography from the element tree.

It is slow and readable. `test_scanner` and `test_scanner_laws` compare the compiled scanner with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from lxml import etree

from reflink.jats.scanner.vocabulary import SILENT_NAMES
from tests.reflink.jats.plain_citation import Citation, attribute, line, local, plain_text

CITATIONS: Final = ("mixed-citation", "element-citation", "citation", "nlm-citation")
SELF: Final = ("front", "front-stub")


@dataclass
class Entry:
    """A ``<ref>``, or a citation outside every ``<ref>``.

    ``kinds``: the element of each citation and the number of its ``<citation-alternatives>``. ``citations``: their fields.
    """

    xml_id: str
    label: str
    kinds: list[tuple[str, int]] = field(default_factory=list)
    citations: list[dict[str, Any]] = field(default_factory=list)


def entries(article: etree._Element) -> list[Entry]:
    """Return all entries with a citation that has text or identifiers, in document order."""
    return [entry for element in _entry_elements(article, own=False) if (entry := _entry(element)).citations]


def _entry_elements(element: etree._Element, *, own: bool) -> Iterator[etree._Element]:
    """Yield the outermost ``<ref>`` and citations, without citations of the article itself (``own``)."""
    name = local(element)
    if name == "ref" or (name in CITATIONS and not own):
        yield element
        return
    for child in element:
        yield from _entry_elements(child, own=own or name in SELF)


def _entry(element: etree._Element) -> Entry:
    citations = list(_within(element, CITATIONS)) if local(element) == "ref" else [element]
    labels = [] if local(element) != "ref" else [text for item in _labels(element) if (text := line(plain_text(item)))]
    entry = Entry(line(attribute(element, "id")), labels[0] if labels else "")
    alternatives: list[etree._Element] = []
    for citation in citations or [element]:
        around = _alternatives(citation, element)
        fields = Citation(citation).fields()
        if fields["raw_text"] or "ids" in fields:
            if around is not None and around not in alternatives:
                alternatives.append(around)
            entry.kinds.append((local(citation), alternatives.index(around) + 1 if around is not None else 0))
            entry.citations.append(fields)
    return entry


def _alternatives(citation: etree._Element, entry: etree._Element) -> etree._Element | None:
    """Return the nearest ``<citation-alternatives>`` around a citation, within its entry."""
    if citation is entry:
        return None
    inside = (item for item in citation.iterancestors("*") if entry in item.iterancestors())
    return next((item for item in inside if local(item) == "citation-alternatives"), None)


def _within(element: etree._Element, names: tuple[str, ...]) -> Iterator[etree._Element]:
    """Yield the outermost elements of these names in ``element``, without the contents of silent elements."""
    for child in element:
        if local(child) in names:
            yield child
        elif local(child) not in SILENT_NAMES:
            yield from _within(child, names)


def _labels(element: etree._Element) -> Iterator[etree._Element]:
    return (item for item in _within(element, ("label", *CITATIONS)) if local(item) == "label")

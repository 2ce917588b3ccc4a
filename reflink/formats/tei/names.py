"""Names of TEI elements, with and without the namespace, and the text of an element."""

from __future__ import annotations

from typing import Final

from lxml import etree

from reflink.bibliography.cleaning import line

NAMESPACE: Final = "http://www.tei-c.org/ns/1.0"
XML_ID: Final = "{http://www.w3.org/XML/1998/namespace}id"
XML_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_NAMES: Final = (
    """TEI TEI.2 abstract analytic author authority bibl biblFull biblScope biblStruct body back classCode date div editor email
    figDesc figure footnote forename formula front genName head idno imprint item keywords langUsage language list listBibl
    meeting monogr name nameLink note orgName p persName profileDesc ptr ref respStmt roleName s series sourceDesc surname table
    teiCorpus teiHeader text title titleStmt publicationStmt publisher relatedItem fileDesc address"""
).split()
#: The name without namespace of an element by its tag; elements that reflink does not read are absent.
NAMES: Final[dict[str, str]] = {tag: name for name in _NAMES for tag in (name, f"{{{NAMESPACE}}}{name}")}


def tags(*names: str) -> tuple[str, ...]:
    """Return the tags of elements, with and without the namespace, for `lxml.etree._Element.iter`."""
    return tuple(tag for name in names for tag in (name, f"{{{NAMESPACE}}}{name}"))


def name_of(element: etree._Element) -> str:
    """Return the name of a TEI element without its namespace; empty if reflink does not read such elements."""
    tag = element.tag
    return NAMES.get(tag, "") if isinstance(tag, str) else ""


def text_of(element: etree._Element) -> str:
    """Return all text of an element as one line."""
    if not len(element):
        return line(element.text or "")
    return " ".join("".join(map(str, element.itertext())).split())

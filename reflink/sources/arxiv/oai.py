"""Read a record of arXiv's OAI interface, in the formats arXiv, arXivRaw and oai_dc."""

from __future__ import annotations

from typing import Final

from lxml import etree

from reflink.errors import BadRecord
from reflink.identifiers import normalise_arxiv
from reflink.names import divided
from reflink.sources.arxiv.kaggle import version_of
from reflink.sources.arxiv.preprints import Preprint, authors_of, source_record
from reflink.sources.source import SourceRecord

_PARSER: Final = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
)
#: Prefixes that the root of an answer may declare for its records.
_DECLARED: Final = (
    b'<r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    b' xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/">'
)
_PREFIX: Final = "oai:arXiv.org:"


def oai_record(xml: bytes) -> SourceRecord:
    """Return the record of one ``record`` element of an answer; one that arXiv has deleted has no work.

    Its version is its datestamp. Raises BadRecord if it is not well-formed, or has no id of arXiv.
    """
    try:
        element = _first(etree.fromstring(_DECLARED + xml + b"</r>", _PARSER))
    except etree.XMLSyntaxError as error:
        raise BadRecord(f"not well-formed: {error.msg}"[:300]) from None
    header = _texts(element, "header")
    identifier = header.get("identifier", [""])[0].removeprefix(_PREFIX)
    version = version_of(header.get("datestamp", [""])[0])
    for child in element:
        if _local(child) == "header" and child.get("status") == "deleted":
            key = normalise_arxiv(identifier)
            if key is None:
                raise BadRecord(f"identifier: not an id of arXiv: {identifier[:60]!r}")
            return SourceRecord(key, version, None)
    for child in element:
        if _local(child) == "metadata":
            for data in child:
                return source_record(_preprint(data, identifier, version))
    raise BadRecord(f"{identifier[:60]}: a record without metadata")


def _first(parent: etree._Element) -> etree._Element:
    for child in parent:
        return child
    raise BadRecord("no element")


def _preprint(data: etree._Element, identifier: str, version: int) -> Preprint:
    fields: dict[str, list[str]] = {}
    people: list[tuple[str, str]] = []
    for item in data:
        name = _local(item)
        if name == "authors" and len(item):
            people += [(each.get("keyname", ""), each.get("forenames", "")) for each in map(_flat, item)]
        elif name == "version":
            fields.setdefault("created", []).append(_flat(item).get("date", ""))
        else:
            fields.setdefault(name, []).append("".join(map(str, item.itertext())))
    first = {name: values[0] for name, values in fields.items()}
    if _local(data) == "dc":
        return _of_dublin_core(fields, identifier, version)
    return Preprint(
        id=first.get("id", identifier),
        version=version + min(max(len(fields.get("created", ())), 0), 999),
        title=first.get("title", ""),
        authors=tuple(people) or authors_of(first.get("authors", "")),
        created=first.get("created", ""),
        journal=first.get("journal-ref", ""),
        doi=first.get("doi", ""),
    )


def _of_dublin_core(fields: dict[str, list[str]], identifier: str, version: int) -> Preprint:
    """Return the preprint of an oai_dc record, whose identifiers are addresses, ``doi:…`` and references to journals."""
    others = [text for text in fields.get("identifier", ()) if not text.startswith("http")]
    return Preprint(
        id=identifier,
        version=version,
        title=fields.get("title", [""])[0],
        authors=tuple(divided(name) for name in fields.get("creator", ())),
        created=fields.get("date", [""])[0],
        journal=next((text for text in others if not text.startswith("doi:")), ""),
        doi=next((text for text in others if text.startswith("doi:")), ""),
    )


def _texts(element: etree._Element, name: str) -> dict[str, list[str]]:
    """Return the texts of the children of the first child with this name, by their names."""
    found: dict[str, list[str]] = {}
    for child in element:
        if _local(child) == name:
            for item in child:
                found.setdefault(_local(item), []).append(item.text or "")
            break
    return found


def _flat(element: etree._Element) -> dict[str, str]:
    return {_local(item): item.text or "" for item in element}


def _local(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]

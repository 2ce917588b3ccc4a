"""Parse the element of one record: fast, without the parts that are not read, else completely.

A record has about 6 KB, of which the fields of a work are a third. The largest other parts (abstract, subject headings,
affiliations, references) are cut out of the bytes before parsing. This gives the same record as parsing everything, because a
name between "<" and ">" is always a tag where there are no comments, CDATA sections and processing instructions, and because
no field is read from inside these parts.
"""

from __future__ import annotations

import re
from typing import Final

from lxml import etree

from reflink.errors import BadRecord
from reflink.sources.slicing import Slice, Slicer

#: Divides files of PubMed into articles, book documents and lists of deletions.
PUBMED: Final = Slicer(
    ("PubmedArticle", "PubmedBookArticle", "DeleteCitation", "DeleteDocument"),
    ("PubmedArticleSet", "PubmedBookArticleSet"),
    "PubMed",
)
#: Elements that are never read.
UNREAD: Final = (
    "Abstract", "AffiliationInfo", "ChemicalList", "DataBankList", "GrantList", "SupplMeshList", "GeneSymbolList",
    "MeshHeadingList", "PersonalNameSubjectList", "OtherAbstract", "KeywordList", "InvestigatorList", "History",
    "ReferenceList", "DateCompleted", "CoiStatement",
)  # fmt: skip
#: A start tag of such an element. A tag of another form, such as one that is also its end, is left to the parser.
_UNREAD: Final = re.compile(b"<(" + "|".join(UNREAD).encode() + rb""")(?:\s+[\w:.-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*>""")
_NESTED: Final = {name.encode(): re.compile(f"<{name}[\\s/>]".encode()) for name in UNREAD}
_ENDS: Final = {name.encode(): f"</{name}>".encode() for name in UNREAD}
#: The prefix of MathML in titles, which older files declare only in the DTD.
_DECLARED: Final = b'<record xmlns:mml="http://www.w3.org/1998/Math/MathML">'


_PARSER: Final = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
)


def parse(part: Slice) -> etree._Element:
    """Return the tree of a record, perhaps without the elements of `UNREAD`. Raises BadRecord if it is not well-formed XML."""
    if part.plain:
        try:
            return etree.fromstring(_cut(part.xml), _PARSER)
        except etree.XMLSyntaxError:
            pass
    return complete(part.xml)


def complete(xml: bytes) -> etree._Element:
    """Return the whole tree of a record. Entities are not resolved. Raises BadRecord if it is not well-formed XML."""
    try:
        return etree.fromstring(xml, _PARSER)
    except etree.XMLSyntaxError as error:
        try:
            return etree.fromstring(_DECLARED + xml + b"</record>", _PARSER)[0]
        except etree.XMLSyntaxError:
            raise BadRecord(f"not well-formed: {error.msg}"[:300]) from None


def _cut(xml: bytes) -> bytes:
    """Return the element without those of `UNREAD`; unchanged if one of them contains another of the same name."""
    kept: list[bytes] = []
    at = 0
    while found := _UNREAD.search(xml, at):
        name = found[1]
        end = xml.find(_ENDS[name], found.end())
        if end < 0 or _NESTED[name].search(xml, found.end(), end):
            return xml
        kept.append(xml[at : found.start()])
        at = end + len(_ENDS[name])
    kept.append(xml[at:])
    return b"".join(kept)

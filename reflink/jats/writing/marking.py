"""The elements that state a link in a reference, as the DTD of the citation's element allows.

JATS, and NLM 3.0 before it, have the attribute ``specific-use`` of ``pub-id`` and ``ext-link``: "reflink:" and the probability
of the link, or "reflink" if it has none. In NLM 1.0 to 2.3 (``citation``) the address has it as its ``xlink:title``. The model
of ``nlm-citation`` has no addresses, and has identifiers last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr, unescape

from reflink.entities import Ids
from reflink.identifiers import extract
from reflink.jats.writing.original import Element

XLINK: Final = "http://www.w3.org/1999/xlink"
_MARK: Final = "reflink"
_ADDRESSES: Final = {
    "doi": "https://doi.org/{}", "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
    "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/{}/", "arxiv": "https://arxiv.org/abs/{}",
}  # fmt: skip
#: Characters that an address shows as they are.
_SAFE: Final = "/:;()[]!$&'*+,=@._~-"
_HREF: Final = re.compile(rb"href\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_TEXT: Final = re.compile(rb">([^<]*)<")
#: Elements whose content is elements alone; in others, a space separates what is added.
_STRUCTURED: Final = (b"element-citation", b"nlm-citation")
_MARKED: Final = (b"mixed-citation", b"element-citation", b"ref")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a link states of a reference: the identifiers that the reference lacks, the work, and the probability."""

    lacking: dict[str, str]
    ids: Ids
    work: str
    probability: float | None


def marking(statement: Statement, element: Element, content: bytes, xlink: str | None) -> str:
    """Return the elements that ``element`` with this content lacks, in order; "" if it lacks none.

    ``xlink``: the prefix of that namespace, if it is the same in the whole document.
    """
    prefix = element.prefix.decode("ascii", "replace")
    probability = statement.probability
    mark = _MARK if probability is None else f"{_MARK}:{probability:.3f}"
    use = f' specific-use="{mark}"' if element.tag in _MARKED else ""
    added: list[str] = []
    if element.tag != b"ref":
        for kind, value in statement.lacking.items():
            declared, text = (kind, value) if kind != "arxiv" or use else ("other", f"arXiv:{value}")
            added.append(f'<{prefix}pub-id pub-id-type="{declared}"{use}>{escape(text)}</{prefix}pub-id>')
    address = _address(statement.ids)
    if address is None and element.tag != b"ref":
        if not statement.ids.keys() and statement.work not in _texts(content):
            added.append(f'<{prefix}pub-id pub-id-type="other"{use}>{escape(statement.work)}</{prefix}pub-id>')
    elif address is not None and element.tag != b"nlm-citation" and not _addresses(content, *address):
        name = xlink or "xlink"
        declaration = "" if xlink else f' xmlns:xlink="{XLINK}"'
        title = "" if use else f' {name}:title="{mark}"'
        link = f'ext-link-type="uri"{use}{declaration} {name}:href={quoteattr(address[0])}{title}'
        added.append(f"<{prefix}ext-link {link}>{escape(address[0])}</{prefix}ext-link>")
    if element.tag in _STRUCTURED:
        return "".join(added)
    return "".join(f" {each}" for each in added)


def added_by(statement: Statement, element: Element) -> dict[str, str]:
    """Return the identifiers that `marking` adds. A ``ref`` without citation element may hold an address only."""
    if element.tag != b"ref":
        return statement.lacking
    address = _address(statement.ids)
    return {} if address is None else {kind: value for kind, value in statement.lacking.items() if value == address[1]}


def _address(ids: Ids) -> tuple[str, str] | None:
    """Return the address of a work and its identifier in it; None if it has no identifier that can be read from an address."""
    for kind, value in ids:
        if value is None:
            continue
        address = _ADDRESSES[kind].format(quote(value, safe=_SAFE))
        if getattr(extract(address), kind) == value:
            return address, value
    return None


def _addresses(content: bytes, address: str, value: str) -> bool:
    """Return whether a link to the work is there already."""
    for found in _HREF.finditer(content):
        href = unescape((found[1] or found[2] or b"").decode("utf-8", "replace"), {"&quot;": '"', "&apos;": "'"})
        if href == address or value in extract(href).to_dict().values() or href.lower() == value:
            return True
    return False


def _texts(content: bytes) -> set[str]:
    return {unescape(found.decode("utf-8", "replace")).strip() for found in _TEXT.findall(content)}

"""Read identifiers from the text, address and type of ``pub-id``, ``object-id``, ``ext-link``, ``uri`` and ``self-uri``."""

from __future__ import annotations

import re
from typing import Final

from reflink.identifiers import NORMALISERS
from reflink.jats.scanner.vocabulary import EXT_LINK, ID_CODES, MEDLINE, URI
from reflink.stripping import separate

#: Kinds of identifiers by ``pub-id-type`` or ``ext-link-type``.
ID_TYPES: Final[dict[str, str]] = {declared: "pmcid" if declared == "pmc" else declared for declared in ID_CODES}
_KINDS: Final = {code: ID_TYPES[declared] for declared, code in ID_CODES.items()}
#: Texts of links that publishers add to a reference; they are not part of the citation.
_BUTTONS: Final = frozenset(
    ("pubmed", "pubmed abstract", "crossref", "cross ref", "google scholar", "reference source", "publisher full text",
     "full text", "free full text", "pmc free article", "pubmed central full text", "view article", "webcite",
     "web of science", "scopus", "doi", "pmc", "link")
)  # fmt: skip
_NO_ADDRESS: Final = re.compile(r"[\s<>\"]|^https?(?!://[^\s])")
#: Maximum number of characters of a text or address that are read.
_LONGEST: Final = 10_000


def identify(code: int, text: str, declared: int, href: str, ids: dict[str, str]) -> bool:
    """Add the element's identifiers to ``ids``; return whether its text is only an identifier, an address or a link's label.

    ``code``: code of the element; ``declared``: code of its type (both of `reflink.jats.scanner.vocabulary`). ``href``: its
    address.
    """
    link = code in (EXT_LINK, URI)
    if kind := _KINDS.get(declared):
        if text and (known := NORMALISERS[kind](text[:_LONGEST])):
            ids.setdefault(kind, known)
            return True
        if href and (known := NORMALISERS[kind](href[:_LONGEST])):
            ids.setdefault(kind, known)
            return not link or _is_button(text)
        return not link
    if declared == MEDLINE:
        return True
    if text and href.startswith(text) and text.startswith("http") and not _maybe_identifying(href):
        return True
    found, rest = separate(" ".join(text[:_LONGEST].split()))
    addressed, _ = separate(href[:_LONGEST]) if href else ({}, "")
    for kind, known in (*addressed.items(), *found.items()):
        ids.setdefault(kind, known)
    return not link or not rest or _is_button(text)


def _maybe_identifying(address: str) -> bool:
    """Whether an address may contain an identifier, or text that is not an address."""
    lower = address.lower()
    return "10." in lower or "pm" in lower or "pubmed" in lower or "arxiv" in lower or _NO_ADDRESS.search(address) is not None


def _is_button(text: str) -> bool:
    return text.lower().strip(" []().") in _BUTTONS

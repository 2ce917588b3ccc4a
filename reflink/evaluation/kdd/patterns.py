"""The patterns by which bibliographies are found in LaTeX sources, as the paper's Tables 5.2 and 5.3 count them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from reflink.errors import ReflinkError
from reflink.formats.latex import archive
from reflink.formats.latex.items import items
from reflink.formats.latex.project import project
from reflink.limits import Limits

_ENVIRONMENT: Final = r"\\begin\s{{0,10}}\{{{}\}}"
#: The patterns of Table 5.2 with their published numbers of files, in its order; a source counts for the first that it has.
SECTIONS: Final[tuple[tuple[str, int, re.Pattern[str]], ...]] = (
    ("\\begin{thebibliography}", 28294, re.compile(_ENVIRONMENT.format("thebibliography"))),
    ("\\begin{references}", 5368, re.compile(_ENVIRONMENT.format("references"))),
    ("\\begin{numberedbib}", 1, re.compile(_ENVIRONMENT.format("numberedbib"))),
    ("References} … \\bye", 290, re.compile(r"(?i:references)\s{0,9}\}[^\0]*?\\bye(?![A-Za-z])")),
    ("Bibliography{ … \\end}", 311, re.compile(r"(?i)bibliography\s{0,9}[{}]")),
    ("\\ref … \\end", 1209, re.compile(r"\\(?:ref|REF|Ref|refs|Refs|references|beginrefs)(?![A-Za-z])|(?i:references)")),
)
#: The patterns of Table 5.3 with their published numbers of files.
ENTRIES: Final[tuple[tuple[str, int], ...]] = (
    ("\\bibitem", 31696), ("[NUMBER]", 1310), ("\\item", 1016), ("\\ref", 865), ("\\noindent", 226), ("\\bibit", 16),
)  # fmt: skip
#: Name of the count of sources that show no pattern.
NONE: Final = "none"


class Patterns:
    """Counts of files by the pattern of their bibliography and of its entries."""

    def __init__(self) -> None:
        self.sections: Counter[str] = Counter()
        self.entries: Counter[str] = Counter()

    def add(self, data: bytes, name: str) -> None:
        """Count a source. An unreadable one counts as without pattern."""
        try:
            body = project(archive.members(data, name, Limits(), []), name, Limits(), []).body
        except ReflinkError:
            body = ""
        found = items(body)
        self.entries[found[0].pattern if found else NONE] += 1
        section = next((label for label, _, pattern in SECTIONS if pattern.search(body)), NONE) if found else NONE
        self.sections[section] += 1

    def to_dict(self) -> dict[str, Any]:
        """Return the files of each pattern here and in the paper; patterns that the paper lacks have no published number."""
        published = {"sections": {label: n for label, n, _ in SECTIONS}, "entries": dict(ENTRIES)}
        return {
            table: {
                name: {"files": counted[name], "published": known.get(name)} for name in dict.fromkeys((*known, *counted))
            }
            for table, counted, known in (
                ("sections", self.sections, published["sections"]), ("entries", self.entries, published["entries"]),
            )
        }  # fmt: skip

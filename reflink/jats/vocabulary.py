"""Names of elements of JATS and BITS that several modules need."""

from __future__ import annotations

from typing import Final

#: Elements that hold citations, in the order of the tree in any namespace.
CITATIONS: Final = ("mixed-citation", "element-citation", "citation", "nlm-citation")
#: The same, and the entries that may hold them, as lxml's patterns.
CITING: Final = tuple(f"{{*}}{name}" for name in ("ref", *CITATIONS))

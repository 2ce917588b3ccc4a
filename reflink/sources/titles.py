"""Remarks that publishers write into the title of a retracted work.

References cite the title without the remark, and the verdict takes a title that begins with "Retracted" for a notice about
another work. A notice itself ("Retraction: …") keeps its title.
"""

from __future__ import annotations

import re
from typing import Final

_HINT: Final = re.compile(r"(?i)retracted|withdrawn|removed")
_REMARK: Final = r"(?:retracted|withdrawn|removed)(?: (?:article|chapter|paper|manuscript|publication))?(?: in press)?"
_BEFORE: Final = re.compile(rf"(?i)\s*(?:\[{_REMARK}\]\s*[:.]?|\({_REMARK}\)\s*[:.]?|{_REMARK}\s*(?::|\s[-–—]\s))\s*(?=\S)")
_BEHIND: Final = re.compile(r"(?i)(?<=\S)\s*(?:\[retracted[^\[\]]*\]|\(retracted[^()]*\))\s*\.?\s*$")


def split_status(title: str) -> tuple[str, str | None]:
    """Return the title without a remark that the work was retracted or withdrawn, and the status ``retracted``, or None."""
    if not _HINT.search(title):
        return title, None
    bare = _BEHIND.sub("", _BEFORE.sub("", title, count=1) if _BEFORE.match(title) else title)
    return (bare, "retracted") if bare != title else (title, None)

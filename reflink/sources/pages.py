"""Divide a range of pages into first and last page."""

from __future__ import annotations

import re
from typing import Final

#: Between first and last page: a dash, or a hyphen behind a digit or Roman numeral, which is not that of "S-3".
_DASH: Final = re.compile(r"\s*(?:[–—−]|--+|(?<=[\divxlcIVXLC])\s?[-‐‑])\s*")
#: What follows the first of several ranges.
_NEXT: Final = re.compile(r"\s*[,;+&]|\s+(?:and|passim)\b")
_LABEL: Final = re.compile(r"(?i)^(?:pp?(?:\.|\s)|pages?\s)\s*")
#: Maximum number of characters of a page.
_MAX: Final = 40


def first_and_last(text: str) -> tuple[str | None, str | None]:
    """Return first and last page of "261-272", "1013-9" (1013, 1019) or "e22081" (e22081, None); None for what is missing."""
    range_ = _NEXT.split(_LABEL.sub("", text[: 4 * _MAX].strip()), maxsplit=1)[0]
    first, *rest = _DASH.split(range_, maxsplit=1)
    last = rest[0] if rest else ""
    if first.isdigit() and last.isdigit() and len(last) < len(first):
        last = first[: -len(last)] + last
    return first.strip()[:_MAX].rstrip() or None, last.strip()[:_MAX].rstrip() or None

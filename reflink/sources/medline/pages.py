"""First and last page from one text: "123-33", "S12-S19", "e1021", "Suppl 1:12-9"."""

from __future__ import annotations

import re
from typing import Final

#: Separators of ranges, and of the first and last page.
_NEXT: Final = re.compile(r"\s*[,;]\s*")
_RANGE: Final = re.compile(r"\s*(?:[–—‐‑]|-+)\s*")
#: A supplement before the page; the page numbers are those of the supplement.
_SUPPLEMENT: Final = re.compile(r"(?i)suppl(?:ement)?\.?\s*(?:[\divx]+\s*:\s*)?(?=\S)")
_NUMBERED: Final = re.compile(r"(\D*)(\d+)(\D*)")
#: Maximum characters of a page; longer texts are not pages.
_MAX: Final = 40


def page_range(text: str) -> tuple[str | None, str | None]:
    """Return first and last page of the first range of ``text``; the last one in full ("123-33" gives 123 and 133), or None.

    A page that is equal to the first page is None. Words behind the pages ("123-33 contd") are not read.
    """
    text = _SUPPLEMENT.sub("", text.strip()[: 4 * _MAX], count=1)
    first, *rest = _RANGE.split(_NEXT.split(text, maxsplit=1)[0], maxsplit=1)
    first = first.strip()
    if not first or len(first) > _MAX:
        return None, None
    words = rest[0].split() if rest else []
    if not rest:
        first = first.split()[0] if first[0].isdigit() else first
    last = full_last_page(first, words[0]) if words and len(words[0]) <= _MAX else None
    return first, last if last != first else None


def full_last_page(first: str, last: str) -> str:
    """Return a last page with the digits and letters that it shares with the first: 123 and 33 give 133, S12 and 9 give S19.

    A page that is not shortened is returned unchanged.
    """
    a, b = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
    if not a or not b or len(b[2]) > len(a[2]) or b[1] not in ("", a[1]) or b[3] not in ("", a[3]):
        return last
    digits = a[2][: len(a[2]) - len(b[2])] + b[2]
    return f"{a[1]}{digits}{b[3] or a[3]}" if int(digits) > int(a[2]) else last

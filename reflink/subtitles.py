"""Join a title and its subtitles into one line, the form of citations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: Ends of a title behind which no colon is added, and beginnings of a subtitle before which none is added.
_ENDED: Final = (".", "?", "!", ":", ";", ",", "-", "–", "—", "…")
_OPENING: Final = (":", "-", "–", "—", "(", "[")


def joined(titles: Iterable[str]) -> str:
    """Return "Title: subtitle". Empty parts are left out."""
    whole = ""
    for title in filter(None, titles):
        if not whole:
            whole = title
        elif whole.endswith(_ENDED) or title.startswith(_OPENING):
            whole += (" " if title[0] != ":" else "") + title
        else:
            whole += ": " + title
    return whole

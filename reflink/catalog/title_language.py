"""Detect the language of a title with CLD2.

A detector that is wrong loses works, so a language is named only if CLD2 attributes nearly all of the title to it.
``python -m benchmarks.languages`` compares it with other detectors.
"""

from __future__ import annotations

from typing import Final

from reflink.errors import PackageMissing
from reflink.sources.languages import language_code

#: Maximum characters of a title that are read.
_LIMIT: Final = 400
#: Minimum share of the title's text in the language, in percent.
_SURE: Final = 97
_UNKNOWN: Final = "un"


def title_language(title: str) -> str | None:
    """Return the ISO 639-1 code (else ISO 639-3) of the title's language, None if it is not clear.

    Raises PackageMissing without pycld2.
    """
    try:
        import pycld2
    except ImportError:
        raise PackageMissing("the language of titles needs pycld2: install the extra languages") from None
    text = "".join(char if char.isprintable() else " " for char in title[:_LIMIT])
    try:
        _, _, ((_, code, share, _), *_) = pycld2.detect(text, bestEffort=True)
    except pycld2.error:
        return None
    return language_code(code) if share >= _SURE and code != _UNKNOWN else None

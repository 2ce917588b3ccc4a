"""Find the ends of well-formed text, references, comments and processing instructions between tags."""

from __future__ import annotations

from typing import Final

import numpy as np

from reflink.jats.scanner.bytecodes import AMPERSAND, CLOSE_SQUARE, GT, HYPHEN, LT, QUESTION, SPACE
from reflink.jats.scanner.characters import REPLACEMENT, Bytes, reference
from reflink.jats.scanner.compiling import kernel

# Whether a byte may occur in a name: 1 at any position, 2 at any position but the first, 0 not at all.
NAME: Final = np.zeros(256, np.uint8)
NAME[np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", np.uint8)] = 1
NAME[np.frombuffer(b"0123456789-.", np.uint8)] = 2
BLANK: Final = np.zeros(256, np.bool_)
BLANK[np.frombuffer(b" \t\n\r", np.uint8)] = True
# Bytes of text that need a check: controls, ampersand, ] (of ]]>), and EF (of U+FFFE and U+FFFF).
SPECIAL: Final = np.zeros(256, np.bool_)
SPECIAL[:32] = True
SPECIAL[np.frombuffer(b"\t\n\r", np.uint8)] = False
SPECIAL[[AMPERSAND, CLOSE_SQUARE, 0xEF]] = True


@kernel
def text_end(data: Bytes, at: int) -> int:
    """Return the end of the text at ``at``, which is the next "<"; -1 in case of doubt."""
    n = len(data)
    while at < n and data[at] != LT:
        c = data[at]
        if SPECIAL[c]:
            if c == AMPERSAND:
                at = reference_end(data, at)
                if at < 0:
                    return -1
                continue
            if c == CLOSE_SQUARE:
                if at + 2 < n and data[at + 1] == CLOSE_SQUARE and data[at + 2] == GT:
                    return -1
            elif c != 0xEF or (at + 2 < n and data[at + 1] == 0xBF and data[at + 2] >= 0xBE):
                return -1
        at += 1
    return at


@kernel
def reference_end(data: Bytes, at: int) -> int:
    """Return the end of the predefined entity, or reference to a character but controls and U+FFFD, at ``at``; else -1."""
    character, end = reference(data, at, len(data))
    return end if end > at + 1 and character >= SPACE and character != REPLACEMENT else -1


@kernel
def comment_end(data: Bytes, at: int) -> int:
    """Return the end of the comment whose "!" is at ``at``; -1 if it is not a well-formed comment."""
    n = len(data)
    if at + 2 >= n or data[at + 1] != HYPHEN or data[at + 2] != HYPHEN:
        return -1
    at += 3
    while at + 2 < n:
        c = data[at]
        if c == HYPHEN and data[at + 1] == HYPHEN:
            return at + 3 if data[at + 2] == GT else -1
        if SPECIAL[c] and c not in (AMPERSAND, CLOSE_SQUARE):
            return -1
        at += 1
    return -1


@kernel
def instruction_end(data: Bytes, at: int) -> int:
    """Return the end of the processing instruction whose "?" is at ``at``; -1 in case of doubt."""
    n = len(data)
    at += 1
    begin = at
    while at < n and (NAME[data[at]] == 1 or (at > begin and NAME[data[at]] == 2)):
        at += 1
    if at == begin or (at - begin == 3 and data[begin] | 32 == 120):  # <?xml
        return -1
    if at >= n or not (BLANK[data[at]] or data[at] == QUESTION):
        return -1
    while at + 1 < n:
        c = data[at]
        if c == QUESTION and data[at + 1] == GT:
            return at + 2
        if SPECIAL[c] and c not in (AMPERSAND, CLOSE_SQUARE):
            return -1
        at += 1
    return -1

"""Find the elements of a JSON list in bytes without parsing them."""

from __future__ import annotations

from typing import Any

from reflink.compiled import compiled


@compiled(nogil=True)
def element_end(data: Any, start: int, depth: int, quoted: bool) -> tuple[int, int, bool]:
    """Return the position of the comma or closing bracket behind the element that begins at ``start``.

    ``data`` is an array of bytes; ``depth`` and ``quoted`` are the number of open brackets and whether a string is open at
    ``start``. If the element does not end, the position is that at which to continue, ``len(data)`` or one more, and depth
    and quoted are those at the end. Brackets are not compared with each other: a parser finds those that do not match.
    """
    at, size = start, len(data)
    while at < size:
        byte = data[at]
        if quoted:
            if byte == 92:  # a backslash, which escapes the next byte
                at += 1
            elif byte == 34:
                quoted = False
        elif byte == 34:
            quoted = True
        elif byte == 123 or byte == 91:
            depth += 1
        elif byte == 125 or byte == 93:
            if depth == 0:
                return at, 0, False
            depth -= 1
        elif byte == 44 and depth == 0:
            return at, 0, False
        at += 1
    return at, depth, quoted

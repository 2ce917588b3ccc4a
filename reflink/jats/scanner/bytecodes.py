"""ASCII bytes by name, and tests of a byte or character for the scanner's kernels."""

from __future__ import annotations

from reflink.jats.scanner.compiling import inlined

SPACE, BANG, QUOTE, HASH, AMPERSAND, APOSTROPHE = b" !\"#&'"
OPEN_ROUND, CLOSE_ROUND, COMMA, HYPHEN, FULL_STOP, SLASH = b"(),-./"
COLON, SEMICOLON, LT, EQUALS, GT, QUESTION = b":;<=>?"
OPEN_SQUARE, BACKSLASH, CLOSE_SQUARE, UNDERSCORE, OPEN_BRACE, CLOSE_BRACE = b"[\\]_{}"
ZERO, NINE, UPPER_A, UPPER_Z, LOWER_A, LOWER_Z = b"09AZaz"
#: The bit that turns an ASCII capital into a small letter.
LOWER = 32


@inlined
def is_digit(c: int) -> bool:
    """Return whether the character is an ASCII digit."""
    return ZERO <= c <= NINE


@inlined
def lower(c: int) -> int:
    """Return an ASCII capital as a small letter, and any other character unchanged."""
    return c + LOWER if UPPER_A <= c <= UPPER_Z else c


def word(text: bytes) -> int:
    """Return at most five bytes as one number, the last byte lowest; kernels compare it with the bytes that they have read."""
    return int.from_bytes(text, "big")

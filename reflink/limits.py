"""Limits of one paper, which bound the work that untrusted input causes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one paper; `reflink.errors.TooLarge` is raised beyond them.

    ``size``: bytes, of an archive also the bytes that it unpacks to. ``depth``: nested elements, at most 256. ``references``:
    cited works.
    """

    size: int = 64 * 2**20
    depth: int = 256
    references: int = 20_000

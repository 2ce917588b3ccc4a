"""The error of a program that is not available."""

from __future__ import annotations


class ProgramMissing(Exception):
    """A program is missing and cannot be built or downloaded; the message has the attempt and the package to install."""

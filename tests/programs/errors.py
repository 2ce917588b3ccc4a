"""What ends the getting of a program."""

from __future__ import annotations


class ProgramMissing(Exception):
    """A program is not there and cannot be had; the message says what was tried and what to install."""

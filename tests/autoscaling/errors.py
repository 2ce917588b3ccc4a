"""What ends a run before it has a verdict."""

from __future__ import annotations


class RunFailed(Exception):
    """Something that the run stands on failed; the message says what, and where its log is."""

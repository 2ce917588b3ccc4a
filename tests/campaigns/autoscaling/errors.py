"""The error that ends a run before it has a verdict."""

from __future__ import annotations


class RunFailed(Exception):
    """A component that the run depends on failed. The message names it, and its log if there is one."""

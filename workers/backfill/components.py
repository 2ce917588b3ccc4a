"""Canonical ids: connected components of works that share identifiers, by iterated minimum.

Each round gives every work the smallest label among the works with which it shares a key, then follows that label once more.
Labels only become smaller, so the loop ends; a component of n works takes about log2(n) rounds.
"""

from __future__ import annotations

from typing import Protocol

from workers.backfill import statements


class Tables(Protocol):
    """Executes statements over tables by name."""

    def table(self, name: str, statement: str) -> None:
        """Compute the table that a statement selects, and make it the table ``name``."""

    def number(self, statement: str) -> int:
        """Return the only value that a statement selects."""


def label(tables: Tables) -> int:
    """From the table ``bearers`` make the table ``labels`` (id, label), and return the number of rounds.

    ``labels`` has the works that share a key with another work, each with the smallest id of its component.
    """
    tables.table("shared", statements.SHARED)
    tables.table("labels", statements.FIRST_LABELS)
    rounds, changed = 0, tables.number("SELECT COUNT(*) FROM labels")
    while changed:
        rounds += 1
        tables.table("nearer", statements.NEIGHBOURS)
        tables.table("renewed", statements.SHORTCUT)
        changed = tables.number(statements.CHANGED)
        tables.table("labels", "SELECT id, label FROM renewed")
    return rounds

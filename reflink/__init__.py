"""reflink links every entry of a bibliography to the work it cites.

This package is the library, without Kafka and network. ``workers`` runs it on streams; ``schemas`` defines the events that the
workers exchange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reflink.entities import Candidate, Ids, Link, Paper, Reference, Work

if TYPE_CHECKING:
    from reflink.catalog import Catalog
    from reflink.linking.linker import Linker
    from reflink.linking.policy import Policy

__all__ = ["Candidate", "Catalog", "Ids", "Link", "Linker", "Paper", "Policy", "Reference", "Work"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: parsing a paper needs neither indexes nor a model.
    if name == "Catalog":
        from reflink.catalog import Catalog

        return Catalog
    if name in ("Linker", "Policy"):
        from reflink.linking import linker

        return getattr(linker, name)
    raise AttributeError(f"module 'reflink' has no attribute {name!r}")

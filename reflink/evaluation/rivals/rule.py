"""The interface of a publication's rule, and the title that a rule compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reflink.entities import Link, Method, Reference, Unresolved
from reflink.recognition import recognise
from reflink.text import LIMITS, normalise


class Rule(Protocol):
    """A publication's rule over the works of one catalog. It uses no model and no vectors."""

    def link(self, references: Sequence[Reference]) -> list[Link]:
        """Return a link for each reference, in order."""
        ...


def title_of(reference: Reference) -> str:
    """Return the title of the cited work: as tagged, else as the recogniser finds it in the citation, else ""."""
    tagged = reference.title or reference.chapter_title
    if tagged:
        return tagged
    inferred = reference.inferred or recognise(reference.raw_query)
    return (inferred.title if inferred else None) or ""


def normalised(title: str | None) -> str:
    """Return a title as its representative text of mode T for trigrams: cut to 200 characters, then letters and digits only."""
    return normalise(title or "", lexical=True, limit=LIMITS["T"])


def linked(reference: Reference, cited: str, score: float, method: Method = "lexical") -> Link:
    """Return the link of a reference to a work."""
    return Link(reference=reference.id, citing=reference.citing, cited=cited, method=method, score=score)


def not_linked(reference: Reference, title: str, reason: Unresolved) -> Link:
    """Return the outcome without a link: ``empty`` if the reference has no title, else ``reason``."""
    unresolved: Unresolved = reason if title else "empty"
    return Link(reference=reference.id, citing=reference.citing, cited=None, unresolved=unresolved)

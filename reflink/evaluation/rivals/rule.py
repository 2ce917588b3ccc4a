"""The interface of a publication's rule, and the title that a rule compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from reflink.entities import Link, Method, Reference, Unresolved
from reflink.recognition.reading import read
from reflink.recognition.tagger import shipped
from reflink.text import LIMITS, normalise


class Rule(Protocol):
    """A publication's rule over the works of one catalog. It uses no model and no vectors."""

    def link(self, references: Sequence[Reference]) -> list[Link]:
        """Return a link for each reference, in order."""
        ...


def title_of(reference: Reference) -> str:
    """Return the title of the cited work: as tagged, else the recogniser's most probable one in the citation, else "".

    A title of low probability counts too: compared with the titles of works, a wrong one rarely does harm. This was chosen on
    the papers with an odd sha1, by recall.
    """
    return reference.title or reference.chapter_title or _read(reference).get("title") or ""


def names_of(reference: Reference) -> tuple[str, ...]:
    """Return the last names of the cited work's authors, found like the title."""
    return reference.last_names or tuple(_read(reference).get("last_names") or ())


def year_of(reference: Reference) -> int | None:
    """Return the year of the cited work, found like the title; None if there is none."""
    year: int | None = reference.year if reference.year is not None else _read(reference).get("year")
    return year


def _read(reference: Reference) -> dict[str, Any]:
    return read(reference.raw_query, shipped()).fields


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

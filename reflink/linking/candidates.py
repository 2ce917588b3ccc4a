"""The contract between the linker's steps and what proposes candidates.

A source proposes works for a reference in three ways: by identifier and locator (its ``catalog``), by a first search of the
text, and by a wider second search for references that the first search leaves open. The verdict reads the records of all
candidates from ``catalog``, so the same pair gets the same probability from every source.

``reflink.linking.native`` searches the catalog's own indexes, ``workers.engine`` a search engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from reflink.entities import Method, Reference
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.text import reference_text, work_text

if TYPE_CHECKING:
    from reflink.catalog import Catalog

#: Hits of a search: (id, score) of each query, best first.
Near = list[list[tuple[str, float]]]


class Candidates(Protocol):
    """A source of candidates at one version of the catalog.

    ``catalog``: identifiers, locators and records.
    """

    catalog: Catalog

    @property
    def offset(self) -> int:
        """The version of the catalog that a result takes into account: the older of the records' and the searched texts'."""

    @property
    def method(self) -> Method:
        """The method of the candidates that ``near`` proposes."""

    @property
    def wider_method(self) -> Method:
        """The method of the candidates that ``wider`` proposes."""

    @property
    def complete(self) -> bool:
        """Whether ``near`` searches all works of the catalog. Otherwise only ``wider`` can tell that a work is absent."""

    def near(
        self,
        references: Sequence[Reference],
        policy: Policy,
        watch: Stopwatch,
        forbidden: Sequence[tuple[str, ...]] | None = None,
    ) -> Near:
        """Return at most ``policy.candidates`` hits of each reference, none for a reference without text.

        ``forbidden``: for each reference, ids of works that are not candidates, with all works that are one work with them.
        ``watch`` records the time of ``text``, ``model`` and ``search``.
        """

    def wider(self, opens: Sequence[Open], texts: Sequence[str], policy: Policy, watch: Stopwatch | None = None) -> Near:
        """Return at most ``policy.candidates`` hits of each open reference.

        ``texts``: the query text of each reference (``lexical_query``), for a search by trigrams or words; none for an empty
        text. A hit by trigrams has at least the score ``policy.lexical_floor``. ``watch`` as in ``near``.
        """

    def searches_again(self, reference: Reference) -> bool:
        """Return whether ``wider`` may propose works for this reference. If not, the first search decides it."""


def lexical_query(reference: Reference, policy: Policy) -> str:
    """Return the query text for a search by trigrams; empty if the reference has no text."""
    text = reference_text(reference, policy.lexical_mode, lexical=True)
    if text or policy.profile == "paper":
        return text
    return work_text(reference, policy.lexical_mode, lexical=True)  # a reference with fields only gets the text of a work


def without(near: Iterable[tuple[str, float]], forbidden: frozenset[str], k: int) -> list[tuple[str, float]]:
    """Return the first ``k`` hits that are not forbidden."""
    return [hit for hit in near if hit[0] not in forbidden][:k]


def members_of(works: Iterable[str], catalog: Catalog) -> frozenset[str]:
    """Return the ids of these works and of all works with the same canonical id."""
    return frozenset(member for each in works for member in catalog.works.members(each))

"""The verdict on batches: the only module that calls the steps and the sources of candidates of `reflink.linking.linker`.

1. ``by_keys`` decides with the candidates that the joins found, like the linker of the pipeline without vectors.
2. ``by_text`` decides what ``by_keys`` leaves open, with the candidates that a search of texts finds: trigrams of a snapshot
   like the fallback, or an index in a search engine like linker and fallback with that engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

from reflink.catalog.catalog import Catalog
from reflink.entities import Link
from reflink.errors import SnapshotError
from reflink.graph.rows import Row, read
from reflink.journals.table import Journal, Journals
from reflink.linking.linker import Linker, lexical_step, semantic_step
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Open, Policy
from workers.backfill.joined_catalog import Joined, JoinedCatalog
from workers.config.engine import EngineSearchSettings
from workers.engine.source import EngineSource
from workers.errors import WorkerError

T = TypeVar("T")
L = TypeVar("L", bound=Link | Open)

#: Columns of an outcome: those of an export of links that do not come from an event.
COLUMNS: Final = Row._fields[: Row._fields.index("paper_version")]


@dataclass(frozen=True)
class Rules:
    """What decides in every executor: the policy, and the sources of texts and journals.

    ``catalog``: a snapshot that every executor can open at this path. ``engine``: search an index instead of the snapshot's
    trigrams. ``journals``: instead of a snapshot, a table of journals as JSON lines; references that keys leave open are then
    decided without a search.
    """

    policy: Policy
    catalog: str | None = None
    engine: EngineSearchSettings | None = None
    journals: bytes = b""


def by_keys(batch: Sequence[Joined], rules: Rules) -> list[Link | Open]:
    """Decide the references that identifiers and locators suffice for, in order; Open for a search of texts.

    Without a snapshot there is no search, and every reference is decided. Raises SnapshotError.
    """
    # The steps use no other method of a catalog that has neither vectors nor trigrams.
    source = NativeCandidates(cast("Catalog", JoinedCatalog(batch, journals_of(rules))))
    first = semantic_step([row.reference for row in batch], source, rules.policy)
    if rules.catalog is not None:
        return first
    rest = iter(lexical_step([each for each in first if isinstance(each, Open)], source, rules.policy))
    return [next(rest) if isinstance(each, Open) else each for each in first]


def by_text(rules: Rules) -> Callable[[Sequence[Open]], list[Link]]:
    """Return a function that decides open references in order. It keeps connections to the engine; use it in one thread.

    The function raises EngineUnavailable and EngineError. Raises SnapshotError, and BadSettings for invalid nodes.
    """
    assert rules.catalog is not None
    catalog = opened(rules.catalog, rules.engine is None)
    if rules.engine is None:
        native = NativeCandidates(catalog)
        return lambda opens: lexical_step(opens, native, rules.policy)
    source = EngineSource(rules.engine, catalog)
    # The linker's search of the engine comes first. What keys decide is the same in the snapshot.
    return lambda opens: Linker.over(source.candidates(), rules.policy).link([each.reference for each in opens])


def isolated(rows: Sequence[T], decide: Callable[[Sequence[T]], Sequence[L]]) -> list[L | Exception]:
    """Decide rows at once. If that fails, halve them until the row at fault is alone; its exception stands in its place.

    Raises WorkerError, SnapshotError and MemoryError, for which no row is at fault.
    """
    try:
        return [*decide(rows)] if rows else []
    except (WorkerError, SnapshotError, MemoryError):
        raise
    except Exception as error:
        if len(rows) == 1:
            return [error]
        middle = len(rows) // 2
        return [*isolated(rows[:middle], decide), *isolated(rows[middle:], decide)]


def outcome(link: Link) -> tuple[Any, ...]:
    """Return the values of COLUMNS."""
    return read(link.to_json(), bare=True)[: len(COLUMNS)]


def journals_of(rules: Rules) -> Journals | None:
    """Return the table of journals, None without one. Raises SnapshotError."""
    if rules.catalog is not None:
        return opened(rules.catalog, rules.engine is None).journals
    return _journals(rules.journals)


@lru_cache(maxsize=1)
def opened(folder: str, trigrams: bool = True) -> Catalog:
    """Open the snapshot once per process, without vectors. Processes of a machine share its pages. Raises SnapshotError."""
    return Catalog.open(folder, vectors=False, trigrams=trigrams)


@lru_cache(maxsize=1)
def _journals(lines: bytes) -> Journals | None:
    return Journals.of(map(Journal.from_json, lines.splitlines())) if lines else None

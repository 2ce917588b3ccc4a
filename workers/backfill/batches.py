"""Batches of rows in executors: from the joined rows to outcomes, open references and faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from reflink.entities import Link, Reference
from reflink.linking.policy import Open
from workers.backfill import deciding
from workers.backfill.deciding import COLUMNS, Rules
from workers.backfill.joined_catalog import Found, Joined
from workers.backfill.tables import Columns, batch_of, rows_of

OUTCOMES: Final[Columns] = {
    name: "double" if name.endswith(("score", "probability")) else "array<string>" if name == "reasons" else "string"
    for name in COLUMNS
}
#: Columns of a decided batch: an outcome, or an open reference as JSON, or the fault of a reference.
MADE: Final[Columns] = {**OUTCOMES, "open": "binary", "error": "string"}


def by_keys(rules: Rules, batches: Iterator[Any]) -> Iterator[Any]:
    """Decide batches of (record, found), the references with the rows of `statements.FOUND`: batches of MADE.

    Raises SnapshotError if the snapshot of the rules cannot be opened here.
    """
    deciding.journals_of(rules)
    for batch in batches:
        rows = [Joined(Reference.from_json(record), [*map(_found, found or ())]) for record, found in rows_of(batch)]
        results = deciding.isolated(rows, lambda part: deciding.by_keys(part, rules))
        yield _made([row.reference for row in rows], results)


def by_text(rules: Rules, batches: Iterator[Any]) -> Iterator[Any]:
    """Decide batches of (open,): batches of MADE.

    Raises SnapshotError like ``by_keys``, and WorkerError if a search engine does not answer.
    """
    decide = None
    for batch in batches:
        decide = decide or deciding.by_text(rules)
        opens = [Open.from_json(each) for (each,) in rows_of(batch)]
        results = deciding.isolated(opens, decide)
        yield _made([each.reference for each in opens], results)


def _found(fields: dict[str, Any]) -> Found:
    return Found(**fields)


def _made(references: Sequence[Reference], results: Sequence[Link | Open | Exception]) -> Any:
    rows: list[Sequence[Any]] = []
    nothing = (None,) * len(OUTCOMES)
    for reference, result in zip(references, results, strict=True):
        if isinstance(result, Link):
            rows.append((*deciding.outcome(result), None, None))
        elif isinstance(result, Open):
            rows.append((*nothing, result.to_json(), None))
        else:
            rows.append((reference.id, *nothing[1:], None, f"{type(result).__name__}: {result}"))
    return batch_of(rows, MADE)

"""The joins of a backfill on SQLite, in place of Spark: from works and references to the rows that Spark gives to executors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from reflink.entities import Reference, Work
from workers.backfill import components, statements
from workers.backfill.joined_catalog import Found, Joined
from workers.backfill.records import reference_row, work_row


class Sqlite:
    """SQLite as a `components.Engine`, with the tables of the works and references."""

    def __init__(self, works: Iterable[Work], references: Iterable[Reference] = ()) -> None:
        self.db = sqlite3.connect(":memory:")
        known = [work_row(each) for each in works]
        asked = [reference_row(each) for each in references]
        self._fill("works", "id, record", [(row.id, row.record) for row in known])
        self._fill("bearers", "key, id", [(key, row.id) for row in known for key in row.bears])
        self._fill("places", "key, id", [(key, row.id) for row in known for key in row.places])
        cites = [(row.id, key, own) for row in asked for own, keys in enumerate((row.cites, row.citing)) for key in keys]
        self._fill("cites", "reference, key, own", cites)
        self._fill("cited_places", "reference, key", [(row.id, key) for row in asked for key in row.places])

    def table(self, name: str, statement: str) -> None:
        self.db.execute(f"DROP TABLE IF EXISTS {name}")
        self.db.execute(f"CREATE TABLE {name} AS {statement}")

    def number(self, statement: str) -> int:
        (value,) = self.db.execute(statement).fetchone()
        return int(value)

    def labels(self) -> dict[str, str]:
        return dict(self.db.execute("SELECT id, label FROM labels"))

    def _fill(self, name: str, columns: str, rows: Sequence[tuple[object, ...]]) -> None:
        self.db.execute(f"CREATE TABLE {name} ({columns})")
        self.db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns.split(',')))})", rows)


def joined(works: Iterable[Work], references: Sequence[Reference]) -> list[Joined]:
    """Return the references with what the joins find for them."""
    engine = Sqlite(works, references)
    components.label(engine)
    engine.table("identified", statements.IDENTIFIED)
    engine.table("placed", statements.PLACED)
    found: dict[str, list[Found]] = {}
    for reference, *row in engine.db.execute(statements.FOUND):
        found.setdefault(reference, []).append(Found(*row))
    return [Joined(reference, found.get(reference.id, [])) for reference in references]

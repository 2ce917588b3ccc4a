"""The format ``contexts`` of an export: the places where papers mention their references, joined with the links."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import orjson

from reflink.errors import BadRecord
from reflink.graph.formats import close_durably
from reflink.graph.rows import Row


class Mentions:
    """One line per reference that its paper mentions: citing and cited work, and the mentions as in the topic ``contexts``.

    ``contexts_of`` returns the event of a reference in that topic. An event of an older version of the paper than the link's
    is ignored.
    """

    FILE: ClassVar = "contexts.jsonl"

    def __init__(self, folder: Path, contexts_of: Callable[[bytes], bytes | None]) -> None:
        self.written = 0
        self._contexts_of = contexts_of
        self._file = (folder / self.FILE).open("wb", buffering=2**20)

    def write(self, value: bytes, row: Row) -> None:
        """Write the mentions of one reference. Raises BadRecord if its event cannot be read."""
        stored = self._contexts_of(row.reference.encode())
        if stored is None or not (contexts := _contexts(stored, row)):
            return
        line = {
            "reference": row.reference,
            "citing": row.citing,
            "cited": row.cited,
            **({"unresolved": row.unresolved} if row.cited is None else {"probability": row.probability}),
            "contexts": contexts,
        }
        self._file.write(orjson.dumps(line) + b"\n")
        self.written += 1

    def close(self) -> None:
        """Flush the file to disk and close it."""
        close_durably(self._file)


def _contexts(stored: bytes, row: Row) -> list[Any]:
    try:
        event = orjson.loads(stored)
        contexts, version = event["contexts"], event["paper_version"]
        if type(contexts) is not list or type(version) is not int:
            raise TypeError
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise BadRecord(f"contexts of {row.reference}: not an event of the topic contexts") from None
    return contexts if version >= (row.paper_version or 0) else []

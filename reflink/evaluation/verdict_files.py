"""Files of a person's verdicts: a JSON object on each line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson

from reflink.errors import BadRecord
from reflink.storage import durable


class _HasVerdict(Protocol):
    @property
    def verdict(self) -> str: ...


V = TypeVar("V", bound=_HasVerdict)


def parsed(data: bytes, name: str, make: Callable[..., V], verdicts: Collection[str]) -> list[V]:
    """Return the verdicts of a file's content, in order. ``make``: of the fields of a line; ``verdicts``: the known ones.

    Raises BadRecord with the file's ``name`` and the line.
    """
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            made = make(**orjson.loads(line))
        except (orjson.JSONDecodeError, TypeError) as error:
            raise BadRecord(f"{name}: line {number}: {error}") from None
        if made.verdict not in verdicts:
            raise BadRecord(f"{name}: line {number}: unknown verdict {made.verdict!r}: expected {', '.join(verdicts)}")
        found.append(made)
    return found


def write(path: Path, verdicts: Iterable[Mapping[str, Any]]) -> None:
    """Replace the file atomically."""
    with durable.replacing(path) as file:
        file.write(b"".join(orjson.dumps(each) + b"\n" for each in verdicts))

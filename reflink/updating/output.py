"""Write the works of a state, or its changes, to a file of JSON lines."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Final, cast

import orjson

from reflink.catalog.reading import DAMAGED, unpacked
from reflink.errors import BadDump
from reflink.storage import durable
from reflink.updating.changes import Change, count, export, lost, pending, published
from reflink.updating.state import State

#: Compression of the files: fast, since they are read once.
_LEVEL: Final = 1
#: Name of the fact with the topic into which a state is loaded.
TOPIC: Final = "topic"
#: Number of changes that are marked as published together.
_BATCH: Final = 10_000


def write_works(
    state: State, out: Path, *, max_removed: float = 1.0, progress: Callable[[int], object] = lambda _: None
) -> int:
    """Write all works to ``out``, compressed if its name ends in ``.gz``, and return their number.

    Raises BadDump, without replacing ``out``, if it has many more works: more than the share ``max_removed`` would be removed.
    """
    before = _count(out) if out.exists() and max_removed < 1 else 0
    partial = out.with_name(f"{out.name}.partial")
    try:
        with durable.replacing(out, partial) as file:
            works = _write(file, out, export(state), progress)
            check_removed(before - works, before, max_removed, str(out))
    except BadDump:
        partial.unlink()
        raise
    durable.sync(out.absolute().parent)
    return works


def write_changes(state: State, out: Path, *, max_removed: float = 1.0) -> tuple[int, int]:
    """Write the changes since the last publication to ``out``, and mark them as published once the file is durable.

    A line is the JSON of a work, or ``{"id": …, "removed": true}``. Returns the numbers of works that were put and removed.
    Raises BadDump, without writing, if more than the share ``max_removed`` would be removed, or if the changes of this state go
    to a topic.
    """
    if state.fact(TOPIC) is not None:
        raise BadDump(f"{state.folder}: its changes go to a topic: use another state for a file of changes")
    check_lost(state, max_removed, str(out))
    numbers = [0, 0]

    def lines() -> Iterable[bytes]:
        for change in pending(state):
            numbers[change.json is None] += 1
            yield change.json or orjson.dumps({"id": change.work_id, "removed": True})

    with durable.replacing(out) as file:
        _write(file, out, lines(), lambda _: None)
    durable.sync(out.absolute().parent)
    publish_all(state, pending(state), lambda _: None)
    return numbers[0], numbers[1]


def publish_all(state: State, changes: Iterable[Change], send: Callable[[list[Change]], object]) -> tuple[int, int]:
    """Pass changes in batches to ``send``, and mark each batch as published when it returns.

    Returns the numbers of works that were put and removed.
    """
    put, removed = 0, 0
    rest = iter(changes)
    while batch := list(islice(rest, _BATCH)):
        send(batch)
        published(state, batch)
        gone = sum(change.json is None for change in batch)
        put, removed = put + len(batch) - gone, removed + gone
    return put, removed


def check_lost(state: State, max_removed: float, what: str) -> None:
    """Raise BadDump if the changes would remove more than the share ``max_removed`` of the works from ``what``."""
    if max_removed < 1 and (removed := lost(state)):
        check_removed(removed, count(state) + removed, max_removed, what)


def check_removed(removed: int, before: int, max_removed: float, what: str) -> None:
    """Raise BadDump if more than the share ``max_removed`` of ``before`` works would be removed."""
    if removed > max_removed * before:
        raise BadDump(
            f"{what}: {removed} of {before} works would be removed ({removed / before:.0%}), more than {max_removed:.0%}: "
            "if the sources are complete, allow it with --allow-shrink"
        )


def _count(path: Path) -> int:
    """Return the number of lines, of a truncated file that of the lines before the fault."""
    lines = 0
    with path.open("rb") as stored, suppress(*DAMAGED):
        for _ in unpacked(stored):
            lines += 1
    return lines


def _write(file: IO[bytes], out: Path, lines: Iterable[bytes], progress: Callable[[int], object]) -> int:
    written = 0
    with ExitStack() as stack:
        target = file
        if out.suffix == ".gz":
            packed = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_LEVEL, filename="", mtime=0)
            target = cast("IO[bytes]", stack.enter_context(packed))
        rest = iter(lines)
        while block := list(islice(rest, 1000)):
            target.write(b"\n".join(block) + b"\n")
            written += len(block)
            progress(written)
    return written

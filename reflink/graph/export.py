"""An export in the making: a folder under another name until all of it is whole."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import orjson

from reflink.errors import BadRecord, ExportFailed
from reflink.graph.formats import WRITERS, Format
from reflink.graph.newest import Newest, Place
from reflink.graph.rows import NEWEST_EVENT, read

MANIFEST: Final = "manifest.json"
#: A line for each value that could not be read; there only if there was one.
UNREADABLE: Final = "unreadable.jsonl"
#: Of the manifest, the files' names and their columns.
FORMAT_VERSION: Final = 1

_TABLE: Final = "table"
_LOCK: Final = "lock"
_TELL_EVERY: Final = 5000

#: Hears how many references are written.
Progress = Callable[[int], object]


class GraphExport:
    """Writes the newest links into ``out``, a folder that is absent or empty until all files are whole.

    Fill ``table``, then ``finish``. A context manager: what was begun is removed at the end if it was not finished; what a
    killed process has left beside ``out`` is removed by the next one. Raises ExportFailed.
    """

    def __init__(self, out: Path, formats: Sequence[str], *, places: tuple[str, str], bare: bool = False) -> None:
        """``places``: what the two numbers of a place are called. ``bare``: links without their event are read too."""
        self._out = out.resolve()
        self._places, self._bare = places, bare
        self._refused = 0
        self._began = time.monotonic()
        if self._out.exists() and not (self._out.is_dir() and not any(self._out.iterdir())):
            raise ExportFailed(f"{out} exists: name a folder that is not there, an export never replaces another one")
        self._open = ExitStack()
        self._out.parent.mkdir(parents=True, exist_ok=True)
        self._sweep()
        self._folder = self._out.with_name(f".{self._out.name}.{secrets.token_hex(4)}.partial")
        self._folder.mkdir()
        self._open.callback(shutil.rmtree, self._folder, ignore_errors=True)
        try:
            lock = self._open.enter_context((self._folder / _LOCK).open("wb"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._files: list[Format] = [WRITERS[name](self._folder) for name in dict.fromkeys(formats)]
            self.table = self._open.enter_context(Newest(self._folder / _TABLE))
        except BaseException:
            self._open.close()
            raise

    def refuse(self, place: Place, key: bytes | None, why: BadRecord) -> None:
        """Notes a value that cannot be read, which then is in none of the files."""
        self._refused += 1
        said = {} if key is None else {"key": key.decode(errors="backslashreplace")}
        with (self._folder / UNREADABLE).open("ab") as file:
            file.write(orjson.dumps({**dict(zip(self._places, place, strict=True)), **said, "why": str(why)}) + b"\n")

    def finish(self, source: Mapping[str, Any], progress: Progress = lambda _: None) -> dict[str, Any]:
        """Writes all files and gives the folder its name. Returns the manifest; ``source`` goes into it as it is."""
        try:
            counts = self._write(progress)
            for file in self._files:
                file.close()
            manifest = {
                "format": FORMAT_VERSION,
                "event_schema_version": NEWEST_EVENT,
                "reflink": importlib.metadata.version("reflink-stream"),
                "made": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "source": dict(source),
                "references": counts["linked"] + counts["unresolved"],
                "linked": counts["linked"],
                "unresolved": counts["unresolved"],
                "unreadable": self._refused,
                "files": {
                    file.FILE: {"rows": file.written, "bytes": (self._folder / file.FILE).stat().st_size}
                    for file in self._files
                },
                "seconds": round(time.monotonic() - self._began, 3),
            }
            (self._folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
            self._publish()
        except OSError as error:
            raise ExportFailed(f"{self._out}: cannot be written: {error.strerror or error}: is the disk full?") from None
        return manifest

    def _write(self, progress: Progress) -> Counter[str]:
        counts = Counter[str](linked=0, unresolved=0)
        for number, (key, place, value) in enumerate(self.table.rows()):
            try:
                row = read(value, bare=self._bare)
                if row.reference.encode() != key:
                    raise BadRecord(f"its key names another reference than its value, {row.reference}")
            except BadRecord as error:
                self.refuse(place, key, error)
                continue
            for file in self._files:
                file.write(value, row)
            counts["unresolved" if row.cited is None else "linked"] += 1
            if number % _TELL_EVERY == 0:
                progress(number)
        progress(counts.total())
        return counts

    def _publish(self) -> None:
        """All is on disk before the folder has its name, and the name is on disk before it is told."""
        self.table.close()
        shutil.rmtree(self._folder / _TABLE)
        for path in self._folder.iterdir():
            _synced(path)
        (self._folder / _LOCK).unlink()
        _synced(self._folder)
        self._folder.rename(self._out)  # takes the place of an empty folder, and of nothing else
        _synced(self._out.parent)

    def _sweep(self) -> None:
        for left in self._out.parent.glob(f".{self._out.name}.*.partial"):
            with suppress(OSError), (left / _LOCK).open("rb") as lock:  # refused where its maker lives
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Write an export to a folder that gets its name only when all files are complete."""

from __future__ import annotations

import fcntl
import importlib.metadata
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
from reflink.graph import CONTEXTS
from reflink.graph.formats import WRITERS, Format
from reflink.graph.mentions import Mentions
from reflink.graph.newest import Newest, Place
from reflink.graph.rows import NEWEST_EVENT, read
from reflink.storage import durable

MANIFEST: Final = "manifest.json"
#: File with a line per value that could not be read; absent if there was none.
UNREADABLE: Final = "unreadable.jsonl"
#: Version of the manifest, the files' names and their columns.
FORMAT_VERSION: Final = 1

_TABLE: Final = "table"
_CONTEXTS: Final = "contexts"
_LOCK: Final = "lock"
_PROGRESS_EVERY: Final = 5000

#: Callback with the number of references written.
Progress = Callable[[int], object]


class GraphExport:
    """Write the newest links into ``out``, a folder that is absent or empty until all files are complete.

    Fill ``table``, then call ``finish``. A context manager: on exit it removes an unfinished export. The next export removes
    the remains of a killed one beside ``out``. Raises ExportFailed.
    """

    def __init__(self, out: Path, formats: Sequence[str], *, places: tuple[str, str], bare: bool = False) -> None:
        """``places``: names of the two numbers of a record address. ``bare``: also accept links without their event."""
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
            self._files: list[Format] = [WRITERS[name](self._folder) for name in dict.fromkeys(formats) if name != CONTEXTS]
            self.table = self._open.enter_context(Newest(self._folder / _TABLE))
            #: With the format ``contexts``: the events of that topic by reference.
            self.contexts: Newest | None = None
            if CONTEXTS in formats:
                self.contexts = self._open.enter_context(Newest(self._folder / _CONTEXTS))
                self._files.append(Mentions(self._folder, self.contexts.get))
        except BaseException:
            self._open.close()
            raise

    def refuse(self, place: Place, key: bytes | None, why: BadRecord) -> None:
        """Record a value that cannot be read; none of the link files contains it."""
        self._refused += 1
        named = {} if key is None else {"key": key.decode(errors="backslashreplace")}
        with (self._folder / UNREADABLE).open("ab") as file:
            file.write(orjson.dumps({**dict(zip(self._places, place, strict=True)), **named, "why": str(why)}) + b"\n")

    def finish(self, source: Mapping[str, Any], progress: Progress = lambda _: None) -> dict[str, Any]:
        """Write all files and give the folder its name. Returns the manifest, which contains ``source`` unchanged."""
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
                try:
                    file.write(value, row)
                except BadRecord as error:
                    self.refuse(place, key, error)
            counts["unresolved" if row.cited is None else "linked"] += 1
            if number % _PROGRESS_EVERY == 0:
                progress(number)
        progress(counts.total())
        return counts

    def _publish(self) -> None:
        """Rename the folder to ``out``. The files are on disk before the rename, and the name is on disk on return."""
        for table, folder in ((self.table, _TABLE), (self.contexts, _CONTEXTS)):
            if table is not None:
                table.close()
                shutil.rmtree(self._folder / folder)
        for path in self._folder.iterdir():
            durable.sync(path)
        (self._folder / _LOCK).unlink()
        durable.sync(self._folder)
        self._folder.rename(self._out)  # replaces an empty folder only
        durable.sync(self._out.parent)

    def _sweep(self) -> None:
        for left in self._out.parent.glob(f".{self._out.name}.*.partial"):
            with suppress(OSError), (left / _LOCK).open("rb") as lock:  # the lock fails while its process runs
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

"""RocksDB in a folder of its own, used as a cache of topics: opening, rebuilding, and handling of damage and refusals.

1. A batch is written completely or not at all, so a position in a topic always agrees with the rows written with it.
2. A database that is damaged, too old, or of other topics or another format is removed and rebuilt: the topics have everything.
3. If the system refuses an operation, the worker ends and no file is removed. A power failure loses unsynced batches only.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from rocksdict import DBRecoveryMode, Options, Rdict, ReadOptions, WriteBatch, WriteOptions

from workers.errors import StoreFailed
from workers.ledger.stores.rocksdb_manifest import FileList

log = logging.getLogger(__name__)

#: Keys of the rows about the database itself. Tables use other prefixes.
_TOPIC_ID: Final = b"t"
_WRITTEN: Final = b"w"
_FORMAT: Final = b"v"
_FILES: Final = b"f"
#: How long to wait until the previous process has closed the database, if two processes share a folder.
LOCK_S: Final = 5.0
#: RocksDB's messages about damaged files. All other errors are the system's: no space, no permission, a lock.
_DAMAGE: Final = ("Corruption", "Invalid argument", "Not implemented", "Not supported")
_MISSING: Final = ("No such file", "Input/output error", "s a directory", "ot a directory")
_LOCKED: Final = ("While lock file", "lock hold")
_SYSTEM: Final = ("No space left", "quota exceeded", "File too large")


def _in_whole_order() -> ReadOptions:
    """Return options for an iterator over many prefixes, from which a prefix filter must not hide rows."""
    options = ReadOptions()
    options.set_total_order_seek(True)
    return options


def _within_prefix() -> ReadOptions:
    options = ReadOptions()
    options.set_prefix_same_as_start(True)
    return options


class _Damaged(Exception):
    """The database cannot be opened, because its files are damaged."""


class Rocks:
    """Rows of bytes in order of key. Messages call the database ``name``.

    Every method raises StoreFailed if the system refuses an operation or the files prove to be damaged. Damaged files are
    removed, so the next start rebuilds the database.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        format_number: int,
        topics: Mapping[bytes, tuple[str, str | None]],
        stale_after_s: float,
        options: Options,
        lock_s: float = LOCK_S,
    ) -> None:
        """Open the database, or begin a new one and log the reason.

        A new database replaces one that is damaged, of another format, of topics with other ids, or last written more than
        ``stale_after_s`` ago: Kafka may have deleted tombstones since. ``topics``: short key → (name, id or None if unknown).
        """
        self.folder, self.name = folder, name
        self._format, self._lock_s, self._options = b"%d" % format_number, lock_s, options
        self._topics = {key: (topic, topic_id) for key, (topic, topic_id) in topics.items() if topic_id is not None}
        self._db: Rdict | None = None
        self._about: dict[bytes, bytes | None] = {}
        self._unsynced = WriteOptions()
        self._gone = folder.with_name(f".{folder.name}.gone")
        shutil.rmtree(self._gone, ignore_errors=True)  # left by a process that was killed during the removal
        _care(options)
        self._open()
        if reason := self._unfit(stale_after_s):
            log.warning("%s is rebuilt from its topics", name, extra={"folder": str(folder), "reason": reason})
            self._discard()
            self._open()
        self._introduce()

    def wipe(self) -> None:
        """Delete all rows. They can be restored from the topics."""
        self._discard()
        self._open()
        self._introduce()

    def get(self, key: bytes) -> bytes | None:
        """Return the value of the row, or None."""
        db = self._opened()
        try:
            found: bytes | None = db.get(key)
        except Exception as error:
            self._fail(error)
        return found

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of each row, or None."""
        db = self._opened()
        try:
            found: list[bytes | None] = db.get(list(keys))
        except Exception as error:
            self._fail(error)
        return found

    def write(self, batch: WriteBatch) -> None:
        """Write the batch (in raw mode) atomically."""
        batch.put(_WRITTEN, b"%d" % int(time.time() * 1000))
        self._write(batch)

    def rows(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield, in order of key from ``prefix + start`` on, keys without the prefix and values of the rows with the prefix."""
        rows = self._opened().iter(_in_whole_order())
        try:
            rows.seek(prefix + start)
            while rows.valid() and (key := rows.key()).startswith(prefix):
                yield key[len(prefix) :], rows.value()
                rows.next()
            try:
                rows.status()  # at a damaged block an iterator ends without an error
            except Exception as error:
                self._fail(error)
        finally:
            del rows  # an iterator keeps the files open

    def begun_with(self, prefixes: Iterable[bytes]) -> list[bytes]:
        """Return the prefixes that some row has. Fast if few are found and the options have a prefix extractor and a filter."""
        rows = self._opened().iter(_within_prefix())
        found = []
        try:
            for prefix in prefixes:
                rows.seek(prefix)
                if rows.valid() and rows.key().startswith(prefix):
                    found.append(prefix)
            try:
                rows.status()
            except Exception as error:
                self._fail(error)
        finally:
            del rows
        return found

    def close(self) -> None:
        """Close the files."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(Exception):  # unflushed rows are in the log, which the next process reads
                db.close()

    def _opened(self) -> Rdict:
        if self._db is None:
            raise StoreFailed(f"{self.folder}: {self.name} is closed")
        return self._db

    def _write(self, batch: WriteBatch) -> None:
        db = self._opened()
        batch.put(_FILES, self._files.state())
        try:
            db.write(batch, self._unsynced)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        """Raise StoreFailed; if the files are damaged, remove them first."""
        reason = _one_line(error)
        if not _is_damage(reason):
            self.close()
            raise self._refused(reason) from None
        self._discard()
        raise StoreFailed(
            f"{self.folder}: {self.name} is damaged ({reason}) and was removed: start the worker again, and it is built anew "
            "from the topics; nothing is lost"
        ) from None

    def _refused(self, reason: str) -> StoreFailed:
        what_to_do = "free space there, or set REFLINK_STATE_DIR to another folder"
        if any(part in reason for part in _LOCKED):
            what_to_do = "another process has it open: give each worker a REFLINK_STATE_DIR of its own"
        return StoreFailed(
            f"{self.folder}: {self.name}: {reason}: {what_to_do}; nothing is lost, what was committed is in the topics"
        )

    def _open(self) -> None:
        try:
            self._connect()
        except _Damaged as damage:
            details = {"folder": str(self.folder), "reason": str(damage)}
            log.error("%s is damaged and rebuilt from its topics", self.name, extra=details)
            self._discard()
            try:
                self._connect()
            except _Damaged as again:
                raise self._refused(str(again)) from None

    def _connect(self) -> None:
        """Open the database. Raises _Damaged, and StoreFailed if the system refuses."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise _Damaged("it is a file") from None
        except OSError as error:
            raise self._refused(str(error)) from None
        self._files = FileList(self.folder)
        if not self._files.can_be_read():
            raise _Damaged("a record of RocksDB's list of its files is of no type it can be of")
        about = (_WRITTEN, _FORMAT, _FILES, *(_TOPIC_ID + key for key in self._topics))
        try:
            self._db = _unlocked(self.folder, self._options, self._lock_s)
            self._about = {key: self._db.get(key) for key in about}
        except Exception as error:
            self.close()
            reason = _one_line(error)
            if _is_damage(reason):
                raise _Damaged(reason) from None
            raise self._refused(reason) from None
        if not self._files.extends(self._about[_FILES] or b""):
            self.close()
            raise _Damaged("RocksDB's list of its files has lost its end")

    def _unfit(self, stale_after_s: float) -> str | None:
        """Return the reason why the existing database cannot be used, or None."""
        written = int(self._about[_WRITTEN] or 0)
        if not written:
            return None
        if (found := self._about[_FORMAT]) != self._format:
            return f"it is of format {(found or b'1').decode(errors='replace')}, this one writes {self._format.decode()}"
        for key, (topic, topic_id) in self._topics.items():
            known = self._about[_TOPIC_ID + key]
            if known is not None and known != str(topic_id).encode():
                return f"the topic {topic} was recreated: its id was {known.decode(errors='replace')} and is {topic_id}"
        if time.time() - written / 1000 > stale_after_s:
            return f"it was last written more than {stale_after_s / 3600:.0f} hours ago"
        return None

    def _introduce(self) -> None:
        """Write the format and the topic ids, unless they are already written."""
        current = {_FORMAT: self._format}
        current |= {_TOPIC_ID + key: str(topic_id).encode() for key, (_, topic_id) in self._topics.items()}
        if any(self._about[key] != value for key, value in current.items()):
            batch = WriteBatch(raw_mode=True)
            for key, value in current.items():
                batch.put(key, value)
            self._write(batch)

    def _discard(self) -> None:
        """Remove the files. Renames the folder first, so that no process takes the remaining files for a complete database."""
        self.close()
        shutil.rmtree(self._gone, ignore_errors=True)
        try:
            if self.folder.is_dir():
                self.folder.rename(self._gone)
                shutil.rmtree(self._gone, ignore_errors=True)
            else:
                self.folder.unlink(missing_ok=True)
        except OSError as error:
            raise self._refused(str(error)) from None


def _care(options: Options) -> None:
    options.create_if_missing(True)
    options.set_keep_log_file_num(2)
    options.set_paranoid_checks(True)
    # From a torn or damaged log, take the entries before the damage: an older, consistent state.
    options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())


def _unlocked(folder: Path, options: Options, lock_s: float) -> Rdict:
    """Open the database as soon as no other process has it open. Raises RocksDB's errors."""
    until = time.monotonic() + lock_s
    while True:
        try:
            # Without ``column_families`` an existing database keeps the options of its file, which has no filter.
            return Rdict(str(folder), options, column_families={"default": options})
        except Exception as error:
            if not any(part in str(error) for part in _LOCKED) or time.monotonic() > until:
                raise
            time.sleep(0.1)


def _is_damage(reason: str) -> bool:
    if any(part in reason for part in _SYSTEM):
        return False
    return reason.startswith(_DAMAGE) or (reason.startswith("IO error") and any(part in reason for part in _MISSING))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__

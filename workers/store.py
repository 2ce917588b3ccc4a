"""The ledger's memory on disk: one RocksDB per partition, a cache of that partition of ``links`` and ``manifests``.

It is written after the commit and never before, so it is behind at worst, and the topics bring it up again. Writes are
not synced: a killed process loses nothing, a power cut the last ones, and the offset goes with the rows it belongs to.
RocksDB was chosen by measurement (benchmarks/store.py).

What cannot be read, or is not of these topics, is begun anew: the topics have everything. What the system refuses (no space,
no permission) ends the worker, and nothing is thrown away for it.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NoReturn

from rocksdict import DBRecoveryMode, Options, Rdict, WriteBatch, WriteOptions

from workers.errors import StoreFailed
from workers.filelist import FileList

log = logging.getLogger(__name__)

Table = Literal["links", "manifests"]
TABLES: Final[tuple[Table, ...]] = ("links", "manifests")
#: Of the keys and values below; 1 had no row that says so.
FORMAT: Final = 2
#: First byte of the keys of each table, and of what the store knows about itself.
_PREFIX: Final[dict[str, bytes]] = {"links": b"l", "manifests": b"m"}
_NEXT_OFFSET: Final = b"o"
_TOPIC_ID: Final = b"t"
_WRITTEN: Final = b"w"
_FORMAT: Final = b"v"
_FILES: Final = b"f"
#: What is read when it is opened.
_ABOUT: Final = (_WRITTEN, _FORMAT, _FILES, *(_TOPIC_ID + prefix for prefix in _PREFIX.values()))
#: A worker has a store per partition, so each is modest.
_WRITE_BUFFER_BYTES: Final = 16 * 2**20
#: How long the process that had the partition before may take to close its store, where two share a folder.
_LOCK_S: Final = 5.0
#: What RocksDB says of files that are not what it wrote. Anything else is the system's: no space, no permission, a lock.
_DAMAGE: Final = ("Corruption", "Invalid argument", "Not implemented", "Not supported")
_MISSING: Final = ("No such file", "Input/output error", "s a directory", "ot a directory")
_LOCKED: Final = ("While lock file", "lock hold")
_SYSTEM: Final = ("No space left", "quota exceeded", "File too large")


class _Damaged(Exception):
    """The store cannot be opened, and it is the store that is to blame."""


class PartitionStore:
    """One partition's tables: reference id -> link event, citing id -> paper state, as published.

    ``next_offset`` of each table is the first offset of its topic not in it yet. Every method raises StoreFailed when the
    system refuses, and when the store proves to be damaged; it is removed then, for the next start to begin anew.
    """

    def __init__(self, folder: Path, *, stale_after_s: float, topic_ids: Mapping[Table, str | None] | None = None) -> None:
        """Opens, or begins anew, with a log line that says why.

        That is when it is damaged, of another format, of topics with other ids (None: not known), or was last written before
        ``stale_after_s``: tombstones since then may be gone.
        """
        self.folder = folder
        self._topic_ids = {table: topic_id for table, topic_id in (topic_ids or {}).items() if topic_id is not None}
        self._db: Rdict | None = None
        self._about: dict[bytes, bytes | None] = {}
        self._unsynced = WriteOptions()
        self._gone = folder.with_name(f".{folder.name}.gone")
        shutil.rmtree(self._gone, ignore_errors=True)  # by a process that was killed while it removed it
        self._open()
        if reason := self._unfit(stale_after_s):
            log.warning("the ledger's store is begun anew from its topics", extra={"folder": str(folder), "reason": reason})
            self._discard()
            self._open()
        self._introduce()

    def wipe(self) -> None:
        """Forgets everything; the topics have it."""
        self._discard()
        self._open()
        self._introduce()

    def get(self, table: Table, key: str) -> bytes | None:
        """What was last published under the key."""
        return self._get(_PREFIX[table] + key.encode())

    def write(self, rows: Iterable[tuple[Table, str, bytes | None]], next_offsets: Mapping[Table, int]) -> None:
        """Puts or (None) deletes rows and moves on, all or nothing."""
        batch = WriteBatch(raw_mode=True)
        for table, key, value in rows:
            stored = _PREFIX[table] + key.encode()
            if value is None:
                batch.delete(stored)
            else:
                batch.put(stored, value)
        for table, offset in next_offsets.items():
            batch.put(_NEXT_OFFSET + _PREFIX[table], b"%d" % offset)
        batch.put(_WRITTEN, b"%d" % int(time.time() * 1000))
        self._write(batch)

    def next_offset(self, table: Table) -> int:
        """Where rolling forward begins."""
        return int(self._get(_NEXT_OFFSET + _PREFIX[table]) or 0)

    def rows(self, table: Table) -> Iterator[tuple[str, bytes]]:
        """All keys and values, in order of key."""
        prefix = _PREFIX[table]
        rows = self._opened().iter()
        try:
            rows.seek(prefix)
            while rows.valid() and (key := rows.key()).startswith(prefix):
                yield key[len(prefix) :].decode(), rows.value()
                rows.next()
            try:
                rows.status()  # an iterator that meets a damaged block only ends
            except Exception as error:
                self._fail(error)
        finally:
            del rows  # while it lives the files stay open

    def close(self) -> None:
        """Closes the files."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(Exception):  # what was not flushed is in the log that the next one reads
                db.close()

    def _opened(self) -> Rdict:
        if self._db is None:
            raise StoreFailed(f"{self.folder}: the ledger's store is closed")
        return self._db

    def _get(self, key: bytes) -> bytes | None:
        db = self._opened()
        try:
            found: bytes | None = db.get(key)
        except Exception as error:
            self._fail(error)
        return found

    def _write(self, batch: WriteBatch) -> None:
        db = self._opened()
        batch.put(_FILES, self._files.told())
        try:
            db.write(batch, self._unsynced)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        """Raises StoreFailed; removes the store first when it is damaged."""
        reason = _one_line(error)
        if not _is_damage(reason):
            self.close()
            raise self._refused(reason) from None
        self._discard()
        raise StoreFailed(
            f"{self.folder}: the ledger's store is damaged ({reason}) and was removed: start the worker again, and it is "
            "built anew from the topics; nothing is lost"
        ) from None

    def _refused(self, reason: str) -> StoreFailed:
        what_to_do = "free space there, or set REFLINK_STATE_DIR to another place"
        if any(part in reason for part in _LOCKED):
            what_to_do = "another process has it open: give each worker a REFLINK_STATE_DIR of its own"
        return StoreFailed(
            f"{self.folder}: the ledger's store: {reason}: {what_to_do}; nothing is lost, what was committed is in the topics"
        )

    def _open(self) -> None:
        try:
            self._connect()
        except _Damaged as damage:
            log.error(
                "the ledger's store is damaged and begun anew from its topics",
                extra={"folder": str(self.folder), "reason": str(damage)},
            )
            self._discard()
            try:
                self._connect()
            except _Damaged as again:
                raise self._refused(str(again)) from None

    def _connect(self) -> None:
        """Raises _Damaged, and StoreFailed when the system refuses."""
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
        options.set_keep_log_file_num(2)
        options.set_paranoid_checks(True)
        # Of a log that is torn or damaged, what stands before: an older state, whole.
        options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise _Damaged("it is a file") from None
        except OSError as error:
            raise self._refused(str(error)) from None
        self._files = FileList(self.folder)
        if not self._files.can_be_read():
            raise _Damaged("a record of RocksDB's list of its files is of no type it can be of")
        try:
            self._db = _unlocked(self.folder, options)
            self._about = {key: self._db.get(key) for key in _ABOUT}
        except Exception as error:
            self.close()
            reason = _one_line(error)
            if _is_damage(reason):
                raise _Damaged(reason) from None
            raise self._refused(reason) from None
        if not self._files.began_with(self._about[_FILES] or b""):
            self.close()
            raise _Damaged("RocksDB's list of its files has lost its end")

    def _unfit(self, stale_after_s: float) -> str | None:
        """Why what is there cannot be gone on from."""
        written = int(self._about[_WRITTEN] or 0)
        if not written:
            return None
        if (found := self._about[_FORMAT]) != b"%d" % FORMAT:
            return f"it is of format {(found or b'1').decode(errors='replace')}, this one writes {FORMAT}"
        for table, topic_id in self._topic_ids.items():
            known = self._about[_TOPIC_ID + _PREFIX[table]]
            if known is not None and known != topic_id.encode():
                return f"the topic {table} was created anew: its id was {known.decode(errors='replace')} and is {topic_id}"
        if time.time() - written / 1000 > stale_after_s:
            return f"it was last written more than {stale_after_s / 3600:.0f} hours ago"
        return None

    def _introduce(self) -> None:
        """Has the store say its format and its topics."""
        told = {_FORMAT: b"%d" % FORMAT}
        told |= {_TOPIC_ID + _PREFIX[table]: topic_id.encode() for table, topic_id in self._topic_ids.items()}
        if any(self._about[key] != value for key, value in told.items()):
            batch = WriteBatch(raw_mode=True)
            for key, value in told.items():
                batch.put(key, value)
            self._write(batch)

    def _discard(self) -> None:
        """Removes the files. First under another name, so that none of them is taken for the whole."""
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


def _unlocked(folder: Path, options: Options) -> Rdict:
    """The database, as soon as nobody else has it open. Raises what RocksDB does."""
    until = time.monotonic() + _LOCK_S
    while True:
        try:
            return Rdict(str(folder), options)
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

"""A RocksDB in a folder of its own, a cache of topics: opened, begun anew, and what may go wrong with it.

Writes are not synced: a killed process loses nothing, a power cut the last ones, and the position in the topic goes with the
rows it belongs to. What cannot be read, or is not of these topics, is begun anew: the topics have everything. What the
system refuses (no space, no permission) ends the worker, and nothing is thrown away for it.
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
from workers.ledger.filelist import FileList

log = logging.getLogger(__name__)

#: What it knows about itself. Tables have prefixes other than these.
_TOPIC_ID: Final = b"t"
_WRITTEN: Final = b"w"
_FORMAT: Final = b"v"
_FILES: Final = b"f"
#: How long the process that had it before may take to close it, where two share a folder.
LOCK_S: Final = 5.0
#: What RocksDB says of files that are not what it wrote. Anything else is the system's: no space, no permission, a lock.
_DAMAGE: Final = ("Corruption", "Invalid argument", "Not implemented", "Not supported")
_MISSING: Final = ("No such file", "Input/output error", "s a directory", "ot a directory")
_LOCKED: Final = ("While lock file", "lock hold")
_SYSTEM: Final = ("No space left", "quota exceeded", "File too large")


def _in_whole_order() -> ReadOptions:
    """Of an iterator over many prefixes: a filter of prefixes must not hide any."""
    options = ReadOptions()
    options.set_total_order_seek(True)
    return options


def _within_prefix() -> ReadOptions:
    options = ReadOptions()
    options.set_prefix_same_as_start(True)
    return options


class _Damaged(Exception):
    """It cannot be opened, and it is the files that are to blame."""


class Rocks:
    """Rows of bytes in order of key. ``name`` is what messages call it.

    Every method raises StoreFailed when the system refuses, and when the files prove to be damaged; they are removed then, for
    the next start to begin anew.
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
        """Opens, or begins anew, with a log line that says why.

        That is when it is damaged, of another format, of topics with other ids, or was last written before ``stale_after_s``:
        tombstones since then may be gone. ``topics``: short key → (name, id); an id that is None is not known.
        """
        self.folder, self.name = folder, name
        self._format, self._lock_s, self._options = b"%d" % format_number, lock_s, options
        self._topics = {key: (topic, topic_id) for key, (topic, topic_id) in topics.items() if topic_id is not None}
        self._db: Rdict | None = None
        self._about: dict[bytes, bytes | None] = {}
        self._unsynced = WriteOptions()
        self._gone = folder.with_name(f".{folder.name}.gone")
        shutil.rmtree(self._gone, ignore_errors=True)  # by a process that was killed while it removed it
        _care(options)
        self._open()
        if reason := self._unfit(stale_after_s):
            log.warning("%s is begun anew from its topics", name, extra={"folder": str(folder), "reason": reason})
            self._discard()
            self._open()
        self._introduce()

    def wipe(self) -> None:
        """Forgets everything; the topics have it."""
        self._discard()
        self._open()
        self._introduce()

    def get(self, key: bytes) -> bytes | None:
        """The value of the row, None where there is none."""
        db = self._opened()
        try:
            found: bytes | None = db.get(key)
        except Exception as error:
            self._fail(error)
        return found

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each row, or None."""
        db = self._opened()
        try:
            found: list[bytes | None] = db.get(list(keys))
        except Exception as error:
            self._fail(error)
        return found

    def write(self, batch: WriteBatch) -> None:
        """All of the batch (in raw mode) or nothing of it."""
        batch.put(_WRITTEN, b"%d" % int(time.time() * 1000))
        self._write(batch)

    def rows(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys, without the prefix, and values of the rows from ``prefix + start`` on that have the prefix, in order of key."""
        rows = self._opened().iter(_in_whole_order())
        try:
            rows.seek(prefix + start)
            while rows.valid() and (key := rows.key()).startswith(prefix):
                yield key[len(prefix) :], rows.value()
                rows.next()
            try:
                rows.status()  # an iterator that meets a damaged block only ends
            except Exception as error:
                self._fail(error)
        finally:
            del rows  # while it lives the files stay open

    def begun_with(self, prefixes: Iterable[bytes]) -> list[bytes]:
        """Those that some row's key begins with. Quick where few do, if the options have a prefix extractor and a filter."""
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
        """Closes the files."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(Exception):  # what was not flushed is in the log that the next one reads
                db.close()

    def _opened(self) -> Rdict:
        if self._db is None:
            raise StoreFailed(f"{self.folder}: {self.name} is closed")
        return self._db

    def _write(self, batch: WriteBatch) -> None:
        db = self._opened()
        batch.put(_FILES, self._files.told())
        try:
            db.write(batch, self._unsynced)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        """Raises StoreFailed; removes the files first when they are damaged."""
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
        what_to_do = "free space there, or set REFLINK_STATE_DIR to another place"
        if any(part in reason for part in _LOCKED):
            what_to_do = "another process has it open: give each worker a REFLINK_STATE_DIR of its own"
        return StoreFailed(
            f"{self.folder}: {self.name}: {reason}: {what_to_do}; nothing is lost, what was committed is in the topics"
        )

    def _open(self) -> None:
        try:
            self._connect()
        except _Damaged as damage:
            told = {"folder": str(self.folder), "reason": str(damage)}
            log.error("%s is damaged and begun anew from its topics", self.name, extra=told)
            self._discard()
            try:
                self._connect()
            except _Damaged as again:
                raise self._refused(str(again)) from None

    def _connect(self) -> None:
        """Raises _Damaged, and StoreFailed when the system refuses."""
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
        if not self._files.began_with(self._about[_FILES] or b""):
            self.close()
            raise _Damaged("RocksDB's list of its files has lost its end")

    def _unfit(self, stale_after_s: float) -> str | None:
        """Why what is there cannot be gone on from."""
        written = int(self._about[_WRITTEN] or 0)
        if not written:
            return None
        if (found := self._about[_FORMAT]) != self._format:
            return f"it is of format {(found or b'1').decode(errors='replace')}, this one writes {self._format.decode()}"
        for key, (topic, topic_id) in self._topics.items():
            known = self._about[_TOPIC_ID + key]
            if known is not None and known != str(topic_id).encode():
                return f"the topic {topic} was created anew: its id was {known.decode(errors='replace')} and is {topic_id}"
        if time.time() - written / 1000 > stale_after_s:
            return f"it was last written more than {stale_after_s / 3600:.0f} hours ago"
        return None

    def _introduce(self) -> None:
        """Has it say its format and its topics."""
        told = {_FORMAT: self._format}
        told |= {_TOPIC_ID + key: str(topic_id).encode() for key, (_, topic_id) in self._topics.items()}
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


def _care(options: Options) -> None:
    options.create_if_missing(True)
    options.set_keep_log_file_num(2)
    options.set_paranoid_checks(True)
    # Of a log that is torn or damaged, what stands before: an older state, whole.
    options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())


def _unlocked(folder: Path, options: Options, lock_s: float) -> Rdict:
    """The database, as soon as nobody else has it open. Raises what RocksDB does."""
    until = time.monotonic() + lock_s
    while True:
        try:
            # Named once more, since else a table that is there keeps the options of its file, which has no filter.
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

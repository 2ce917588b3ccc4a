"""Read what is new in the files of the sources into the state, and settle what it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import orjson

from reflink.catalog.filters import Filters
from reflink.errors import BadDump
from reflink.grouping.sameness import Sameness
from reflink.merging import VERSION, Conflict, Rules
from reflink.sources.source import Source, SourceFile
from reflink.updating.applying import Counts, apply
from reflink.updating.encoded import Encoded
from reflink.updating.layout import DIRTY, LAST_ORIGIN, RECORD, Row, digest, file_key, origin_of
from reflink.updating.matching import match_dirty
from reflink.updating.reading import Task, read_all
from reflink.updating.settling import Settled, settle_dirty
from reflink.updating.state import State

_BATCH: Final = 1000


@dataclass(frozen=True)
class Input:
    """A source and where its files are. ``complete``: the files are all that the source has, so other records are removed."""

    source: Source
    paths: tuple[Path, ...]
    complete: bool = False


@dataclass(frozen=True)
class Limits:
    """``max_removed``: largest share of a source's records that a new edition may remove. ``jobs``: processes that read files.

    ``again``: files that were read before are read again.
    """

    max_removed: float = 0.05
    jobs: int = 1
    again: bool = False


@dataclass
class SourceReport:
    """What was read of a source.

    ``read``, ``known``, ``ignored``: numbers of files read now, read before, and of older editions. ``bad``, ``bad_before``:
    numbers of records that could not be read now, and in the files read before. ``newest``: modification time of the newest
    file that could ever be read, in seconds since 1970. ``removed``: records that the newest edition lacks. ``damaged``: faults
    of files that could not be read to their end.
    """

    read: int = 0
    known: int = 0
    ignored: int = 0
    bad: int = 0
    bad_before: int = 0
    newest: float = 0.0
    counts: Counts = field(default_factory=Counts)
    removed: int = 0
    damaged: list[str] = field(default_factory=list)


@dataclass
class Report:
    """The result of an update."""

    sources: dict[str, SourceReport]
    settled: Settled

    @property
    def flawless(self) -> bool:
        """Whether every file and every record could be read."""
        return not any(each.bad or each.damaged for each in self.sources.values())


#: Callback with the step, the amount done and the total; the total of records is unknown until the files are read.
Progress = Callable[[str, int, int], object]


def update(
    state: State,
    inputs: Sequence[Input],
    *,
    rules: Rules | None = None,
    filters: Filters | None = None,
    limits: Limits | None = None,
    on_fault: Callable[[str], object] = lambda _: None,
    on_conflict: Callable[[Conflict], object] = lambda _: None,
    progress: Progress = lambda *_: None,
) -> Report:
    """Read the new and changed files of all inputs, settle the changes, and return what was read.

    An interrupted update continues with the files that it had not finished; an update without new files changes nothing. A
    damaged file is read again by the next update. Raises BadDump (files are missing, or an edition would remove too much),
    StateFailed and OSError.
    """
    rules, filters, limits = rules or Rules(), filters or Filters(), limits or Limits()
    _follow_rules(state, rules, filters)
    reports: dict[str, SourceReport] = {}
    editions: dict[str, int] = {}
    tasks: list[Task] = []
    for each in inputs:
        name = each.source.name
        report = reports.setdefault(name, SourceReport())
        before, files = _edition(state, name), each.source.files(each.paths)
        if each.complete and each.source.has_editions:
            raise BadDump(f"{name}: its files state which edition is complete: leave complete out")
        newest = max([before, *(file.edition for file in files if file.edition is not None)])
        editions[name] = _complete_edition(state, name, files) if each.complete else newest
        for file in files:
            # A file outside all editions belongs to the newest one, so a new edition does not remove its records.
            edition = editions[name] if file.edition is None else file.edition
            tasks.append(Task(each.source, SourceFile(file.path, file.name, file.version, edition, file.expected)))
    wanted = [task for task in tasks if _wanted(state, task, editions, limits.again, reports)]
    _read(state, wanted, filters, limits.jobs, not rules.compare, reports, on_fault, progress)
    for name, edition in editions.items():
        if not reports[name].damaged and edition > _edition(state, name):
            reports[name].removed = _remove_older(state, name, edition, limits.max_removed)
            state.set_fact(f"edition {name}", edition)
    if rules.compare:
        sameness = Sameness(join_preprints=rules.join_preprints)
        match_dirty(state, sameness, rules.min_probability, lambda done: progress("comparing", done, 0))
    settled = settle_dirty(state, rules, filters, on_conflict, lambda done: progress("merging", done, 0))
    for name, report in reports.items():
        report.newest = max(report.newest, newest_of(state, name))
        state.set_fact(f"newest {name}", report.newest)
    return Report(reports, settled)


def newest_of(state: State, source: str) -> float:
    """Return the modification time of the newest file of a source that was ever read, in seconds since 1970; 0 without one."""
    newest = state.fact(f"newest {source}", 0.0)
    assert isinstance(newest, float)
    return newest


def _edition(state: State, source: str) -> int:
    edition = state.fact(f"edition {source}", 0)
    assert isinstance(edition, int)
    return edition


def _complete_edition(state: State, source: str, files: Sequence[SourceFile]) -> int:
    """Return the edition of files that are all that the source has: a new one, unless they are those of the last update."""
    stats = [(str(file.path.absolute()), file.path.stat()) for file in files]
    now = digest(repr(sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)).encode()).hex()
    name, edition = f"complete {source}", _edition(state, source)
    if state.fact(name) == [now, edition]:
        return edition
    state.set_fact(name, [now, edition + 1])
    return edition + 1


def _follow_rules(state: State, rules: Rules, filters: Filters) -> None:
    """Mark all records as dirty if rules, filters or the code of merging differ from those of the last update."""
    now = {"version": VERSION, "rules": rules.model_dump(mode="json"), "filters": filters.model_dump(mode="json")}
    before = state.fact("rules")
    if before == now:
        return
    if before is not None:
        refs = (ref for ref, _ in state.rows(RECORD))
        while chunk := list(islice(refs, _BATCH)):
            batch = state.batch()
            for ref in chunk:
                batch.put(DIRTY + ref, b"")
            state.write(batch)
    state.set_fact("rules", now)


def _wanted(state: State, task: Task, editions: dict[str, int], again: bool, reports: dict[str, SourceReport]) -> bool:
    """Whether a file must be read: it is new, has changed, or is of a new edition, and not of an older one."""
    name, file = task.source.name, task.file
    assert file.edition is not None
    if file.edition < editions[name]:
        reports[name].ignored += 1
        return False
    known = state.get(file_key(name, file.path))
    if again or known is None:
        return True
    about, now = orjson.loads(known), file.path.stat()
    if about["size"] != now.st_size or about["mtime_ns"] != now.st_mtime_ns or about["edition"] != file.edition:
        return True
    reports[name].known += 1
    reports[name].bad_before += about["bad"]
    reports[name].newest = max(reports[name].newest, now.st_mtime)
    return False


def _read(
    state: State,
    tasks: Sequence[Task],
    filters: Filters,
    jobs: int,
    direct: bool,
    reports: dict[str, SourceReport],
    on_fault: Callable[[str], object],
    progress: Progress,
) -> None:
    sizes = [task.file.path.stat() for task in tasks]
    total, done, records, bad = sum(size.st_size for size in sizes), 0, [0] * len(tasks), [0] * len(tasks)
    progress("reading", 0, total)
    for batch in read_all(tasks, filters, jobs):
        task = tasks[batch.task]
        name, file = task.source.name, task.file
        report = reports[name]
        assert file.edition is not None
        origin = origin_of(file.path)
        report.counts.add(apply(state, batch.records, file.edition, origin, direct=direct))
        records[batch.task] += len(batch.records) + batch.bad
        report.bad += batch.bad
        bad[batch.task] += batch.bad
        for fault in batch.faults:
            on_fault(fault)
        if not batch.ended:
            continue
        report.read += 1
        done += sizes[batch.task].st_size
        progress("reading", done, total)
        damage = batch.damage
        if damage is None and file.expected not in (None, records[batch.task]):
            damage = f"{file.path}: {records[batch.task]} records, but its manifest states {file.expected}: get the file again"
        if damage is not None:
            report.damaged.append(damage)
            on_fault(damage)
            continue
        size = sizes[batch.task]
        report.newest = max(report.newest, size.st_mtime)
        about = {"size": size.st_size, "mtime_ns": size.st_mtime_ns, "edition": file.edition, "bad": bad[batch.task]}
        row = state.batch()
        row.put(file_key(name, file.path), orjson.dumps(about))
        state.write(row)


def _remove_older(state: State, source: str, edition: int, max_removed: float) -> int:
    """Withdraw the records of editions before ``edition``. Returns their number. Raises BadDump if they are too many."""
    total, old = 0, 0
    for row in _rows(state, source):
        total += bool(row[1].json)
        old += bool(row[1].json) and row[1].edition < edition
    if old > max_removed * total:
        raise BadDump(
            f"{source}: edition {edition} lacks {old} of {total} records ({old / total:.0%}), more than {max_removed:.0%}: "
            "if it is complete, allow it with --allow-shrink"
        )
    stale = (
        Encoded(ref, row.version, b"", b"", (), False, False)
        for ref, row in _rows(state, source)
        if row.json and row.edition < edition
    )
    while chunk := list(islice(stale, _BATCH)):
        apply(state, chunk, edition, LAST_ORIGIN, direct=True)
    return old


def _rows(state: State, source: str) -> Iterator[tuple[bytes, Row]]:
    prefix = RECORD + f"{source} ".encode()
    for key, value in state.rows(prefix):
        yield prefix[1:] + key, Row.from_bytes(value)

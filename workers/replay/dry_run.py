"""The dry run of a replay: re-evaluate the selected references in this process and compare the outcomes with their links.

It runs the stages of linker and fallback with their settings and the catalog that they follow, and sends nothing. So an
operator sees what a new model, threshold or verdict would change before deploying it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self, TypeVar

from reflink.entities import Link
from schemas import FallbackEvent, LinkEvent, ReferenceEvent, read_outcome_event
from schemas.outcomes import OutcomesEvent
from workers.config.settings import FallbackSettings, KafkaSettings, LinkerSettings
from workers.errors import WorkerError
from workers.kafka.clients import end_of
from workers.kafka.range_reader import Range
from workers.kafka.topics import TopicAdmin
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage
from workers.records import Message
from workers.replay.diff import Change, Sample, Tally, kind_of
from workers.replay.latest_offsets import Newest
from workers.replay.record_filter import RecordFilter, again
from workers.replay.selection import Selection
from workers.stage import Stage
from workers.tools.overrides import now_ms, read_overrides

log = logging.getLogger(__name__)

#: References in one batch.
_BATCH: Final = 256
_TAKEN: Final = 1000

#: Called with the phase (``count``, ``load`` or ``judge``), the amount done and the total.
Progress = Callable[[str, int, int], object]
E = TypeVar("E")


@dataclass(frozen=True)
class DryRun:
    """The result of a dry run.

    ``judged`` of the ``selected`` references were evaluated. ``pinned``, ``superseded`` and ``unreadable`` count records that
    were passed over. ``model`` and ``policy`` name what evaluated them.
    """

    selected: int
    judged: int
    pinned: int
    superseded: int
    unreadable: int
    catalog_offset: int
    model: str | None
    policy: str | None
    changes: dict[str, Any]


class LocalWorkers:
    """The stages of linker and fallback in this process.

    Use as a context manager: entering it loads the model and opens the catalog twice, once for each stage.
    """

    def __init__(self, linker: LinkerSettings, fallback: FallbackSettings) -> None:
        self._linker, self._fallback = LinkerStage(linker), FallbackStage(fallback)
        self.model: str | None = None
        self.policy: str | None = None

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for stage in (self._linker, self._fallback):
                opened.callback(stage.close)
                stage.warm()
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def canonical(self, cited: str) -> str:
        """Return the canonical id of a work in the current catalog."""
        return self._linker.catalog.canonical(cited)

    def judge(self, events: Sequence[ReferenceEvent]) -> dict[str, Link]:
        """Return the outcomes by reference id, without the references that a stage cannot handle.

        Raises the errors that end a worker.
        """
        links: dict[str, Link] = {}
        opened: list[FallbackEvent] = []
        for message in _handled(self._linker, events):
            if message.topic == "fallback":
                opened.append(FallbackEvent.from_json(message.value or b""))
            else:
                self._settle(message, links)
        for message in _handled(self._fallback, opened):
            self._settle(message, links)
        return links

    def _settle(self, message: Message, links: dict[str, Link]) -> None:
        event = read_outcome_event(message.value or b"")
        assert isinstance(event, OutcomesEvent)
        self.model, self.policy = event.model, event.policy
        links.update({item.reference.id: item.link for item in event.items})


def _handled(stage: Stage[E, Any], batch: Sequence[E]) -> list[Message]:
    """Return the stage's messages for a batch.

    Like the runtime, it bisects a batch that fails. It logs and omits an event that fails alone.
    """
    if not batch:
        return []
    view = stage.view(batch)
    try:
        return stage.handle(batch, view).messages
    except WorkerError:
        raise
    except Exception as error:
        if len(batch) == 1:
            log.warning("cannot be evaluated", extra={"reason": type(error).__name__, "detail": str(error)})
            return []
        middle = len(batch) // 2
        return _handled(stage, batch[:middle]) + _handled(stage, batch[middle:])


def dry_run(
    linker: LinkerSettings,
    fallback: FallbackSettings,
    selection: Selection,
    *,
    sample: int | None = None,
    seed: int = 0,
    tally: Tally | None = None,
    changed: Callable[[Change], object] = lambda _: None,
    progress: Progress = lambda *_: None,
) -> DryRun:
    """Evaluate all selected references, or a random ``sample`` of them. ``changed`` is called with every change.

    Raises the errors of a starting linker or fallback (SnapshotError, ModelNotFound, BadSettings, DeviceFull), WrongTopic,
    BrokerRefused, BrokerUnreachable or Stalled.
    """
    tally = tally or Tally()
    with TopicAdmin(linker) as admin:
        partitions = admin.check(["links", "overrides", "catalog"])["links"].partitions
    offset = end_of(linker, "catalog")
    overrides = read_overrides(linker, partitions)
    record_filter, ends, selected = _counted(linker, partitions, selection, overrides, progress)
    passed = {"pinned": 0, "superseded": 0, "unreadable": 0}

    def selected_links() -> Iterator[LinkEvent]:
        with Range(linker, "links", range(partitions), ends=ends) as links:
            while not links.done:
                for record in links.take(_TAKEN):
                    taken = record_filter.take(record)
                    if isinstance(taken, LinkEvent):
                        yield taken
                    elif taken is not None:
                        passed[taken] += 1

    chosen: Iterator[LinkEvent] = selected_links()
    if sample is not None:
        drawn = Sample[LinkEvent](sample, seed)
        for event in chosen:
            drawn.offer(event)
        selected, chosen = drawn.offered, iter(drawn.drawn)
    of = min(selected, sample) if sample is not None else selected
    progress("load", 0, 1)
    with LocalWorkers(linker, fallback) as local:
        done = 0
        while batch := list(islice(chosen, _BATCH)):
            links = local.judge([again(event, offset, overrides) for event in batch])
            for event in batch:
                after = links.get(event.link.reference)
                kind = kind_of(event.link, after, local.canonical)
                change = Change(kind, event.link.reference, event.link, after, event.reference.raw_text)
                tally.take(change)
                if kind != "unchanged":
                    changed(change)
            done += len(batch)
            progress("judge", done, max(of, done))
        selected = selected if sample is not None else done
        return DryRun(
            selected, done, **passed, catalog_offset=offset, model=local.model, policy=local.policy,
            changes=tally.report(selected),
        )  # fmt: skip


def _counted(
    settings: KafkaSettings, partitions: int, selection: Selection, overrides: Any, progress: Progress
) -> tuple[RecordFilter, dict[int, int], int]:
    """Make the first pass over all links; return the record filter, the ends and the number of selected references."""
    with Range(settings, "links", range(partitions)) as links:
        newest = Newest(links.progress[1])
        record_filter = RecordFilter(selection, now_ms(), newest, overrides)
        while not links.done:
            for record in links.take(_TAKEN):
                record_filter.count(record)
            progress("count", *links.progress)
        return record_filter, links.ends, newest.counted

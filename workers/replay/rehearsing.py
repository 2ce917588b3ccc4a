"""A replay that changes nothing: the selected references are judged in this process, and compared with their links.

It is the linker's and the fallback's own code that judges, with their settings and the catalog that they follow. So what is
to be deployed, a model, a threshold, a verdict, shows what it would change before it does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from reflink.entities import Link
from schemas import FallbackEvent, LinkEvent, ReferenceEvent, read_outcome_event
from schemas.outcomes import OutcomesEvent
from workers.clients import end_of
from workers.curating import now_ms, read_overrides
from workers.errors import WorkerError
from workers.fallback import FallbackStage
from workers.linker import LinkerStage
from workers.replay.comparing import Change, Sample, Tally, kind_of
from workers.replay.ranges import Range
from workers.replay.selecting import Selection
from workers.replay.sieving import Sieve, again
from workers.replay.superseding import Newest
from workers.settings import FallbackSettings, KafkaSettings, LinkerSettings
from workers.stage import Message, Received, Stage
from workers.topics import TopicAdmin

log = logging.getLogger(__name__)

#: References judged at a time.
_BATCH: Final = 256
_TAKEN: Final = 1000

#: Hears the phase (``count``, ``load``, ``judge``), how much of it is done, and of how much.
Progress = Callable[[str, int, int], object]
E = TypeVar("E")


@dataclass(frozen=True)
class Rehearsed:
    """What a dry run found. ``judged`` of the ``selected``; ``model`` and ``policy`` are those that it judged by."""

    selected: int
    judged: int
    pinned: int
    superseded: int
    unreadable: int
    catalog_offset: int
    model: str | None
    policy: str | None
    changes: dict[str, Any]


class Judges:
    """Linker and fallback in this process. Use as a context manager, which loads the model and opens the catalog twice."""

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._opened.close()

    def canonical(self, cited: str) -> str:
        """The id that stands for a work now."""
        return self._linker.catalog.canonical(cited)

    def judge(self, events: Sequence[ReferenceEvent]) -> dict[str, Link]:
        """Outcomes by reference, without those that no judgement can be made of. Raises what would end a worker."""
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
    """What the stage makes of a batch; as the runtime does, halved until what fails stands alone, which is left out."""
    if not batch:
        return []
    view = stage.view(batch)
    try:
        return stage.handle(batch, view).messages
    except WorkerError:
        raise
    except Exception as error:
        if len(batch) == 1:
            log.warning("cannot be judged", extra={"reason": type(error).__name__, "detail": str(error)})
            return []
        middle = len(batch) // 2
        return _handled(stage, batch[:middle]) + _handled(stage, batch[middle:])


def rehearse(
    linker: LinkerSettings,
    fallback: FallbackSettings,
    selection: Selection,
    *,
    sample: int | None = None,
    seed: int = 0,
    tally: Tally | None = None,
    changed: Callable[[Change], object] = lambda _: None,
    progress: Progress = lambda *_: None,
) -> Rehearsed:
    """Judges all selected references, or so many of them drawn at random. ``changed`` hears of every change.

    Raises what linker and fallback raise at their start (SnapshotError, ModelNotFound, BadSettings, DeviceFull), WrongTopic,
    BrokerRefused, BrokerUnreachable and Stalled.
    """
    tally = tally or Tally()
    with TopicAdmin(linker) as admin:
        partitions = admin.check(["links", "overrides", "catalog"])["links"].partitions
    offset = end_of(linker, "catalog")
    overrides = read_overrides(linker, partitions)
    sieve, ends, selected = _counted(linker, partitions, selection, overrides, progress)
    passed = {"pinned": 0, "superseded": 0, "unreadable": 0}

    def meant() -> Iterator[LinkEvent]:
        with Range(linker, "links", range(partitions), ends=ends) as links:
            while not links.done:
                for record in links.take(_TAKEN):
                    taken = sieve.take(record)
                    if isinstance(taken, LinkEvent):
                        yield taken
                    elif taken is not None:
                        passed[taken] += 1

    chosen: Iterator[LinkEvent] = meant()
    if sample is not None:
        drawn = Sample[LinkEvent](sample, seed)
        for event in chosen:
            drawn.offer(event)
        selected, chosen = drawn.offered, iter(drawn.drawn)
    of = min(selected, sample) if sample is not None else selected
    progress("load", 0, 1)
    with Judges(linker, fallback) as judges:
        done = 0
        while batch := _next(chosen):
            links = judges.judge([again(event, offset, overrides) for event in batch])
            for event in batch:
                after = links.get(event.link.reference)
                kind = kind_of(event.link, after, judges.canonical)
                change = Change(kind, event.link.reference, event.link, after, event.reference.raw_text)
                tally.take([change])
                if kind != "unchanged":
                    changed(change)
            done += len(batch)
            progress("judge", done, max(of, done))
        selected = selected if sample is not None else done
        return Rehearsed(
            selected, done, **passed, catalog_offset=offset, model=judges.model, policy=judges.policy,
            changes=tally.said(selected),
        )  # fmt: skip


def _next(events: Iterator[LinkEvent]) -> list[LinkEvent]:
    return list(islice(events, _BATCH))


def _counted(
    settings: KafkaSettings, partitions: int, selection: Selection, overrides: Any, progress: Progress
) -> tuple[Sieve, dict[int, int], int]:
    """The first reading of all links: how many are meant, and where they end."""
    with Range(settings, "links", range(partitions)) as links:
        total = sum(links.ends.values()) - sum(links.oldest.values())
        newest = Newest(total)
        sieve = Sieve(selection, now_ms(), newest, overrides)
        while not links.done:
            records: list[Received] = links.take(_TAKEN)
            for record in records:
                sieve.count(record)
            progress("count", sum(links.positions.values()) - sum(links.oldest.values()), total)
        return sieve, links.ends, newest.counted

"""Fallback: the references that the semantic stage left open, judged with trigram candidates too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reflink.catalog import Catalog
from reflink.linker import lexical_step
from reflink.policy import Policy, Profile
from reflink.stopwatch import Stopwatch
from reflink.verdict.judge import warm
from schemas import FallbackEvent, Outcome
from schemas.envelope import PaperEvent
from workers.following import CatalogFollower
from workers.outgoing import JudgedBy, add_outcomes
from workers.settings import FallbackSettings
from workers.snapshots import open_catalog
from workers.stage import Output, Received, Stage


@dataclass(frozen=True)
class FallbackView:
    """The catalog at one version, and the time of judgement in milliseconds."""

    catalog: Catalog
    accept: float
    absent: float
    now: int

    def after(self, output: Output) -> FallbackView:
        """Itself: linking changes no catalog."""
        return self


class FallbackStage(Stage[FallbackEvent, FallbackView]):
    """Holds the catalog's trigrams."""

    name = "fallback"
    inputs = ("fallback",)
    outputs = ("outcomes",)
    follows = ("catalog",)

    def __init__(self, settings: FallbackSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock, self._accept = settings, clock, settings.accept()

    def warm(self) -> None:
        """Opens the catalog and reads its topic to the end. Raises SnapshotError."""
        empty = Catalog.empty(lexical_mode=self.settings.lexical_mode)
        self.catalog = open_catalog(self.settings, vectors=False, trigrams=True, empty=empty)
        if self.catalog.trigrams is not None:
            self.catalog.trigrams.threads = self.settings.search_threads or len(os.sched_getaffinity(0))
        self.follower = CatalogFollower(self.settings, self.catalog, None)
        warm()  # a verdict that does not fit this code is no reference's fault: fail now
        self.follower.wait_for(self.follower.start(), self.settings.call_deadline_s)

    def decode(self, record: Received) -> FallbackEvent:
        """Raises BadRecord."""
        return FallbackEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[FallbackEvent]) -> FallbackView:
        """At least the version that the semantic stage saw: a candidate it found must be known here."""
        self.follower.wait_for(max((event.catalog_offset for event in batch), default=0), self.settings.call_deadline_s)
        return FallbackView(self.catalog, self._accept, self.settings.absent, int(self._clock() * 1000))

    def handle(self, batch: Sequence[FallbackEvent], view: FallbackView) -> Output:
        """Outcomes, one event per paper; judged where and by what the semantic stage was, the older of both versions."""
        output, watch = Output(), Stopwatch()
        # One search for all of a profile: it reads the index once for many references.
        by_profile: dict[Profile, list[FallbackEvent]] = {}
        for event in batch:
            by_profile.setdefault(event.profile, []).append(event)
        judged: dict[tuple[int, JudgedBy], list[tuple[PaperEvent, Outcome]]] = {}
        for profile, events in by_profile.items():
            policy = Policy(profile=profile, lexical_mode=view.catalog.lexical_mode, accept=view.accept, absent=view.absent)
            opens = [item for event in events for item in event.items]
            links = iter(lexical_step(opens, view.catalog, policy, watch=watch))
            for event in events:
                outcomes = judged.setdefault((event.catalog_offset, JudgedBy(event.model, event.policy)), [])
                outcomes += [
                    (event, Outcome(reference=item.reference, link=next(links), forbidden=item.forbidden))
                    for item in event.items
                ]
        for (offset, by), outcomes in judged.items():
            add_outcomes(output, outcomes, offset, view.now, by)
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def follow(self, seconds: float) -> bool:
        """Adds new works."""
        return self.follower.apply(seconds)

    def close(self) -> None:
        """Stops following."""
        if hasattr(self, "follower"):
            self.follower.close()

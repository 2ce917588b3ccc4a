"""The fallback stage: decides the references that the semantic stage left open, with trigram candidates in addition."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reflink.catalog import Catalog
from reflink.linking.linker import lexical_step
from reflink.linking.policy import Policy, Profile, Versions
from reflink.stopwatch import Stopwatch
from reflink.verdict.judge import warm
from schemas import FallbackEvent, Outcome
from schemas.envelope import PaperEvent
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import open_catalog
from workers.config.settings import FallbackSettings
from workers.linking.events import JudgedBy, add_outcomes, outcome
from workers.records import Received
from workers.stage import Output, Stage


@dataclass(frozen=True)
class FallbackView:
    """The catalog at one version, and the time of the decision in milliseconds."""

    catalog: Catalog
    accept: float
    precision: float | None
    versions: Versions
    now: int

    def after(self, output: Output) -> FallbackView:
        """Return this view, because linking does not change the catalog."""
        return self


class FallbackStage(Stage[FallbackEvent, FallbackView]):
    """The stage with the catalog's trigram index."""

    name = "fallback"
    inputs = ("fallback",)
    outputs = ("outcomes",)
    follows = ("catalog",)

    def __init__(self, settings: FallbackSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        settings.check_precision()

    def warm(self) -> None:
        """Open the catalog and read its topic to the end. Raises SnapshotError."""
        empty = Catalog.empty(lexical_mode=self.settings.lexical_mode)
        self.catalog = open_catalog(self.settings, vectors=False, trigrams=True, empty=empty)
        if self.catalog.trigrams is not None:
            self.catalog.trigrams.threads = self.settings.search_threads or len(os.sched_getaffinity(0))
        self.follower = CatalogFollower(self.settings, self.catalog, None)
        warm()  # fail at the start, not on a reference, if the verdict does not fit this code
        self.follower.wait_for(self.follower.start(), self.settings.call_deadline_s)

    def decode(self, record: Received) -> FallbackEvent:
        """Return the event of a record. Raises BadRecord."""
        return FallbackEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[FallbackEvent]) -> FallbackView:
        """Return the catalog at the version that the semantic stage used, or a newer one, so that its candidates are known."""
        self.follower.wait_for(max((event.catalog_offset for event in batch), default=0), self.settings.call_deadline_s)
        settings = self.settings
        return FallbackView(
            self.catalog, settings.min_probability, settings.link_precision, settings.versions, int(self._clock() * 1000)
        )

    def handle(self, batch: Sequence[FallbackEvent], view: FallbackView) -> Output:
        """Return the outcomes, one event per paper.

        They carry the catalog offset, model, policy and share of absent works of the semantic stage. Its catalog is the older
        of both versions, and the verdict here assumes the same share.
        """
        output, watch = Output(), Stopwatch()
        # One search for all references of a profile reads the index once.
        by_profile: dict[Profile, list[FallbackEvent]] = {}
        for event in batch:
            by_profile.setdefault(event.profile, []).append(event)
        judged: dict[tuple[int, JudgedBy], list[tuple[PaperEvent, Outcome]]] = {}
        for profile, events in by_profile.items():
            policy = Policy(
                profile=profile, lexical_mode=view.catalog.lexical_mode, accept=view.accept, precision=view.precision,
                versions=view.versions,
            )  # fmt: skip
            opens = [item for event in events for item in event.items]
            absent = [event.absent for event in events for _ in event.items]
            links = iter(lexical_step(opens, view.catalog, policy, watch=watch, absent=absent))
            for event in events:
                outcomes = judged.setdefault((event.catalog_offset, JudgedBy(event.model, event.policy, event.absent)), [])
                outcomes += [
                    (event, outcome(item.reference, next(links), view.catalog, item.forbidden)) for item in event.items
                ]
        for (offset, by), outcomes in judged.items():
            add_outcomes(output, outcomes, offset, view.now, by)
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def follow(self, seconds: float) -> bool:
        """Apply changes of the catalog."""
        return self.follower.apply(seconds)

    def close(self) -> None:
        """Stop following the catalog."""
        if hasattr(self, "follower"):
            self.follower.close()

"""Fallback: the references that the semantic stage left open, judged with trigram candidates too."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reflink.catalog import Catalog
from reflink.linker import Policy, lexical_step
from schemas import FallbackEvent, Outcome
from schemas.envelope import PaperEvent
from workers.following import CatalogFollower, open_catalog
from workers.outgoing import add_outcomes
from workers.settings import FallbackSettings
from workers.stage import Output, Received, Stage


@dataclass(frozen=True)
class FallbackView:
    """The catalog at one version, and the time of judgement in milliseconds."""

    catalog: Catalog
    policy: Policy
    now: int

    def after(self, output: Output) -> FallbackView:
        """Itself: linking changes no catalog."""
        return self


class FallbackStage(Stage[FallbackEvent, FallbackView]):
    """Holds the catalog's trigrams."""

    name = "fallback"
    inputs = ("fallback",)
    uses = ("outcomes", "catalog")

    def __init__(self, settings: FallbackSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        self.policy = Policy(profile=settings.profile, lexical_mode=settings.lexical_mode)

    def warm(self) -> None:
        """Opens the catalog and reads its topic to the end. Raises SnapshotError."""
        empty = Catalog.empty(lexical_mode=self.settings.lexical_mode)
        self.catalog = open_catalog(self.settings, vectors=False, trigrams=True, empty=empty)
        self.follower = CatalogFollower(self.settings, self.catalog, None)
        self.follower.wait_for(self.follower.start(), self.settings.call_deadline_s)

    def decode(self, record: Received) -> FallbackEvent:
        """Raises BadRecord."""
        return FallbackEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[FallbackEvent]) -> FallbackView:
        """At least the version that the semantic stage saw: a candidate it found must be known here."""
        self.follower.wait_for(max((event.catalog_offset for event in batch), default=0), self.settings.call_deadline_s)
        return FallbackView(self.catalog, self.policy, int(self._clock() * 1000))

    def handle(self, batch: Sequence[FallbackEvent], view: FallbackView) -> Output:
        """Outcomes, as one event per paper. They count as judged where the semantic stage looked, the older of both versions."""
        output = Output()
        links = iter(lexical_step([item for event in batch for item in event.items], view.catalog, view.policy))
        by_offset: dict[int, list[tuple[PaperEvent, Outcome]]] = {}
        for event in batch:
            outcomes = by_offset.setdefault(event.catalog_offset, [])
            outcomes += [(event, Outcome(reference=item.reference, link=next(links))) for item in event.items]
        for offset, outcomes in by_offset.items():
            add_outcomes(output, outcomes, offset, view.now)
        return output

    def follow(self, seconds: float) -> bool:
        """Adds new works."""
        return self.follower.apply(seconds)

    def close(self) -> None:
        """Stops following."""
        if hasattr(self, "follower"):
            self.follower.close()

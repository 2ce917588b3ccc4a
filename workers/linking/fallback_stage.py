"""The fallback stage: decides the references that the semantic stage left open, with trigram candidates in addition."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from reflink.catalog import Catalog
from reflink.linking.candidates import Candidates
from reflink.linking.linker import lexical_step
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy, Profile
from reflink.stopwatch import Stopwatch
from reflink.verdict.judge import warm
from schemas import FallbackEvent, Outcome
from schemas.envelope import PaperEvent
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import open_catalog
from workers.config.settings import FallbackSettings
from workers.engine.source import EngineSource
from workers.linking.events import JudgedBy, add_outcomes, outcome
from workers.linking.trigram_placement import TrigramPlacement, chosen_device
from workers.records import Received
from workers.stage import Output, Stage


@dataclass(frozen=True)
class FallbackView:
    """Candidates at one version of the catalog, and the time of the decision in milliseconds.

    ``policy``: the policy of references of profile ``production``.
    """

    source: Candidates
    policy: Policy
    now: int

    def after(self, output: Output) -> FallbackView:
        """Return this view, because linking does not change the catalog."""
        return self


class FallbackStage(Stage[FallbackEvent, FallbackView]):
    """The stage with the catalog's trigram index, or with a search engine."""

    name = "fallback"
    inputs = ("fallback",)
    outputs = ("outcomes",)
    follows = ("catalog",)

    def __init__(self, settings: FallbackSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        settings.check_precision()
        #: The search engine, None without one.
        self._engine: EngineSource | None = None
        #: The device of the trigrams, None with a search engine.
        self._placement: TrigramPlacement | None = None

    def warm(self) -> None:
        """Open the catalog, place its trigrams and read its topic to the end.

        Raises SnapshotError, BadSettings (no such device) or DeviceFull.
        """
        native = self.settings.engine == "native"
        empty = Catalog.empty(lexical_mode=self.settings.lexical_mode if native else None)
        if native:
            self._placement = TrigramPlacement(chosen_device(self.settings))
        self.catalog = open_catalog(self.settings, vectors=False, trigrams=native, empty=empty)
        if self.catalog.trigrams is not None and self._placement is not None:
            self.catalog.trigrams.threads = self.settings.search_threads or len(os.sched_getaffinity(0))
            self._placement.place(self.catalog.trigrams)
        self.follower = CatalogFollower(self.settings, self.catalog, None)
        warm()  # fail at the start, not on a reference, if the verdict does not fit this code
        self.follower.wait_for(self.follower.start(), self.settings.call_deadline_s)
        if not native:
            self._engine = EngineSource(self.settings, self.catalog)
            self._engine.wait()

    def decode(self, record: Received) -> FallbackEvent:
        """Return the event of a record. Raises BadRecord."""
        return FallbackEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[FallbackEvent]) -> FallbackView:
        """Return the catalog at the version that the semantic stage used, or a newer one, so that its candidates are known."""
        required = max((event.catalog_offset for event in batch), default=0)
        self.follower.wait_for(required, self.settings.call_deadline_s)
        source = NativeCandidates(self.catalog) if self._engine is None else self._engine.candidates(required)
        return FallbackView(source, self.policy, int(self._clock() * 1000))

    @property
    def policy(self) -> Policy:
        """The policy of the settings."""
        settings = self.settings
        return Policy(
            lexical_mode=settings.lexical_mode,
            accept=settings.min_probability,
            precision=settings.link_precision,
            versions=settings.versions,
        )

    def handle(self, batch: Sequence[FallbackEvent], view: FallbackView) -> Output:
        """Return the outcomes, one event per paper. Raises DeviceFull if the GPU has no memory for a search.

        They carry the catalog offset, model, policy and share of absent works of the semantic stage. Its catalog is the older
        of both versions, and the verdict here assumes the same share.
        """
        if self._placement is None:
            return self._handle(batch, view)
        return self._placement.searched(lambda: self._handle(batch, view))

    def _handle(self, batch: Sequence[FallbackEvent], view: FallbackView) -> Output:
        output, watch = Output(), Stopwatch()
        # One search for all references of a profile reads the index once.
        by_profile: dict[Profile, list[FallbackEvent]] = {}
        for event in batch:
            by_profile.setdefault(event.profile, []).append(event)
        judged: dict[tuple[int, JudgedBy], list[tuple[PaperEvent, Outcome]]] = {}
        for profile, events in by_profile.items():
            policy = replace(view.policy, profile=profile)
            opens = [item for event in events for item in event.items]
            absent = [event.absent for event in events for _ in event.items]
            links = iter(lexical_step(opens, view.source, policy, watch=watch, absent=absent))
            for event in events:
                outcomes = judged.setdefault((event.catalog_offset, JudgedBy(event.model, event.policy, event.absent)), [])
                outcomes += [
                    (event, outcome(item.reference, next(links), view.source.catalog, item.forbidden)) for item in event.items
                ]
        for (offset, by), outcomes in judged.items():
            add_outcomes(output, outcomes, offset, view.now, by)
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def follow(self, seconds: float) -> bool:
        """Apply changes of the catalog."""
        if self._placement is not None and self.catalog.trigrams is not None:
            self._placement.show(self.catalog.trigrams)
        return self.follower.apply(seconds)

    def close(self) -> None:
        """Stop following the catalog."""
        if hasattr(self, "follower"):
            self.follower.close()
        if self._engine is not None:
            self._engine.close()
